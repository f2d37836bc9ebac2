package org.metrale.gpu.nvml;

import java.util.Arrays;
import java.util.NoSuchElementException;

/**
 * One sample of a device: what each metric answered, when, and how often each has failed.
 *
 * <p>Made to be reused: {@link NvmlSampler#read(NvmlSample)} fills one without allocating.
 *
 * <p><b>Threading:</b> none; each thread has its own.
 */
public final class NvmlSample {
  /** Sequence, time, epoch time, energy, wraps, resets. */
  private static final int HEAD_WORDS = 6;

  private static final int METRICS = NvmlMetric.count();

  /** How many words {@link #store} writes. */
  static final int WORDS = HEAD_WORDS + 3 * METRICS;

  private static final int NO_DATA = 21;

  private final long[] values = new long[METRICS];
  private final int[] codes = new int[METRICS];
  private final long[] errors = new long[METRICS];
  private long sequence;
  private long takenAtNanos;
  private long takenAtEpochMillis;
  private long energyMillijoules;
  private long energyWraps;
  private long energyResets;
  private boolean hostMemory;
  private boolean overdue;
  private boolean slowOverdue;

  /** Makes an empty sample, whose metrics all have failed with "no data". */
  public NvmlSample() {
    Arrays.fill(codes, NO_DATA);
  }

  /**
   * Sets what a metric answered; for sources of samples.
   *
   * @param metric the metric
   * @param code the {@code nvmlReturn_t}
   * @param value the value if the code is 0
   */
  public void put(NvmlMetric metric, int code, long value) {
    values[metric.index()] = code == 0 ? value : 0;
    codes[metric.index()] = code;
  }

  /**
   * What a metric answered.
   *
   * @param metric the metric
   * @return the reading; failed with {@code NVML_ERROR_NO_DATA} (21) before the first sample of it
   */
  public NvmlReading<Long> reading(NvmlMetric metric) {
    return NvmlReading.of(new NvmlResult(codes[metric.index()]), () -> values[metric.index()]);
  }

  /**
   * Whether a metric has a value. Allocates nothing.
   *
   * @param metric the metric
   * @return false if it is absent, denied or failed
   */
  public boolean has(NvmlMetric metric) {
    return codes[metric.index()] == 0;
  }

  /**
   * The value of a metric. Allocates nothing.
   *
   * @param metric the metric
   * @return the value
   * @throws NoSuchElementException if it has none; the message has the code
   */
  public long value(NvmlMetric metric) {
    if (codes[metric.index()] != 0) {
      throw new NoSuchElementException(metric + ": " + new NvmlResult(codes[metric.index()]));
    }
    return values[metric.index()];
  }

  /**
   * The code behind a metric. Allocates nothing.
   *
   * @param metric the metric
   * @return the {@code nvmlReturn_t}
   */
  public int code(NvmlMetric metric) {
    return codes[metric.index()];
  }

  /**
   * How often a metric has failed since the sampler was started; being absent or denied is no
   * failure.
   *
   * @param metric the metric
   * @return how often
   */
  public long errors(NvmlMetric metric) {
    return errors[metric.index()];
  }

  /**
   * The number of the sample.
   *
   * @return from 1; 0 before the first
   */
  public long sequence() {
    return sequence;
  }

  /**
   * When the sample was begun, by the clock of {@link System#nanoTime()}.
   *
   * @return nanoseconds
   */
  public long takenAtNanos() {
    return takenAtNanos;
  }

  /**
   * When the sample was begun, by the wall clock.
   *
   * @return milliseconds since 1970
   */
  public long takenAtEpochMillis() {
    return takenAtEpochMillis;
  }

  /**
   * The energy used since the sampler's first reading of it, from differences of the counter; it
   * goes on over a counter that starts again.
   *
   * @return millijoules
   */
  public long energySinceStartMillijoules() {
    return energyMillijoules;
  }

  /**
   * How often the counter of energy was full and began again.
   *
   * @return how often
   */
  public long energyWraps() {
    return energyWraps;
  }

  /**
   * How often the counter of energy began again before it was full, as when the driver is loaded
   * anew.
   *
   * @return how often
   */
  public long energyResets() {
    return energyResets;
  }

  /**
   * Who said how much memory there is.
   *
   * @return the host, if the metrics of memory are those of the host
   */
  public NvmlMemorySource memorySource() {
    return hostMemory ? NvmlMemorySource.OPERATING_SYSTEM : NvmlMemorySource.NVML;
  }

  /**
   * Whether newer samples should have come: two of them or more were due when this one was read.
   * Then a call of NVML does not return, or the machine is too busy.
   *
   * @return true if the values may be old
   */
  public boolean isOverdue() {
    return overdue;
  }

  /**
   * The same of the metrics that take long to read.
   *
   * @return true if their values may be old
   */
  public boolean isSlowOverdue() {
    return slowOverdue;
  }

  void begin(long newSequence, long nanos, long epochMillis) {
    sequence = newSequence;
    takenAtNanos = nanos;
    takenAtEpochMillis = epochMillis;
  }

  void energy(NvmlEnergyMeter meter) {
    energyMillijoules = meter.totalMillijoules();
    energyWraps = meter.wraps();
    energyResets = meter.resets();
  }

  /** Counts the failures among the metrics of one cadence; answers how many have a value. */
  int count(boolean slow) {
    int found = 0;
    for (int i = 0; i < METRICS; i++) {
      if (NvmlMetric.at(i).isSlow() != slow) {
        continue;
      }
      int code = codes[i];
      if (code == 0) {
        found++;
      } else if (!NvmlResult.isAbsent(code) && code != NvmlResult.NO_PERMISSION.code()) {
        errors[i]++;
      }
    }
    return found;
  }

  void store(long[] words) {
    words[0] = sequence;
    words[1] = takenAtNanos;
    words[2] = takenAtEpochMillis;
    words[3] = energyMillijoules;
    words[4] = energyWraps;
    words[5] = energyResets;
    for (int i = 0; i < METRICS; i++) {
      words[HEAD_WORDS + i] = values[i];
      words[HEAD_WORDS + METRICS + i] = codes[i];
      words[HEAD_WORDS + 2 * METRICS + i] = errors[i];
    }
  }

  static long sequence(long[] words) {
    return words[0];
  }

  static long takenAt(long[] words) {
    return words[1];
  }

  void overdue(boolean ofFast, boolean ofSlow) {
    overdue = ofFast;
    slowOverdue = ofSlow;
  }

  /** Takes everything from a fast sample, and from a slow one what the fast one has not got. */
  void load(long[] fast, long[] slow) {
    sequence = fast[0];
    takenAtNanos = fast[1];
    takenAtEpochMillis = fast[2];
    energyMillijoules = fast[3];
    energyWraps = fast[4];
    energyResets = fast[5];
    for (int i = 0; i < METRICS; i++) {
      long[] from = NvmlMetric.at(i).isSlow() || isOnlyIn(slow, fast, i) ? slow : fast;
      values[i] = from[HEAD_WORDS + i];
      codes[i] = (int) from[HEAD_WORDS + METRICS + i];
      errors[i] = from[HEAD_WORDS + 2 * METRICS + i];
    }
    hostMemory = isOnlyIn(slow, fast, NvmlMetric.MEMORY_TOTAL_BYTES.index());
  }

  /** Whether the device has no such sensor and the slow sample has a value all the same. */
  private static boolean isOnlyIn(long[] slow, long[] fast, int metric) {
    int at = HEAD_WORDS + METRICS + metric;
    return slow[at] == 0 && NvmlResult.isAbsent((int) fast[at]);
  }
}
