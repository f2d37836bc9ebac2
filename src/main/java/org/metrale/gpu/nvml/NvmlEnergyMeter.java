package org.metrale.gpu.nvml;

/**
 * Adds up energy from differences of a counter; power is never integrated.
 *
 * <p>The first reading is where it starts from. A counter that goes back was full if it fell from
 * the top quarter of its range to the bottom quarter; else it was reset, and what it shows was used
 * since.
 *
 * <p><b>Threading:</b> none.
 */
public final class NvmlEnergyMeter {
  private static final int POINTS = 8192;
  private static final long TOP_QUARTER = 0xC000_0000_0000_0000L;
  private static final long BOTTOM_QUARTER = 0x4000_0000_0000_0000L;

  /** Totals of the last readings; the reading n stands at n modulo the length. */
  private final long[] totals = new long[POINTS];

  private long readings;
  private long last;
  private long total;
  private long wraps;
  private long resets;

  /** Makes a meter that has read nothing. */
  public NvmlEnergyMeter() {}

  /**
   * Takes a reading of the counter.
   *
   * @param counterMillijoules what it shows, unsigned
   */
  public void add(long counterMillijoules) {
    if (readings > 0) {
      if (Long.compareUnsigned(counterMillijoules, last) >= 0) {
        total += counterMillijoules - last;
      } else if (Long.compareUnsigned(last, TOP_QUARTER) >= 0
          && Long.compareUnsigned(counterMillijoules, BOTTOM_QUARTER) < 0) {
        // The difference of 64-bit numbers is right over the end of their range.
        total += counterMillijoules - last;
        wraps++;
      } else {
        total += counterMillijoules;
        resets++;
      }
    }
    last = counterMillijoules;
    totals[(int) (readings % POINTS)] = total;
    readings++;
  }

  /**
   * What was used since the first reading.
   *
   * @return millijoules
   */
  public long totalMillijoules() {
    return total;
  }

  /**
   * What was used over the last readings.
   *
   * @param intervals how many intervals between readings; at most 8,191, and fewer count as all
   *     there are
   * @return millijoules
   * @throws IllegalArgumentException if it is not from 1 to 8,191
   */
  public long millijoulesOverLast(int intervals) {
    if (intervals < 1 || intervals >= POINTS) {
      throw new IllegalArgumentException(intervals + " intervals, expected 1 to " + (POINTS - 1));
    }
    if (readings < 2) {
      return 0;
    }
    long first = Math.max(0, readings - 1 - intervals);
    return total - totals[(int) (first % POINTS)];
  }

  /**
   * How many readings were taken.
   *
   * @return how many
   */
  public long readings() {
    return readings;
  }

  /**
   * How often the counter was full and began again.
   *
   * @return how often
   */
  public long wraps() {
    return wraps;
  }

  /**
   * How often the counter began again before it was full.
   *
   * @return how often
   */
  public long resets() {
    return resets;
  }
}
