package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.wire.RailDialect;

/** What those do who are told of a transfer, on the thread that drives all of them. */
@Tag("emulator")
@Timeout(60)
final class RailListenerTest {
  private static final int LENGTH = 1 << 20;
  private static final RailTarget START = new RailTarget(0, 0);
  private static final TransferTerms TERMS = TransferTerms.within(RailHost.LIMIT);

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private static RailHost host(int length, RailDialect dialect) throws Exception {
    return new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), length, dialect);
  }

  @Test
  void aListenerThatFailsEndsItsTransferAlone() throws Exception {
    IllegalStateException mine = new IllegalStateException("no more of this");
    endsItsTransferAlone(
        mine,
        done -> {
          throw mine;
        });
  }

  @Test
  void aListenerThatFailsWithAnErrorEndsItsTransferAlone() throws Exception {
    AssertionError mine = new AssertionError("no more of this");
    endsItsTransferAlone(
        mine,
        done -> {
          throw mine;
        });
  }

  private static void endsItsTransferAlone(Throwable expected, LongConsumer listener)
      throws Exception {
    try (RailHost host = host(LENGTH, RailDialect.READ_ONLY)) {
      ConnectedRails rails = host.connect(host.client().inPiecesOf(4096));
      RailMemory memory = host.memory(LENGTH);
      TransferTerms terms = TransferTerms.within(RailHost.LIMIT).telling(listener);
      RailTransfer transfer = rails.readAsync(memory, 0, START, LENGTH, terms);
      CompletionException e =
          assertThrows(
              CompletionException.class, () -> transfer.stage().toCompletableFuture().join());
      assertEquals(expected, e.getCause());
      rails.read(memory, 0, START, LENGTH, RailHost.LIMIT);
      rails.status().forEach(status -> assertEquals(0, status.failures()));
    }
  }

  @Test
  void aListenerMayBeginAnotherTransferAndNotWaitForOne() throws Exception {
    try (RailHost host = host(LENGTH, RailDialect.READ_ONLY)) {
      host.arena.write(0, RailHost.bytes(7, LENGTH));
      ConnectedRails rails = host.connect(host.client().inPiecesOf(4096));
      RailMemory memory = host.memory(LENGTH);
      RailMemory other = host.memory(LENGTH);
      CountDownLatch told = new CountDownLatch(1);
      CompletableFuture<Void> waiting = new CompletableFuture<>();
      CompletableFuture<RailTransfer> next = new CompletableFuture<>();
      RailTransfer transfer =
          rails.readAsync(
              memory,
              0,
              START,
              LENGTH,
              TERMS.telling(
                  done -> {
                    if (told.getCount() > 0) {
                      told.countDown();
                      next.complete(rails.readAsync(other, 0, START, LENGTH, TERMS));
                      try {
                        rails.read(other, 0, START, LENGTH, RailHost.LIMIT);
                      } catch (IllegalStateException | RailException | InterruptedException e) {
                        waiting.completeExceptionally(e);
                      }
                    }
                  }));
      transfer.stage().toCompletableFuture().join();
      next.join().stage().toCompletableFuture().join();
      CompletionException e = assertThrows(CompletionException.class, waiting::join);
      IllegalStateException refused = assertInstanceOf(IllegalStateException.class, e.getCause());
      assertTrue(refused.getMessage().contains("must not wait for another"), e::toString);
      assertEquals(RailHost.bytes(7, LENGTH), RailHost.read(memory, 0, LENGTH));
      assertEquals(RailHost.bytes(7, LENGTH), RailHost.read(other, 0, LENGTH));
    }
  }

  @Test
  void aListenerMayCloseTheRails() throws Exception {
    try (RailHost host = host(LENGTH, RailDialect.READ_ONLY)) {
      ConnectedRails rails = host.connect(host.client().inPiecesOf(4096));
      RailMemory memory = host.memory(LENGTH);
      RailTransfer other = rails.readAsync(memory, 0, START, LENGTH, TERMS);
      CountDownLatch closed = new CountDownLatch(1);
      RailTransfer transfer =
          rails.readAsync(
              memory, 0, START, LENGTH, TERMS.telling(done -> closeAndTell(rails, closed)));
      CompletionException e =
          assertThrows(
              CompletionException.class, () -> transfer.stage().toCompletableFuture().join());
      assertEquals(Reason.CLOSED, ((RailException) e.getCause()).reason());
      closed.await();
      assertTrue(rails.isClosed());
      untilClosed(memory);
      assertTrue(other.isDone());
    }
  }

  /** The transfers are over before the rails are closed. */
  private static void closeAndTell(ConnectedRails rails, CountDownLatch closed) {
    rails.close();
    closed.countDown();
  }

  /** The memory is free of a transfer that was told of its deadline before a rail had any of it. */
  @Test
  void aListenerThatTookLongMayCloseTheRails() throws Exception {
    try (RailHost host = host(LENGTH, RailDialect.READ_ONLY)) {
      ConnectedRails rails = host.connect(host.client().inPiecesOf(4096));
      RailMemory memory = host.memory(LENGTH);
      RailMemory other = host.memory(LENGTH);
      CountDownLatch told = new CountDownLatch(1);
      CountDownLatch closed = new CountDownLatch(1);
      CompletableFuture<RailTransfer> late = new CompletableFuture<>();
      RailTransfer transfer =
          rails.readAsync(
              memory,
              0,
              START,
              LENGTH,
              TERMS.telling(
                  done -> {
                    told.countDown();
                    RailException unused = untilFailed(late.join());
                    closeAndTell(rails, closed);
                  }));
      told.await();
      TransferTerms brief = TransferTerms.within(Duration.ofMillis(1));
      late.complete(rails.readAsync(other, 0, START, LENGTH, brief));
      assertEquals(Reason.DEADLINE_PASSED, untilFailed(late.join()).reason());
      assertEquals(Reason.CLOSED, untilFailed(transfer).reason());
      closed.await();
      untilClosed(memory);
      untilClosed(other);
    }
  }

  private static RailException untilFailed(RailTransfer transfer) {
    CompletionException e =
        assertThrows(
            CompletionException.class, () -> transfer.stage().toCompletableFuture().join());
    return (RailException) e.getCause();
  }

  /** The listener's thread may have told of the end and not have come to it yet. */
  static void untilClosed(NativeResource resource) throws InterruptedException {
    while (!resource.isClosed()) {
      try {
        resource.close();
      } catch (IllegalStateException e) {
        Thread.sleep(1);
      }
    }
  }

  @Test
  void whoHearsOfAnEndMayCloseTheRails() throws Exception {
    try (RailHost host = host(LENGTH, RailDialect.READ_ONLY)) {
      ConnectedRails rails = host.connect(host.client().rebuilding(true));
      RailMemory memory = host.memory(LENGTH);
      host.server.close();
      TransferTerms brief = TransferTerms.within(Duration.ofMillis(100));
      CompletableFuture<Void> closed =
          rails
              .readAsync(memory, 0, START, LENGTH, brief)
              .stage()
              .handle(
                  (nothing, failure) -> {
                    rails.close();
                    return nothing;
                  })
              .toCompletableFuture();
      closed.join();
      assertTrue(rails.isClosed());
      untilClosed(memory);
    }
  }
}
