package org.metrale.gpu;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * How a thread waits for a device without burning a core: it spins for 200 microseconds, yields up
 * to two milliseconds, then sleeps 50 microseconds, doubling up to one millisecond.
 *
 * <p>A fixed sleep of a millisecond costs whole milliseconds a step in a loop of short collectives;
 * spinning alone costs a core. A virtual thread that waits here gives its carrier away.
 *
 * <p><b>Threading:</b> stateless; safe for any number of threads.
 */
public final class Backoff {
  private static final long SPIN_NANOS = 200_000;
  private static final long YIELD_NANOS = 2_000_000;
  private static final long FIRST_SLEEP_NANOS = 50_000;
  private static final long LONGEST_SLEEP_NANOS = 1_000_000;

  private Backoff() {}

  /**
   * Waits until a condition holds.
   *
   * <p><b>Blocking:</b> at most {@code timeout}, plus one evaluation of the condition.
   *
   * @param done the condition; asked at least once
   * @param timeout how long to wait at most; zero or less asks once
   * @return false if the time ended first
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  @SuppressWarnings("ThreadPriorityCheck") // yielding is the middle step, nothing relies on it
  public static boolean await(BooleanSupplier done, Duration timeout) throws InterruptedException {
    Objects.requireNonNull(done, "done");
    long limit = nanos(timeout);
    if (done.getAsBoolean()) {
      return true;
    }
    long begin = System.nanoTime();
    long sleep = FIRST_SLEEP_NANOS;
    while (true) {
      long waited = System.nanoTime() - begin;
      if (waited >= limit) {
        return done.getAsBoolean();
      }
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (waited < SPIN_NANOS) {
        Thread.onSpinWait();
      } else if (waited < YIELD_NANOS) {
        Thread.yield();
      } else {
        LockSupport.parkNanos(Math.min(sleep, limit - waited));
        sleep = Math.min(2 * sleep, LONGEST_SLEEP_NANOS);
      }
      if (done.getAsBoolean()) {
        return true;
      }
    }
  }

  /**
   * The length of a wait as a number that cannot overflow.
   *
   * @param timeout any duration
   * @return nanoseconds, from 0 to {@link Long#MAX_VALUE}
   */
  public static long nanos(Duration timeout) {
    Objects.requireNonNull(timeout, "timeout");
    if (timeout.isNegative()) {
      return 0;
    }
    try {
      return timeout.toNanos();
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE;
    }
  }
}
