package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The rendezvous needs no library: an id is only bytes to it. */
class NcclTcpBootstrapTest {
  private static final NcclUniqueId ID = NcclUniqueId.of(bytes());
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private int port;

  private static byte[] bytes() {
    byte[] out = new byte[NcclUniqueId.BYTES];
    for (int i = 0; i < out.length; i++) {
      out[i] = (byte) (i * 7);
    }
    return out;
  }

  @BeforeEach
  void findPort() throws IOException {
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
  }

  @AfterEach
  void stop() {
    threads.shutdownNow();
  }

  private NcclTcpBootstrap bootstrap() {
    return NcclTcpBootstrap.onLoopback(port, LIMIT);
  }

  private Future<NcclUniqueId> start(Callable<NcclUniqueId> rank) {
    return threads.submit(rank);
  }

  private static NcclUniqueId get(Future<NcclUniqueId> rank) throws Exception {
    return rank.get(15, TimeUnit.SECONDS);
  }

  private static String problem(Future<NcclUniqueId> rank) {
    ExecutionException e =
        assertThrows(ExecutionException.class, () -> rank.get(15, TimeUnit.SECONDS));
    assertTrue(e.getCause() instanceof IOException, e.toString());
    return e.getCause().getMessage();
  }

  @Test
  void aConnectionThatComesOutAtItselfIsNone() throws Exception {
    AtomicInteger made = new AtomicInteger();
    Supplier<Socket> own =
        () -> {
          Socket out = new Socket();
          if (made.getAndIncrement() == 0) {
            assertDoesNotThrow(() -> out.bind(at(port)));
          }
          return out;
        };
    RendezvousClient client = new RendezvousClient(at(port), LIMIT, new byte[0], own);
    Future<byte[]> one = threads.submit(() -> client.take(2, 1));
    long last = System.nanoTime() + LIMIT.toNanos();
    while (made.get() < 2) {
      assertTrue(System.nanoTime() < last, "the first connection was kept");
      Thread.sleep(1);
    }
    Future<NcclUniqueId> zero = start(() -> bootstrap().give(ID, 2));
    assertArrayEquals(ID.toBytes(), one.get(15, TimeUnit.SECONDS));
    assertEquals(ID, get(zero));
  }

