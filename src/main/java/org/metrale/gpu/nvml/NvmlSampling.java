package org.metrale.gpu.nvml;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;

/** The work of a sampler: takes samples, counts, publishes, tells. */
final class NvmlSampling {
  private static final Logger LOG = System.getLogger("org.metrale.gpu.nvml");
  private static final int UNKNOWN = 999;

  /** As many periods after the last sample, two others are missing. */
  private static final int OVERDUE_PERIODS = 3;

  private final NvmlSampleSource source;
  private final String name;
  private final long overdueNanos;

  /** 0 if nothing is slow. */
  private final long slowOverdueNanos;

  private final long startedAtNanos;
  private final NvmlSamplerClock clock;
  private final NvmlSnapshotCell fastCell = new NvmlSnapshotCell(NvmlSample.WORDS);
  private final NvmlSnapshotCell slowCell = new NvmlSnapshotCell(NvmlSample.WORDS);
  private final ThreadLocal<Words> reading = ThreadLocal.withInitial(Words::new);

  // Of the thread that samples.
  private final NvmlSample fast = new NvmlSample();
  private final NvmlSample told = new NvmlSample();
  private final long[] fastWords = new long[NvmlSample.WORDS];
  private final NvmlEnergyMeter energy = new NvmlEnergyMeter();
  private final NvmlSampleEvent event = new NvmlSampleEvent();
  private boolean fastFailureLogged;

  // Of the thread that reads what takes long.
  private final NvmlSample slow = new NvmlSample();
  private final long[] slowWords = new long[NvmlSample.WORDS];
  private boolean slowFailureLogged;

  /** Replaced, never changed, so that telling them needs neither a lock nor an iterator. */
  private volatile NvmlSampleListener[] listeners = new NvmlSampleListener[0];

  private volatile NvmlSamplerState state = NvmlSamplerState.STARTING;
  private volatile boolean ended;

  NvmlSampling(NvmlSampleSource source, NvmlSamplerSettings settings, NvmlSamplerClock clock) {
    this.source = source;
    this.name = settings.name();
    this.clock = clock;
    this.overdueNanos = OVERDUE_PERIODS * settings.period().toNanos();
    this.slowOverdueNanos = OVERDUE_PERIODS * settings.slowPeriod().toNanos();
    this.startedAtNanos = clock.nanoTime();
    new NvmlSample().store(fastWords);
    fastCell.write(fastWords);
    slowCell.write(fastWords);
  }

  /** Takes one sample of what is not slow. */
  void sample() {
    fast.begin(fast.sequence() + 1, clock.nanoTime(), clock.epochMillis());
    try {
      source.sample(fast);
    } catch (RuntimeException | Error e) {
      // A source of somebody else's; the device's own does not throw.
      fail(fast, false);
      logFast(e);
    }
    if (ended) {
      return; // came back late: nobody is told
    }
    if (fast.has(NvmlMetric.ENERGY_MILLIJOULES)) {
      energy.add(fast.value(NvmlMetric.ENERGY_MILLIJOULES));
    }
    fast.energy(energy);
    int found = fast.count(false);
    fast.store(fastWords);
    fastCell.write(fastWords);
    state = found > 0 ? NvmlSamplerState.AVAILABLE : NvmlSamplerState.FAILING;
    tell();
  }

  /** Takes one sample of what is slow. */
  void sampleSlow() {
    slow.begin(slow.sequence() + 1, clock.nanoTime(), clock.epochMillis());
    try {
      source.sampleSlow(slow);
    } catch (RuntimeException | Error e) {
      fail(slow, true);
      logSlow(e);
    }
    if (ended) {
      return;
    }
    slow.count(true);
    slow.store(slowWords);
    slowCell.write(slowWords);
  }

  /** A sample that did not come to its end: nothing was published. */
  void failed(Throwable problem) {
    state = NvmlSamplerState.FAILING;
    logFast(problem);
  }

  void slowFailed(Throwable problem) {
    logSlow(problem);
  }

  void read(NvmlSample into) {
    Words words = reading.get();
    slowCell.read(words.slow);
    fastCell.read(words.fast);
    into.load(words.fast, words.slow);
    long now = clock.nanoTime();
    into.overdue(
        isOverdue(words.fast, overdueNanos, now), isOverdue(words.slow, slowOverdueNanos, now));
  }

  NvmlSamplerState state() {
    long[] words = reading.get().fast;
    fastCell.read(words);
    return isOverdue(words, overdueNanos, clock.nanoTime()) ? NvmlSamplerState.OVERDUE : state;
  }

  /** From now on nothing is published and nobody is told. */
  void end() {
    ended = true;
  }

  private boolean isOverdue(long[] words, long limitNanos, long now) {
    long since = NvmlSample.sequence(words) == 0 ? startedAtNanos : NvmlSample.takenAt(words);
    return limitNanos > 0 && !ended && now - since > limitNanos;
  }

  synchronized void addListener(NvmlSampleListener listener) {
    NvmlSampleListener[] more = Arrays.copyOf(listeners, listeners.length + 1);
    more[listeners.length] = listener;
    listeners = more;
  }

  synchronized void removeListener(NvmlSampleListener listener) {
    listeners =
        Arrays.stream(listeners)
            .filter(other -> !other.equals(listener))
            .toArray(NvmlSampleListener[]::new);
  }

  private void tell() {
    boolean recorded = event.isEnabled();
    NvmlSampleListener[] all = listeners;
    if (!recorded && all.length == 0) {
      return;
    }
    read(told);
    if (recorded) {
      event.begin();
      event.sampler = name;
      event.fill(told);
      event.commit();
    }
    for (NvmlSampleListener listener : all) {
      try {
        listener.sampled(told);
      } catch (RuntimeException | Error e) {
        removeListener(listener);
        LOG.log(Level.WARNING, "a listener of " + name + " failed and is told no more", e);
      }
    }
  }

  private void logFast(Throwable problem) {
    if (!fastFailureLogged) {
      fastFailureLogged = true;
      log(problem);
    }
  }

  private void logSlow(Throwable problem) {
    if (!slowFailureLogged) {
      slowFailureLogged = true;
      log(problem);
    }
  }

  private void log(Throwable problem) {
    LOG.log(
        Level.WARNING, "sampling " + name + " failed; later failures are only counted", problem);
  }

  private static void fail(NvmlSample sample, boolean ofSlow) {
    for (int i = 0; i < NvmlMetric.count(); i++) {
      if (NvmlMetric.at(i).isSlow() == ofSlow) {
        sample.put(NvmlMetric.at(i), UNKNOWN, 0);
      }
    }
  }

  /** What a reading thread needs, so that reading allocates nothing. */
  private static final class Words {
    private final long[] fast = new long[NvmlSample.WORDS];
    private final long[] slow = new long[NvmlSample.WORDS];
  }
}
