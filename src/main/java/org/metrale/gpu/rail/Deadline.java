package org.metrale.gpu.rail;

import java.time.Duration;

/**
 * The moment by which something must be over.
 *
 * @param nanoTime that moment on the scale of {@link System#nanoTime()}
 */
public record Deadline(long nanoTime) {
  /** The longest wait; more would be indistinguishable from the past on the clock's scale. */
  private static final Duration LONGEST = Duration.ofDays(36_500);

  /**
   * The moment that is {@code timeout} from now.
   *
   * @param timeout how long; more than a century counts as a century
   * @return the deadline
   * @throws IllegalArgumentException if {@code timeout} is negative
   */
  public static Deadline after(Duration timeout) {
    if (timeout.isNegative()) {
      throw new IllegalArgumentException("timeout: wanted 0 or more, got " + timeout);
    }
    Duration capped = timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout;
    return new Deadline(System.nanoTime() + capped.toNanos());
  }

  /**
   * Whether the moment has come.
   *
   * @param nowNanos the present on the scale of {@link System#nanoTime()}
   * @return true if it has
   */
  public boolean hasPassed(long nowNanos) {
    return nowNanos - nanoTime >= 0;
  }

  /**
   * How long there is left.
   *
   * @param nowNanos the present on the scale of {@link System#nanoTime()}
   * @return nanoseconds, 0 if the moment has passed
   */
  public long remainingNanos(long nowNanos) {
    return Math.max(0, nanoTime - nowNanos);
  }
}