  @Test
  void aRankWaitsWhereStrangersTakeAllTheRoom() throws Exception {
    Future<NcclUniqueId> zero = start(() -> bootstrap().give(ID, 2));
    List<Socket> strangers = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      strangers.add(greeted());
    }
    try (Socket turnedAway = connected()) {
      assertEquals(-1, turnedAway.getInputStream().read(), "there is no room");
    }
    Future<NcclUniqueId> one = start(() -> bootstrap().agree(2, 1));
    for (Socket stranger : strangers) {
      stranger.close();
    }
    assertEquals(ID, get(one));
    assertEquals(ID, get(zero));
  }

  /** A stranger that the server has let in. */
  private Socket greeted() throws IOException {
    Socket out = connected();
    assertTrue(out.getInputStream().read() >= 0, "there is room");
    return out;
  }

  private Socket connected() throws IOException {
    for (int i = 0; ; i++) {
      Socket out = new Socket();
      try {
        out.connect(at(port));
        out.setSoTimeout(5_000);
        return out;
      } catch (ConnectException e) {
        out.close();
        if (i == 500) {
          throw e;
        }
        LockSupport.parkNanos(10_000_000);
      }
    }
  }

  private static InetSocketAddress at(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  @Test
  void handsTheIdToAllRanksInAnyOrder() throws Exception {
    List<Future<NcclUniqueId>> all = new ArrayList<>();
    for (int rank = 7; rank > 0; rank--) {
      int mine = rank;
      all.add(start(() -> bootstrap().withSecret("open sesame").agree(8, mine)));
    }
    all.add(start(() -> bootstrap().withSecret("open sesame").give(ID, 8)));
    for (Future<NcclUniqueId> one : all) {
      assertEquals(ID, get(one));
    }
  }

  @Test
  void aPortScannerTakesNobodysPlace() throws Exception {
    Future<NcclUniqueId> server = start(() -> bootstrap().give(ID, 2));
    List<Socket> scanners = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      scanners.add(knock());
    }
    scanners.get(0).getOutputStream().write("GET / HTTP/1.0\r\n\r\n".getBytes());
    scanners.get(1).close();
    assertEquals(ID, get(start(() -> bootstrap().agree(2, 1))));
    assertEquals(ID, get(server));
    for (Socket scanner : scanners) {
      scanner.close();
    }
  }

  private Socket knock() throws Exception {
    while (true) {
      try {
        return new Socket(InetAddress.getLoopbackAddress(), port);
      } catch (IOException e) {
        Thread.onSpinWait();
      }
    }
  }

  /** A peer that sends a byte now and then has one deadline for all of them, not one a byte. */
  @Test
  void aPeerThatDripsGetsNoMoreTime() throws Exception {
    try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket client = new Socket(InetAddress.getLoopbackAddress(), listening.getLocalPort());
        Socket server = listening.accept()) {
      Future<NcclUniqueId> dripping =
          start(
              () -> {
                while (!client.isClosed()) {
                  client.getOutputStream().write(1);
                  Thread.sleep(20);
                }
                return ID;
              });
      GreetingInput in = new GreetingInput(server, System.nanoTime() + 400_000_000L);
      long begin = System.nanoTime();
      assertThrows(SocketTimeoutException.class, () -> in.readNBytes(1 << 20));
      assertTrue(System.nanoTime() - begin < 5_000_000_000L);
      client.close();
      problemOrEnd(dripping);
    }
  }

  private static void problemOrEnd(Future<NcclUniqueId> thread) throws Exception {
    try {
      thread.get(15, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      assertTrue(e.getCause() instanceof IOException, e.toString());
    }
  }

  /** Speaks as a rank does, up to where it waits for the others. */
  private Socket seated(int ranks, int rank) throws Exception {
    Socket out = knock();
    DataInputStream in = new DataInputStream(out.getInputStream());
    assertEquals(Greeting.MAGIC, in.readInt());
    in.readFully(new byte[Greeting.NONCE_BYTES]);
    ByteBuffer mine = ByteBuffer.allocate(76);
    mine.putInt(Greeting.MAGIC).putInt(ranks).putInt(rank);
    out.getOutputStream().write(mine.array());
    return out;
  }

  @Test
  void aRankThatComesAgainReplacesItsDeadOneWhoseConnectionIsClosed() throws Exception {
    Future<NcclUniqueId> server = start(() -> bootstrap().give(ID, 3));
    try (Socket first = seated(3, 1)) {
      // Half closed: dead for the server, while this end still sees what the server does.
      first.shutdownOutput();
      Future<NcclUniqueId> again = start(() -> bootstrap().agree(3, 1));
      first.setSoTimeout(10_000);
      assertEquals(-1, first.getInputStream().read());
      assertFalse(server.isDone());
      assertEquals(ID, get(start(() -> bootstrap().agree(3, 2))));
      assertEquals(ID, get(again));
      assertEquals(ID, get(server));
    }
  }

  @Test
  void turnsAwayWhoDoesNotBelongAndSaysWhy() throws Exception {
    Future<NcclUniqueId> server = start(() -> bootstrap().withSecret("right").give(ID, 3));
    assertTrue(
        problem(start(() -> bootstrap().withSecret("wrong").agree(3, 1))).contains("secret"));
    assertTrue(problem(start(() -> bootstrap().agree(3, 1))).contains("secret"));
    assertTrue(
        problem(start(() -> bootstrap().withSecret("right").agree(4, 1)))
            .contains("another number of ranks"));
    Future<NcclUniqueId> one = start(() -> bootstrap().withSecret("right").agree(3, 1));
    Thread.sleep(200);
    assertTrue(
        problem(start(() -> bootstrap().withSecret("right").agree(3, 1))).contains("same rank"));
    assertEquals(ID, get(start(() -> bootstrap().withSecret("right").agree(3, 2))));
    assertEquals(ID, get(one));
    assertEquals(ID, get(server));
  }

  @Test
  void namesTheRanksThatDidNotCome() throws Exception {
    NcclTcpBootstrap hasty = NcclTcpBootstrap.onLoopback(port, Duration.ofMillis(700));
    Future<NcclUniqueId> server = start(() -> hasty.give(ID, 4));
    Future<NcclUniqueId> came = start(() -> bootstrap().agree(4, 2));
    assertTrue(problem(server).contains("[1, 3]"));
    assertTrue(problem(came).contains("not all ranks came in time"));
  }

  @Test
  void doesNotWaitForEverForRankZero() {
    NcclTcpBootstrap hasty = NcclTcpBootstrap.onLoopback(port, Duration.ofMillis(300));
    long begin = System.nanoTime();
    assertThrows(IOException.class, () -> hasty.agree(2, 1));
    assertTrue(System.nanoTime() - begin < 3_000_000_000L);
  }

  @Test
  void refusesAServerThatDoesNotKnowTheSecret() throws Exception {
    Future<NcclUniqueId> client = start(() -> bootstrap().withSecret("right").agree(2, 1));
    try (ServerSocket impostor = new ServerSocket()) {
      impostor.setReuseAddress(true);
      impostor.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      try (Socket victim = impostor.accept()) {
        victim
            .getOutputStream()
            .write(ByteBuffer.allocate(36).putInt(Greeting.MAGIC).put(new byte[32]).array());
        victim.getInputStream().readNBytes(4 + 8 + 32 + 32);
        victim.getOutputStream().write(new byte[1 + 32 + NcclUniqueId.BYTES]);
        assertTrue(problem(client).contains("does not know the secret"));
      }
    }
  }

  @Test
  void agreesOverAnyAllGather() throws Exception {
    byte[][] parts = new byte[2][];
    for (int rank = 0; rank < 2; rank++) {
      ByteBuffer part = ByteBuffer.allocate(12 + NcclUniqueId.BYTES);
      part.putInt(0x4d4e4331).putInt(2).putInt(rank).put(ID.toBytes());
      parts[rank] = part.array();
    }
    assertArrayEquals(ID.toBytes(), NcclBootstrap.agree(mine -> parts, 2, 1).toBytes());
    assertThrows(IOException.class, () -> NcclBootstrap.agree(mine -> parts, 3, 1));
    byte[][] swapped = {parts[1], parts[0]};
    assertTrue(
        assertThrows(IOException.class, () -> NcclBootstrap.agree(mine -> swapped, 2, 1))
            .getMessage()
            .contains("rank 1 of 2"));
  }
}
