package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.metrale.gpu.rail.Fixtures.terms;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.metrale.gpu.rail.Fixtures.ScriptedClient;
import org.metrale.gpu.rail.Fixtures.ScriptedServer;
import org.metrale.gpu.rail.HandshakeException.Reason;
import org.metrale.gpu.wire.GoldenVectors;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.ServerFrame;
import org.metrale.gpu.wire.WireCounts;

@Timeout(60)
class LoopbackHandshakeTest {
  private static final Duration LONG = Duration.ofSeconds(50);
  private static final Duration SHORT = Duration.ofMillis(150);

  @ParameterizedTest
  @EnumSource(Loopback.Kind.class)
  void bothSidesAgreeOverEveryKindOfStream(Loopback.Kind kind) throws Exception {
    for (RailDialect dialect : RailDialect.values()) {
      try (Loopback ends = kind.open()) {
        ServerFrame offer = Fixtures.offer(dialect, 8, 64);
        ScriptedServer server = new ScriptedServer(8, offer);
        ScriptedClient client = new ScriptedClient(Fixtures.locals(8));
        FutureTask<ServerHandshake.Established> serving =
            start(() -> over(ends.server(), dialect, LONG).accept(server));
        ClientHandshake.Established connected = over(ends.client(), dialect, LONG).connect(client);
        assertEquals(offer, connected.offer());
        assertEquals(connected.servers(), client.connected);
        assertEquals(Fixtures.remotes(Fixtures.locals(8)), serving.get().clients());
        assertEquals(serving.get().clients(), server.connected);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Loopback.Kind.class)
  void silentServerEndsAtTheDeadline(Loopback.Kind kind) throws Exception {
    try (Loopback ends = kind.open()) {
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () ->
                  over(ends.client(), RailDialect.READ_WRITE, SHORT)
                      .connect(new ScriptedClient(Fixtures.locals(2))));
      assertEquals(Reason.DEADLINE_PASSED, e.reason());
    }
  }

  @ParameterizedTest
  @EnumSource(Loopback.Kind.class)
  void silentClientEndsAtTheDeadline(Loopback.Kind kind) throws Exception {
    try (Loopback ends = kind.open()) {
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () ->
                  over(ends.server(), RailDialect.READ_WRITE, SHORT)
                      .accept(server(RailDialect.READ_WRITE, 1)));
      assertEquals(Reason.DEADLINE_PASSED, e.reason());
    }
  }

