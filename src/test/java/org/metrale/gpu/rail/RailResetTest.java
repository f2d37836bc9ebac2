package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.wire.ClientRailFrame;
import org.metrale.gpu.wire.ClientRecord;
import org.metrale.gpu.wire.RailDialect;

/**
 * A connection that ends in the middle of a message, whichever, over the software GPU host's
 * devices: reset by the peer, or the thread interrupted. Nothing is left, and the next is served.
 */
@Tag("emulator")
@Tag("slow")
@Timeout(120)
final class RailResetTest {
  private RailHost host;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private void open(RailDialect dialect) throws Exception {
    host =
        new RailHost(
            RdmaDevices.servers().subList(0, 1),
            RdmaDevices.clients().subList(0, 1),
            4096,
            dialect);
  }

  @AfterEach
  void close() throws Exception {
    host.close();
  }

  private void assertServes() throws Exception {
    host.arena.write(0, RailHost.bytes(4, 4096));
    try (RailMemory memory =
            RailMemory.allocate(
                host.clientRails, 4096, org.metrale.gpu.verbs.VerbsAccess.LOCAL_WRITE);
        ConnectedRails rails = host.client().connect(host.clientRails, RailHost.LIMIT)) {
      rails.read(memory, 0, new RailTarget(0, 0), 4096, RailHost.LIMIT);
      assertEquals(RailHost.bytes(4, 4096), RailHost.read(memory, 0, 4096));
    }
    while (host.server.clients() > 0) {
      Thread.sleep(1);
    }
  }

  private static byte[] bytes(ByteBuffer from) {
    byte[] out = new byte[from.remaining()];
    from.get(out);
    return out;
  }

  private static void reset(Socket socket) throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void aServerOutlivesAClientThatIsGoneAfterAnyByte(RailDialect dialect) throws Exception {
    open(dialect);
    assertServes();
    long before = Descriptors.open();
    int offer = Fixtures.offer(dialect, 1, 1).encode().remaining();
    byte[] frame =
        bytes(
            new ClientRailFrame(
                    Fixtures.locals(1).stream().map(one -> new ClientRecord(one.toWire())).toList())
                .encode());
    for (int sent = 0; sent <= frame.length; sent++) {
      InetSocketAddress at = host.server.address();
      try (Socket client = new Socket(at.getAddress(), at.getPort())) {
        client.getOutputStream().write(1);
        assertEquals(offer, client.getInputStream().readNBytes(offer).length);
        client.getOutputStream().write(frame, 0, sent);
        if (sent == frame.length) {
          assertTrue(client.getInputStream().read() >= 0, "no acknowledgement");
        }
        reset(client);
      }
    }
    while (host.server.clients() > 0 || Descriptors.open() > before) {
      Thread.sleep(1);
    }
    assertEquals(frame.length, host.server.failedSoFar());
    assertServes();
  }

  /** What a server does before it is gone. */
  private interface Ending {
    void run() throws InterruptedException;
  }

  /** Says so much of what a server says, and is gone. */
  private static FutureTask<Boolean> serve(
      ServerSocket listener, byte[] stream, int said, Ending ending) {
    FutureTask<Boolean> task =
        new FutureTask<>(
            () -> {
              try (Socket client = listener.accept()) {
                assertEquals(1, client.getInputStream().read());
                client.getOutputStream().write(stream, 0, said);
                client.getOutputStream().flush();
                ending.run();
                reset(client);
              }
              return true;
            });
    Thread thread = new Thread(task, "half a server");
    thread.setDaemon(true);
    thread.start();
    return task;
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void aClientOutlivesAServerThatIsGoneAfterAnyByte(RailDialect dialect) throws Exception {
    open(dialect);
    assertServes();
    long before = Descriptors.open();
    byte[] stream = bytes(Fixtures.offer(dialect, 1, 1).encode());
    try (ServerSocket listener = Loopback.listener()) {
      RailClient client =
          RailClient.to((InetSocketAddress) listener.getLocalSocketAddress(), dialect);
      for (int said = 0; said <= stream.length; said++) {
        FutureTask<Boolean> server = serve(listener, stream, said, () -> {});
        HandshakeException e =
            assertThrows(
                HandshakeException.class,
                () -> client.connect(host.clientRails, RailHost.LIMIT).close());
        assertTrue(server.get());
        assertTrue(e.getMessage().contains("localhost:" + listener.getLocalPort()), e::toString);
      }
    }
    while (Descriptors.open() > before) {
      Thread.sleep(1);
    }
    assertServes();
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void aClientThatIsInterruptedAfterAnyByteLeavesNothing(RailDialect dialect) throws Exception {
    open(dialect);
    assertServes();
    long before = Descriptors.open();
    byte[] stream = bytes(Fixtures.offer(dialect, 1, 1).encode());
    try (ServerSocket listener = Loopback.listener()) {
      RailClient client =
          RailClient.to((InetSocketAddress) listener.getLocalSocketAddress(), dialect);
      for (int said = 0; said <= stream.length; said++) {
        CountDownLatch over = new CountDownLatch(1);
        Thread caller = Thread.currentThread();
        FutureTask<Boolean> server =
            serve(
                listener,
                stream,
                said,
                () -> {
                  caller.interrupt();
                  over.await();
                });
        HandshakeException e =
            assertThrows(
                HandshakeException.class,
                () -> client.connect(host.clientRails, RailHost.LIMIT).close());
        assertTrue(Thread.interrupted(), e::toString);
        assertEquals(HandshakeException.Reason.INTERRUPTED, e.reason(), e::toString);
        over.countDown();
        assertTrue(server.get());
      }
    }
    while (Descriptors.open() > before) {
      Thread.sleep(1);
    }
    assertServes();
  }
}
