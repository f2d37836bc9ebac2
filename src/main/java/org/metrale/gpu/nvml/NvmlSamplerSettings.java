package org.metrale.gpu.nvml;

import java.time.Duration;

/**
 * How a sampler samples.
 *
 * @param period from the start of one sample to the start of the next; 10 ms to 10 s
 * @param slowPeriod the same for what takes long to read; at least {@code period}, at most an hour,
 *     or zero to leave it out
 * @param name stands in the names of the sampler's threads and in its JFR events
 */
public record NvmlSamplerSettings(Duration period, Duration slowPeriod, String name) {
  private static final Duration SHORTEST = Duration.ofMillis(10);
  private static final Duration LONGEST = Duration.ofSeconds(10);
  private static final Duration LONGEST_SLOW = Duration.ofHours(1);

  /**
   * Checks the periods.
   *
   * @param period from the start of one sample to the start of the next
   * @param slowPeriod the same for what takes long to read
   * @param name stands in the names of the sampler's threads and in its JFR events
   * @throws IllegalArgumentException if one is out of its range
   */
  public NvmlSamplerSettings {
    check("period", period, SHORTEST, LONGEST);
    if (!slowPeriod.isZero()) {
      check("slowPeriod", slowPeriod, period, LONGEST_SLOW);
    }
    if (name.isBlank()) {
      throw new IllegalArgumentException("name is blank");
    }
  }

  /**
   * Every 100 ms, and every second what takes long.
   *
   * @param name stands in the names of the sampler's threads and in its JFR events
   * @return the settings
   */
  public static NvmlSamplerSettings standard(String name) {
    return new NvmlSamplerSettings(Duration.ofMillis(100), Duration.ofSeconds(1), name);
  }

  private static void check(String what, Duration period, Duration least, Duration most) {
    if (period.compareTo(least) < 0 || period.compareTo(most) > 0) {
      throw new IllegalArgumentException(
          what + " " + period + ", expected " + least + " to " + most);
    }
  }
}
