package org.metrale.gpu.rail;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.verbs.VerbsQueuePair;

/**
 * Brings a rail's end down on threads that may be left behind: a device that is stuck can keep
 * these calls for as long as it likes, and must not keep the other rails.
 */
final class RailEnding {
  private final RailEnd end;
  private final CompletableFuture<Boolean> told;
  private CompletableFuture<Boolean> closing;

  /** Begins: what is in flight is to come back as flushed. */
  RailEnding(RailEnd end, Throwable cause) {
    this.end = end;
    VerbsQueuePair pair = end.pair();
    told = BoundedCall.start(() -> tell(pair, cause));
  }

  private static boolean tell(VerbsQueuePair pair, Throwable cause) {
    try {
      pair.abort();
      return true;
    } catch (RuntimeException e) {
      // A device that is gone cannot be told; destroying the queue pair does the same.
      cause.addSuppressed(e);
      return false;
    }
  }

  /** Begins to destroy the queue pair, when it has been told. */
  void close() {
    if (closing == null) {
      closing =
          BoundedCall.start(
              () -> {
                boolean unused = told.join();
                return end.closeQuietly();
              });
    }
  }

  boolean isClosing() {
    return closing != null;
  }

  /** Whether the queue pair is destroyed, as far as it can be. */
  boolean isOver() {
    return closing != null && closing.isDone();
  }

  /**
   * Waits until it is over; false if the device may still go on with what is in flight.
   *
   * @param deadline when to give up
   */
  boolean await(Deadline deadline) {
    try {
      long left = deadline.remainingNanos(System.nanoTime());
      return BoundedCall.await(closing, Duration.ofNanos(left));
    } catch (TimeoutException e) {
      return false;
    }
  }
}
