package org.metrale.gpu.rail;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.BoundedCall;

/**
 * Brings a rail's end down on threads that may be left behind: a device that is stuck can keep
 * these calls for as long as it likes, and must not keep the other rails.
 *
 * <p>Where no thread is to be had, {@link #goOn()} tries it again, and who waits for the end does
 * it.
 */
final class RailEnding {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  /** Between two attempts: the JVM itself prints something each time. */
  private static final long AGAIN_NANOS = Duration.ofMillis(50).toNanos();

  private final RailEnd end;
  private final Throwable cause;

  /** Null until there was a thread for it; so the other. */
  private CompletableFuture<Boolean> told;

  private CompletableFuture<Boolean> closing;
  private boolean isToClose;
  private long triedAtNanos = System.nanoTime() - AGAIN_NANOS;

  /** Begins: what is in flight is to come back as flushed. */
  RailEnding(RailEnd end, Throwable cause) {
    this.end = end;
    this.cause = cause;
    goOn();
  }

  private boolean tell() {
    try {
      end.pair().abort();
      return true;
    } catch (RuntimeException | OutOfMemoryError e) {
      // A device that is gone cannot be told; destroying the queue pair does the same.
      cause.addSuppressed(e);
      return false;
    }
  }

  /** Begins to destroy the queue pair, when it has been told. */
  void close() {
    isToClose = true;
    goOn();
  }

  /** Begins what has not begun and is to. */
  void goOn() {
    boolean isBegun = isToClose ? closing != null : told != null;
    long now = System.nanoTime();
    if (isBegun || now - triedAtNanos < AGAIN_NANOS) {
      return;
    }
    try {
      if (told == null) {
        told = BoundedCall.start(this::tell);
      }
      if (isToClose) {
        closing = BoundedCall.start(this::toldAndClosed);
      }
    } catch (OutOfMemoryError e) {
      triedAtNanos = now;
      LOG.log(Level.DEBUG, "no thread is to be had to bring a rail down", e);
    }
  }

  private boolean toldAndClosed() {
    boolean unused = told.join();
    return end.closeQuietly();
  }

  boolean isClosing() {
    return isToClose;
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
    if (closing == null) {
      // Here, where no thread is to be had: nobody would do it later.
      closing = CompletableFuture.completedFuture(end.closeQuietly());
    }
    try {
      long left = deadline.remainingNanos(System.nanoTime());
      return BoundedCall.await(closing, Duration.ofNanos(left));
    } catch (TimeoutException e) {
      return false;
    }
  }
}
