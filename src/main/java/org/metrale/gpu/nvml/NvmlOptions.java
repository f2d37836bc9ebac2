package org.metrale.gpu.nvml;

import java.time.Duration;

/**
 * How long a session waits for the driver.
 *
 * @param sessionTimeout how long starting and ending NVML may take, each; starting takes seconds
 *     where no other process uses the driver
 * @param callTimeout how long any other call may take, and how long closing a session or a sampler
 *     waits for calls that run; with {@code ChronoUnit.FOREVER.getDuration()} calls are made in the
 *     caller's thread, as fast as in C and as long
 */
public record NvmlOptions(Duration sessionTimeout, Duration callTimeout) {
  /**
   * Checks the times.
   *
   * @param sessionTimeout positive
   * @param callTimeout positive
   * @throws IllegalArgumentException if one is not positive
   */
  public NvmlOptions {
    check("sessionTimeout", sessionTimeout);
    check("callTimeout", callTimeout);
  }

  /**
   * Half a minute to start and to end, five seconds for a call.
   *
   * @return the options that are used where none are given
   */
  public static NvmlOptions defaults() {
    return new NvmlOptions(Duration.ofSeconds(30), Duration.ofSeconds(5));
  }

  /**
   * The same with another time for calls.
   *
   * @param calls how long a call may take
   * @return new options
   */
  public NvmlOptions withCallTimeout(Duration calls) {
    return new NvmlOptions(sessionTimeout, calls);
  }

  private static void check(String what, Duration time) {
    if (time.isNegative() || time.isZero()) {
      throw new IllegalArgumentException(what + " " + time + " is not positive");
    }
  }
}