  @ParameterizedTest
  @EnumSource(value = Loopback.Kind.class, names = "TLS", mode = EnumSource.Mode.EXCLUDE)
  void serverThatFallsSilentInsideARecordEndsAtTheDeadline(Loopback.Kind kind) throws Exception {
    try (Loopback ends = kind.open()) {
      ByteBuffer half = Fixtures.offer(RailDialect.READ_ONLY, 2, 3).encode().limit(50);
      ends.server().write(half, Deadline.after(LONG));
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () ->
                  over(ends.client(), RailDialect.READ_ONLY, SHORT)
                      .connect(new ScriptedClient(Fixtures.locals(2))));
      assertEquals(Reason.DEADLINE_PASSED, e.reason());
      assertEquals("rail[0].region[1].rkey", e.field());
    }
  }

  @Test
  void serverThatTricklesDoesNotOutliveTheDeadline() throws Exception {
    try (Loopback ends = Loopback.Kind.SOCKET.open()) {
      ByteBuffer offer = Fixtures.offer(RailDialect.READ_ONLY, 8, 64).encode();
      CountDownLatch over = new CountDownLatch(1);
      FutureTask<Integer> trickle = start(() -> trickle(ends.server(), offer, over));
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () ->
                  over(ends.client(), RailDialect.READ_ONLY, SHORT)
                      .connect(new ScriptedClient(Fixtures.locals(8))));
      over.countDown();
      assertEquals(Reason.DEADLINE_PASSED, e.reason());
      assertTrue(trickle.get() > 0);
    }
  }

  @ParameterizedTest
  @EnumSource(Loopback.Kind.class)
  void clientThatDoesNotReadCannotHoldAServerBeyondTheDeadline(Loopback.Kind kind)
      throws Exception {
    try (Loopback ends = kind.open()) {
      // Far more than all buffers between the two: this is the largest flight there is.
      ServerFrame large = Fixtures.offer(RailDialect.READ_ONLY, 8, WireCounts.MAX_REGIONS);
      FutureTask<Void> asking = start(() -> ask(ends.client(), 8));
      Duration enough = kind == Loopback.Kind.TLS ? Duration.ofSeconds(1) : SHORT.multipliedBy(2);
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () ->
                  over(ends.server(), RailDialect.READ_ONLY, enough)
                      .accept(new ScriptedServer(8, large)));
      assertEquals(Reason.DEADLINE_PASSED, e.reason());
      asking.get();
    }
  }

  @ParameterizedTest
  @EnumSource(Loopback.Kind.class)
  void interruptEndsTheWaitAndStaysSet(Loopback.Kind kind) throws Exception {
    try (Loopback ends = kind.open()) {
      CountDownLatch begun = new CountDownLatch(1);
      FutureTask<Reason> waiting =
          new FutureTask<>(
              () -> {
                begun.countDown();
                HandshakeException e =
                    assertThrows(
                        HandshakeException.class,
                        () ->
                            over(ends.client(), RailDialect.READ_WRITE, LONG)
                                .connect(new ScriptedClient(Fixtures.locals(1))));
                assertTrue(Thread.interrupted());
                return e.reason();
              });
      Thread thread = new Thread(waiting, "interrupted");
      thread.start();
      begun.await();
      thread.interrupt();
      assertEquals(Reason.INTERRUPTED, waiting.get());
    }
  }

  static Stream<JsonNode> resetCases() {
    return StreamSupport.stream(
        GoldenVectors.part("resetCases").path("cases").spliterator(), false);
  }

  /** Whether the client then sees a reset or the end of the stream. */
  @ParameterizedTest
  @MethodSource("resetCases")
  void serverThatClosesInsteadOfAnsweringHasRefused(JsonNode vector) throws Exception {
    int sent = vector.path("clientHasSent").intValue();
    int read = vector.path("serverHasRead").intValue();
    try (ServerSocket listener = Loopback.listener();
        Socket socket = new Socket(listener.getInetAddress(), listener.getLocalPort())) {
      socket.getOutputStream().write(new byte[sent - 1]);
      FutureTask<Void> refusing =
          start(
              () -> {
                Socket accepted = listener.accept();
                accepted.getInputStream().readNBytes(read);
                while (accepted.getInputStream().available() < sent - read) {
                  Thread.sleep(1);
                }
                // The JDK would send an end of the stream before the system's reset.
                accepted.setSoLinger(read < sent, 0);
                accepted.close();
                return null;
              });
      HandshakeTransport transport = HandshakeTransport.of(socket);
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () ->
                  over(transport, RailDialect.READ_WRITE, LONG)
                      .connect(new ScriptedClient(Fixtures.locals(1))));
      refusing.get();
      assertEquals(Reason.PEER_REJECTED, e.reason());
      assertEquals(
          vector.path("clientSees").textValue().equals("reset"),
          e.getCause() instanceof IOException,
          () -> "the client sees the " + vector.path("clientSees"));
      assertTrue(socket.isClosed());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Loopback.Kind.class,
      names = {"SOCKET", "BLOCKING_CHANNEL", "POLLED_CHANNEL", "TLS"})
  void serverThatDiesBeforeTheAcknowledgementIsNamed(Loopback.Kind kind) throws Exception {
    try (Loopback ends = kind.open()) {
      FutureTask<Void> dying =
          start(
              () -> {
                ends.server().read(ByteBuffer.allocate(1), Deadline.after(LONG));
                ends.server()
                    .write(
                        Fixtures.offer(RailDialect.READ_ONLY, 1, 1).encode(), Deadline.after(LONG));
                ends.server().close();
                return null;
              });
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () ->
                  over(ends.client(), RailDialect.READ_ONLY, LONG)
                      .connect(new ScriptedClient(Fixtures.locals(1))));
      dying.get();
      assertEquals(Reason.TRUNCATED, e.reason());
      assertEquals("ack", e.field());
      assertTrue(e.getMessage().startsWith(Fixtures.PEER), e.getMessage());
    }
  }

  @ParameterizedTest
  @EnumSource(Loopback.Kind.class)
  void errAcknowledgementReachesTheClient(Loopback.Kind kind) throws Exception {
    try (Loopback ends = kind.open()) {
      ScriptedServer failing =
          new ScriptedServer(2, Fixtures.offer(RailDialect.READ_WRITE, 2, 1)) {
            @Override
            public void connect(int railIndex, RemoteQueuePair remote) throws IOException {
              throw new IOException("RTS: ENOMEM");
            }
          };
      FutureTask<HandshakeException> serving =
          start(
              () ->
                  assertThrows(
                      HandshakeException.class,
                      () -> over(ends.server(), RailDialect.READ_WRITE, LONG).accept(failing)));
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () ->
                  over(ends.client(), RailDialect.READ_WRITE, LONG)
                      .connect(new ScriptedClient(Fixtures.locals(2))));
      assertEquals(Reason.ACK_REFUSED, e.reason());
      assertEquals("1 (ERR)", e.got());
      assertEquals(Reason.LOCAL_FAULT, serving.get().reason());
    }
  }

  @Test
  void streamThatNeverReturnsIsLeftBehind() {
    CountDownLatch never = new CountDownLatch(1);
    InputStream stuck = new Stuck(never);
    HandshakeTransport transport = HandshakeTransport.of(stuck, OutputStream.nullOutputStream());
    HandshakeException e =
        assertThrows(
            HandshakeException.class,
            () ->
                over(transport, RailDialect.READ_ONLY, SHORT)
                    .connect(new ScriptedClient(Fixtures.locals(1))));
    never.countDown();
    assertEquals(Reason.DEADLINE_PASSED, e.reason());
  }

  @ParameterizedTest
  @EnumSource(Loopback.Kind.class)
  void passedDeadlineIsNoticedBeforeTheWait(Loopback.Kind kind) throws Exception {
    try (Loopback ends = kind.open()) {
      ends.server().write(ByteBuffer.allocate(0), Deadline.after(LONG));
      ByteBuffer one = ByteBuffer.allocate(1);
      Deadline passed = new Deadline(System.nanoTime());
      assertThrows(TimeoutException.class, () -> ends.client().read(one, passed));
    }
  }

  /** A stream that hears neither interrupts nor a close. */
  private static final class Stuck extends InputStream {
    private final CountDownLatch never;

    Stuck(CountDownLatch never) {
      this.never = never;
    }

    @Override
    public int read() {
      return read(new byte[1], 0, 1);
    }

    @Override
    public int read(byte[] into, int offset, int length) {
      boolean waiting = true;
      while (waiting) {
        try {
          never.await();
          waiting = false;
        } catch (InterruptedException e) {
          waiting = true; // Deaf on purpose.
        }
      }
      return -1;
    }
  }

  private static Integer trickle(HandshakeTransport to, ByteBuffer bytes, CountDownLatch over)
      throws InterruptedException, TimeoutException {
    int sent = 0;
    try {
      while (bytes.hasRemaining() && !over.await(10, TimeUnit.MILLISECONDS)) {
        to.write(bytes.slice(bytes.position(), 1), Deadline.after(LONG));
        bytes.position(bytes.position() + 1);
        sent++;
      }
    } catch (IOException e) {
      return sent;
    }
    return sent;
  }

  private static Void ask(HandshakeTransport client, int rails) throws Exception {
    client.write(ByteBuffer.wrap(new byte[] {(byte) rails}), Deadline.after(LONG));
    return null;
  }

  private static ScriptedServer server(RailDialect dialect, int rails) {
    return new ScriptedServer(rails, Fixtures.offer(dialect, rails, 1));
  }

  private static <T> FutureTask<T> start(Callable<T> call) {
    FutureTask<T> task = new FutureTask<>(call);
    Thread thread = new Thread(task, "other-end");
    thread.setDaemon(true);
    thread.start();
    return task;
  }

  private static HandshakeConnection over(
      HandshakeTransport transport, RailDialect dialect, Duration timeout) {
    return HandshakeConnection.over(transport, terms(dialect, timeout));
  }
}
