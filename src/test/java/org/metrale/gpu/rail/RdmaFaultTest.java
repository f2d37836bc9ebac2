package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsPath;
import org.metrale.gpu.wire.RailDialect;

/** Two processes, two rails, and everything that can go wrong between them. */
@Tag("rdma")
@Timeout(120)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
final class RdmaFaultTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int BYTES = 8 << 20;

  /** Long enough for something to happen meanwhile. */
  private static final int LONG = 96 << 20;

  private static final RailTarget START = new RailTarget(0, 0);

  private static RailSet rails(int count, int retries) {
    List<RailSpec> specs =
        RdmaDevices.clients().subList(0, count).stream()
            .map(name -> RailSpec.of(name).withPath(VerbsPath.DEFAULT.withPatience(15, retries)))
            .toList();
    return RailSet.open(specs);
  }

  private static PeerProcess peer(RailDialect dialect, RailPeer.Death death) throws Exception {
    return new PeerProcess(dialect, BYTES, death, RdmaDevices.servers());
  }

  private static PeerProcess longPeer() throws Exception {
    return new PeerProcess(
        RailDialect.READ_ONLY, LONG, RailPeer.Death.NEVER, RdmaDevices.servers());
  }

  private static void assertPattern(RailMemory memory, long from, int length) {
    assertEquals("", RailPeer.fault(memory, from, length));
  }

  private static void until(String what, BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + LIMIT.toNanos();
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, what);
      Thread.sleep(20);
    }
  }

  private static boolean allActive(ConnectedRails connected) {
    return connected.status().stream()
        .allMatch(status -> status.state().equals(RailStatus.State.ACTIVE));
  }

  @AfterEach
  void repair() throws Exception {
    Shell.run(
        "for d in r0a r0b r1a r1b; do ip link set $d up; tc qdisc del dev $d root; done"
            + " 2>/dev/null; true");
    setBacklog(1000);
  }

  @Order(1)
  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void bothDialectsWithOneRailAndTwo(RailDialect dialect) throws Exception {
    try (PeerProcess peer = peer(dialect, RailPeer.Death.NEVER)) {
      for (int count = 1; count <= 2; count++) {
        try (RailSet rails = rails(count, 3);
            RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
            ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
          for (int length : new int[] {1, 4095, 65_537, 3_000_001}) {
            RailPeer.poison(memory, length);
            connected.read(memory, 0, new RailTarget(0, 11), length, LIMIT);
            assertPattern(memory, 11, length);
            if (dialect.equals(RailDialect.READ_WRITE)) {
              connected.write(memory, 0, new RailTarget(0, 11), length, LIMIT);
              assertEquals(RailPeer.sum(memory, 0, length), peer.sum(11, length));
            }
          }
          connected.status().forEach(status -> assertTrue(status.carriedBytes() > 0));
        }
      }
    }
  }

  @Order(2)
  @Test
  void sixtyFourMebibytesEachWay() throws Exception {
    int bytes = (64 << 20) + 3;
    try (PeerProcess peer =
            new PeerProcess(
                RailDialect.READ_WRITE, bytes, RailPeer.Death.NEVER, RdmaDevices.servers());
        RailSet rails = rails(2, 3);
        RailMemory memory = RailMemory.allocate(rails, bytes, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      connected.read(memory, 0, START, bytes, LIMIT);
      assertEquals(peer.sum(0, bytes), RailPeer.sum(memory, 0, bytes));
      memory.write(5, RailHost.bytes(5, 1 << 20));
      connected.writeFenced(memory, 0, START, bytes, LIMIT);
      assertEquals(RailPeer.sum(memory, 0, bytes), peer.sum(0, bytes));
    }
  }

  @Order(3)
  @ParameterizedTest
  @EnumSource(
      value = RailPeer.Death.class,
      names = {"IN_PREAMBLE", "BEFORE_OFFER", "BEFORE_ACK"})
  void aPeerThatDiesInTheHandshake(RailPeer.Death death) throws Exception {
    try (PeerProcess peer = peer(RailDialect.READ_ONLY, death);
        RailSet rails = rails(2, 3)) {
      assertThrows(HandshakeException.class, () -> peer.client().connect(rails, LIMIT).close());
    }
  }

  @Order(4)
  @Test
  void aPeerThatDiesAfterTheAcknowledgement() throws Exception {
    try (PeerProcess peer = peer(RailDialect.READ_ONLY, RailPeer.Death.AFTER_ACK);
        RailSet rails = rails(2, 3);
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().rebuilding(false).connect(rails, LIMIT)) {
      RailException e = assertThrows(RailException.class, () -> readForEver(connected, memory));
      assertEquals(Reason.RAILS_LOST, e.reason(), e::toString);
    }
  }

  /** A peer may die a moment later than asked to. */
  private static void readForEver(ConnectedRails connected, RailMemory memory) throws Exception {
    while (true) {
      connected.read(memory, 0, START, 4096, LIMIT);
    }
  }

  /** All settings, of two clients at one peer at a time: each peer takes its while to start. */
  @Order(5)
  @ParameterizedTest
  @CsvSource({"0, 7", "1, 6", "2, 5", "3, 4"})
  void aPeerKilledInMidTransferWithEveryRetrySetting(int few, int many) throws Exception {
    // With less a rail may be lost before its peer is, see answersThatCannotBeSentAreReadAgain().
    setBacklog(100_000);
    int attempts = 1;
    while (!endsWithItsPeer(few, many)) {
      assertTrue(attempts++ < 4, "rails are lost before their peer is");
    }
  }

  /** Kills a peer that two read from; false if one of them had lost its rails before. */
  private static boolean endsWithItsPeer(int few, int many) throws Exception {
    try (PeerProcess peer = longPeer();
        Reader first = new Reader(peer, few);
        Reader second = new Reader(peer, many)) {
      List<Reader> both = List.of(first, second);
      both.forEach(Reader::begin);
      until("nothing arrives", () -> both.stream().allMatch(Reader::hasBegun));
      boolean areUnderWay = both.stream().allMatch(Reader::isUnderWay);
      peer.kill();
      for (Reader reader : both) {
        until("the transfer hangs with " + reader.retries, reader.transfer::isDone);
      }
      if (areUnderWay) {
        both.forEach(Reader::assertEnded);
      }
      return areUnderWay;
    }
  }

  /** A client that reads over both rails, with so many retries. */
  private static final class Reader implements AutoCloseable {
    private final int retries;
    private final RailSet rails;
    private final RailMemory memory;
    private final ConnectedRails connected;
    private RailTransfer transfer;

    @SuppressWarnings("MustBeClosed") // close() does
    Reader(PeerProcess peer, int retries) throws Exception {
      this.retries = retries;
      rails = rails(2, retries);
      memory = RailMemory.allocate(rails, LONG, VerbsAccess.LOCAL_WRITE);
      connected = peer.client().rebuilding(false).connect(rails, LIMIT);
    }

    void begin() {
      TransferTerms terms = TransferTerms.within(Duration.ofSeconds(8));
      transfer = connected.readAsync(memory, 0, START, LONG, terms);
    }

    boolean hasBegun() {
      return transfer.doneBytes() > 0 || transfer.isDone();
    }

    boolean isUnderWay() {
      return !transfer.isDone() && allActive(connected);
    }

    /** Soft-RoCE never completes a request with 7 retries: the deadline has to. */
    void assertEnded() {
      CompletableFuture<Void> end = transfer.stage().toCompletableFuture();
      Throwable cause = assertThrows(CompletionException.class, end::join).getCause();
      Reason expected = retries == 7 ? Reason.DEADLINE_PASSED : Reason.RAILS_LOST;
      assertEquals(expected, ((RailException) cause).reason(), cause::toString);
    }

    @Override
    public void close() {
      connected.close();
      memory.close();
      rails.close();
    }
  }

  @Order(6)
  @Test
  void aPeerThatStopsAndGoesOn() throws Exception {
    try (PeerProcess peer = peer(RailDialect.READ_ONLY, RailPeer.Death.NEVER);
        RailSet rails = rails(2, 3);
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      peer.signal("STOP");
      connected.read(memory, 0, START, 1 << 20, LIMIT);
      assertPattern(memory, 0, 1 << 20);
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () -> peer.client().connect(rails, Duration.ofSeconds(3)).close());
      assertEquals(HandshakeException.Reason.DEADLINE_PASSED, e.reason(), e::toString);
      peer.signal("CONT");
      RailPeer.poison(memory, 1 << 20);
      connected.read(memory, 0, new RailTarget(0, 9), 1 << 20, LIMIT);
      assertPattern(memory, 9, 1 << 20);
      cycle(peer, rails, memory, 1);
      until("a client is left that gave up", () -> hasClients(peer, 1));
    }
  }

  @Order(7)
  @Test
  void aLinkThatGoesDownAndComesBack() throws Exception {
    try (PeerProcess peer = longPeer();
        RailSet rails = rails(2, 3);
        RailMemory memory = RailMemory.allocate(rails, LONG, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      RailTransfer transfer =
          connected.readAsync(memory, 0, START, LONG, TransferTerms.within(LIMIT));
      until("nothing arrives", () -> transfer.doneBytes() > 0);
      Shell.run("ip link set r1a down");
      transfer.stage().toCompletableFuture().join();
      assertPattern(memory, 0, LONG);
      while (connected.status().get(1).failures() == 0) {
        connected.read(memory, 0, START, BYTES, LIMIT);
      }
      assertEquals(RailStatus.State.ACTIVE, connected.status().get(0).state());
      assertNotEquals(RailStatus.State.ACTIVE, connected.status().get(1).state());
      connected.read(memory, 0, new RailTarget(0, 100), 100_000, LIMIT);
      assertPattern(memory, 100, 100_000);
      Shell.run("ip link set r1a up");
      until("the rail does not come back", () -> allActive(connected));
      RailPeer.poison(memory, LONG);
      connected.read(memory, 0, START, LONG, LIMIT);
      assertPattern(memory, 0, LONG);
      connected.status().forEach(status -> assertTrue(status.carriedBytes() > 0));
    }
  }

  /** Little patience, so that much is asked for again, and the link goes at any moment. */
  @Order(8)
  @Test
  void stripedReadsAreWholeWhileALinkComesAndGoes() throws Exception {
    int flaps = Integer.getInteger("metrale.rdma.flaps", 5);
    int bytes = Integer.getInteger("metrale.rdma.flap.bytes", 24 << 20);
    List<RailSpec> impatient =
        RdmaDevices.clients().stream()
            .map(name -> RailSpec.of(name).withPath(VerbsPath.DEFAULT.withPatience(12, 3)))
            .toList();
    try (PeerProcess peer = longPeer();
        RailSet rails = RailSet.open(impatient);
        RailMemory memory = RailMemory.allocate(rails, bytes, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      Random random = new Random(12);
      for (int flap = 0; flap < flaps; flap++) {
        RailPeer.poison(memory, bytes);
        long offset = random.nextInt(LONG - bytes + 1);
        RailTransfer transfer =
            connected.readAsync(
                memory, 0, new RailTarget(0, offset), bytes, TransferTerms.within(LIMIT));
        long enough = (long) (random.nextDouble() * bytes / 2);
        until("nothing arrives", () -> transfer.doneBytes() > enough);
        Shell.run("ip link set " + (flap % 2 == 0 ? "r1a" : "r1b") + " down");
        transfer.stage().toCompletableFuture().join();
        Shell.run("ip link set " + (flap % 2 == 0 ? "r1a" : "r1b") + " up");
        int round = flap;
        assertEquals(
            "",
            RailPeer.fault(memory, offset, bytes),
            () -> "flap " + round + " from " + offset + ": " + connected.status());
        until("the rails do not come back", () -> allActive(connected));
      }
    }
  }

  @Order(9)
  @Test
  void lossOfPacketsAndOfAllPackets() throws Exception {
    try (PeerProcess peer = peer(RailDialect.READ_ONLY, RailPeer.Death.NEVER);
        RailSet rails = rails(2, 3);
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      Shell.run("tc qdisc add dev r0b root netem loss 0.3%");
      connected.read(memory, 0, START, 4 << 20, LIMIT);
      assertPattern(memory, 0, 4 << 20);
      Shell.run("tc qdisc del dev r0b root; tc qdisc add dev r1b root netem loss 100%");
      connected.read(memory, 0, new RailTarget(0, 5), 4 << 20, LIMIT);
      assertPattern(memory, 5, 4 << 20);
    }
  }

  /**
   * The peer's device has no room to send, tries the answer again and begins it in its middle: a
   * queue pair of this side fails, and calls the request done that it fails at.
   */
  @Order(9)
  @Test
  void answersThatCannotBeSentAreReadAgain() throws Exception {
    try (PeerProcess peer = peer(RailDialect.READ_ONLY, RailPeer.Death.NEVER);
        RailSet rails = rails(2, 3);
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      long before = notSent();
      setBacklog(100);
      for (int round = 0; round < 3; round++) {
        RailPeer.poison(memory, BYTES);
        connected.read(memory, 0, START, BYTES, LIMIT);
        assertPattern(memory, 0, BYTES);
      }
      assertTrue(notSent() > before, "all was sent");
    }
  }

  /** How many packets a device of the network keeps for one that is not fast enough. */
  private static void setBacklog(int packets) throws Exception {
    Shell.run("echo " + packets + " >/proc/sys/net/core/netdev_max_backlog");
  }

  /** What the peer's devices could not send so far. */
  private static long notSent() throws IOException {
    long out = 0;
    for (String device : RdmaDevices.servers()) {
      Path counters = Path.of("/sys/class/infiniband", device, "ports/1/hw_counters");
      out += Long.parseLong(Files.readString(counters.resolve("send_err")).strip());
    }
    return out;
  }

  /** This side's, which its device tells of, or the peer's, which nobody does. */
  @Order(10)
  @ParameterizedTest
  @CsvSource({"r1a, 10.77.1.1, 10.77.1.33", "r1b, 10.77.1.2, 10.77.1.34"})
  void anAddressThatMoves(String device, String from, String to) throws Exception {
    String move = "ip addr del %s/24 dev " + device + "; ip addr add %s/24 dev " + device;
    try (PeerProcess peer = longPeer();
        RailSet rails = rails(2, 3);
        RailMemory memory = RailMemory.allocate(rails, LONG, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      Shell.run(move.formatted(from, to));
      try {
        connected.read(memory, 0, START, LONG, LIMIT);
        assertPattern(memory, 0, LONG);
        until("the rail does not come back", () -> allActive(connected));
        RailPeer.poison(memory, 1 << 20);
        connected.read(memory, 0, START, 1 << 20, LIMIT);
        assertPattern(memory, 0, 1 << 20);
        assertTrue(connected.status().get(1).failures() > 0);
      } finally {
        Shell.run(move.formatted(to, from));
      }
    }
  }

  /** What was sent on a rail that failed arrives when other bytes are there already. */
  @Order(11)
  @Test
  void packetsThatComeLateUndoNoLaterWrite() throws Exception {
    try (PeerProcess peer = peer(RailDialect.READ_WRITE, RailPeer.Death.NEVER);
        RailSet rails = rails(2, 3);
        RailMemory memory = RailMemory.allocate(rails, 2 * BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected =
            peer.client().rebuilding(true).inPiecesOf(65_536).connect(rails, LIMIT)) {
      memory.write(0, RailHost.bytes(11, 2 * BYTES));
      long written = RailPeer.sum(memory, BYTES, BYTES);
      for (int round = 0; round < 3; round++) {
        until("the rails do not come back", () -> allActive(connected));
        Shell.run("tc qdisc add dev r1a root netem delay 600ms limit 100000");
        RailTransfer first =
            connected.writeAsync(memory, 0, START, BYTES, TransferTerms.within(LIMIT));
        while (first.doneBytes() < BYTES / 16) {
          Thread.sleep(1);
        }
        connected.takeDown(1, "a drill");
        first.stage().toCompletableFuture().join();
        connected.write(memory, BYTES, START, BYTES, LIMIT);
        assertEquals(written, peer.sum(0, BYTES));
        // By now all that was under way has come.
        Thread.sleep(1000);
        assertEquals(written, peer.sum(0, BYTES), "a late packet has undone a write");
        Shell.run("tc qdisc del dev r1a root");
      }
    }
  }

  @Order(12)
  @Timeout(3600) // ten thousand, if asked for
  @Test
  void connectingAndClosingLeavesNothing(TestReporter reporter) throws Exception {
    try (PeerProcess peer = peer(RailDialect.READ_ONLY, RailPeer.Death.NEVER);
        RailSet rails = rails(2, 3);
        RailMemory memory = RailMemory.allocate(rails, 4096, VerbsAccess.LOCAL_WRITE)) {
      int cycles = Integer.getInteger("metrale.soak.cycles", 500);
      cycle(peer, rails, memory, 3);
      until("clients are left", () -> hasClients(peer, 0));
      Held before = Held.now();
      String peersBefore = peer.state();
      cycle(peer, rails, memory, cycles);
      until("clients are left", () -> hasClients(peer, 0));
      assertEquals(before, Held.now());
      Held.assertSomeRdma();
      assertEquals(peersBefore, peer.state());
      reporter.publishEntry("connected and closed", cycles + " times");
    }
    Held.assertNoRdma();
  }

  private static boolean hasClients(PeerProcess peer, int number) {
    try {
      return peer.state().startsWith(number + " ");
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static void cycle(PeerProcess peer, RailSet rails, RailMemory memory, int times)
      throws Exception {
    for (int i = 0; i < times; i++) {
      try (ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
        connected.read(memory, 0, new RailTarget(0, i), 64, LIMIT);
        assertPattern(memory, i, 64);
      }
    }
  }
}
