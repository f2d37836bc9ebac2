package org.metrale.gpu.nccl;

import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.metrale.gpu.Backoff;

/** Waits that an interrupt must not end half way; they are bounded. */
final class Waiting {
  private Waiting() {}

  /** Waits; the thread is interrupted afterwards if it was meanwhile. */
  static void quietly(BooleanSupplier done, Duration timeout) {
    boolean interrupted = false;
    long limit = Backoff.nanos(timeout);
    long begin = System.nanoTime();
    try {
      while (true) {
        try {
          long left = limit - (System.nanoTime() - begin);
          Backoff.await(done, Duration.ofNanos(Math.max(0, left)));
          return;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
