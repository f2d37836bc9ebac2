package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.NoThreads;

/** A process that has no thread to give, for a while, and what the rails make of it. */
@Timeout(60)
final class RailThreadsTest {
  private static final Duration BRIEF = Duration.ofMillis(50);

  /** Two ends of a connection, of which the other says nothing. */
  private interface Silence {
    void with(Socket socket) throws Exception;
  }

  private static void withSilence(Silence test) throws Exception {
    try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket one = new Socket(listener.getInetAddress(), listener.getLocalPort());
        Socket other = listener.accept()) {
      assertTrue(other.isConnected());
      test.with(one);
    }
  }

  private static void untilTheTimerHasNoThread() throws InterruptedException {
    while (RailTimer.hasThread()) {
      Thread.sleep(10);
    }
  }

  @Test
  void aDeadlineHoldsWhereNoThreadIsToBeHadToCloseTheSocket() throws Exception {
    withSilence(
        socket -> {
          HandshakeTransport transport = HandshakeTransport.of(socket);
          try (NoThreads none = NoThreads.named("metrale-handshake-closer")) {
            assertThrows(
                TimeoutException.class,
                () -> transport.read(ByteBuffer.allocate(1), Deadline.after(BRIEF)));
            assertEquals(1, none.denied());
          }
        });
  }

  /** The call is not begun then, and nothing goes on ticking for its sake. */
  @Test
  void aCallNobodyCanWatchIsNotMade() throws Exception {
    untilTheTimerHasNoThread();
    withSilence(
        socket -> {
          DeadlineWatch watch = new DeadlineWatch(socket);
          AtomicBoolean made = new AtomicBoolean();
          DeadlineWatch.BlockingCall call =
              () -> {
                made.set(true);
                return 0;
              };
          try (NoThreads none = NoThreads.named("metrale-rail-timer")) {
            assertThrows(
                OutOfMemoryError.class, () -> watch.during(call, Deadline.after(RailHost.LIMIT)));
            assertEquals(1, none.denied());
          }
          assertTrue(!made.get());
          assertEquals(0, RailTimer.waiting());
          assertEquals(0, watch.during(call, Deadline.after(RailHost.LIMIT)));
          assertThrows(
              TimeoutException.class,
              () -> watch.during(() -> socket.getInputStream().read(), Deadline.after(BRIEF)));
        });
  }

  @Test
  void transfersAreWatchedByTheNextAttempt() throws Exception {
    untilTheTimerHasNoThread();
    CountDownLatch looks = new CountDownLatch(2);
    StepWatch watch =
        new StepWatch(
            new StepWatch.Watched() {
              @Override
              public void stuck(IllegalStateException why) {
                throw why;
              }

              @Override
              public void neglected(long nanos) {
                looks.countDown();
              }

              @Override
              public boolean isWatched() {
                return looks.getCount() > 0;
              }
            });
    try (NoThreads none = NoThreads.named("metrale-rail-timer")) {
      assertThrows(OutOfMemoryError.class, watch::look);
      assertEquals(1, none.denied());
    }
    watch.look();
    looks.await();
    assertEquals(0, looks.getCount());
  }

  @Test
  void streamsAreClosedWhereNoThreadIsToBeHad() throws Exception {
    AtomicInteger closed = new AtomicInteger();
    HandshakeTransport transport =
        HandshakeTransport.of(
            new ByteArrayInputStream(new byte[0]) {
              @Override
              public void close() {
                closed.incrementAndGet();
              }
            },
            new ByteArrayOutputStream() {
              @Override
              public void close() {
                closed.incrementAndGet();
              }
            });
    try (NoThreads none = NoThreads.named("metrale-handshake-stream")) {
      transport.close();
      assertEquals(1, none.denied());
    }
    assertEquals(2, closed.get());
  }

  /** Without a farewell. */
  @Test
  void aSecuredSocketIsClosedWhereNoThreadIsToBeHad() throws Exception {
    withSilence(
        base -> {
          try (SSLSocket over =
              (SSLSocket)
                  Tls.sockets().createSocket(base, "peer", base.getPort(), /* autoClose= */ true)) {
            HandshakeTransport transport = new SocketTransport(over, base);
            try (NoThreads none = NoThreads.named("metrale-handshake-farewell")) {
              transport.close();
              assertEquals(1, none.denied());
            }
            assertTrue(base.isClosed());
          }
        });
  }

  @Test
  void railsAreRebuiltAsSoonAsThereIsAThread() throws Exception {
    CountDownLatch attempts = new CountDownLatch(1);
    RailRecovery recovery =
        new RailRecovery(
            "peer",
            () -> {
              attempts.countDown();
              return RailRecovery.Outcome.COMPLETE;
            });
    try (NoThreads none = NoThreads.named("rail recovery")) {
      recovery.request();
      none.awaitDenied(2);
    }
    attempts.await();
    recovery.close();
    assertEquals(0, attempts.getCount());
  }

  /** Neither for the one nor for who would ask again: that is kept for when there is. */
  @Test
  void railsAreRebuiltAsSoonAsThereIsAThreadForTheTimer() throws Exception {
    untilTheTimerHasNoThread();
    CountDownLatch attempts = new CountDownLatch(1);
    RailRecovery recovery =
        new RailRecovery(
            "peer",
            () -> {
              attempts.countDown();
              return RailRecovery.Outcome.COMPLETE;
            });
    try (NoThreads none = NoThreads.of(thread -> true)) {
      recovery.request();
      assertEquals(2, none.denied());
    }
    RailTimer.after(1, () -> {});
    attempts.await();
    recovery.close();
    assertEquals(0, attempts.getCount());
  }

  @Test
  void stepsAreTakenAsSoonAsThereIsAThread() throws Exception {
    TransferEngine engine = new TransferEngine("peer", false, link -> {});
    RailDriver driver = new RailDriver(engine, "peer");
    AtomicInteger asked = new AtomicInteger();
    try (NoThreads none =
        NoThreads.of(
            thread -> thread.getName().equals("rails to peer") && asked.incrementAndGet() <= 2)) {
      driver.wake();
      while (asked.get() < 3) {
        Thread.sleep(1);
      }
      assertEquals(2, none.denied());
    }
    driver.close(Deadline.after(RailHost.LIMIT));
  }
}
