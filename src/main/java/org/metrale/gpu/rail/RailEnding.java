package org.metrale.gpu.rail;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.verbs.VerbsQueuePair;

/**
 * Brings a rail's end down on a thread of its own, which may be left behind: a device that is stuck
 * can keep these calls for as long as it likes, and must not keep the other rails.
 */
final class RailEnding {
  private final RailEnd end;
  private final ThreadPoolExecutor calls;
  private Future<Boolean> closing;

  /** Begins: what is in flight is to come back as flushed. */
  RailEnding(RailEnd end, Throwable cause) {
    this.end = end;
    calls =
        new ThreadPoolExecutor(
            1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), RailEnding::daemon);
    calls.allowCoreThreadTimeOut(true);
    VerbsQueuePair pair = end.pair();
    calls.execute(() -> abort(pair, cause));
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "rail ending");
    thread.setDaemon(true);
    return thread;
  }

  private static void abort(VerbsQueuePair pair, Throwable cause) {
    try {
      pair.abort();
    } catch (RuntimeException e) {
      // A device that is gone cannot be told; destroying the queue pair does the same.
      cause.addSuppressed(e);
    }
  }

  /** Begins to destroy the queue pair, when it has been told. */
  void close() {
    if (closing == null) {
      closing = calls.submit(end::closeQuietly);
      calls.shutdown();
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
    boolean interrupted = false;
    try {
      while (true) {
        try {
          long left = deadline.remainingNanos(System.nanoTime());
          return closing.get(left, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (TimeoutException | ExecutionException e) {
          return false;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
