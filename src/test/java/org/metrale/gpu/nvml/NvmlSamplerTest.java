package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NvmlSamplerTest {
  private static final Duration PERIOD = Duration.ofMillis(100);
  private static final long DAY_OF_SAMPLES = 24L * 60 * 60 * 10;
  private static final NvmlSamplerSettings FAST_ONLY =
      new NvmlSamplerSettings(PERIOD, Duration.ZERO, "test");

  private final FakeClock clock = new FakeClock();

  /** Runs one sampler on the fake clock until the source has given that many samples. */
  private NvmlSample run(long samples, Script script, Consumer<NvmlSample> listener)
      throws Exception {
    CountDownLatch listening = new CountDownLatch(1);
    CountDownLatch done = new CountDownLatch(1);
    NvmlSampleSource source =
        fast(
            into -> {
              awaitQuietly(listening);
              if (into.sequence() > samples) {
                done.countDown();
                // Nothing more is looked at; do not run the clock away.
                Thread.yield();
                return;
              }
              script.sample(into);
            });
    NvmlSample last = new NvmlSample();
    try (NvmlSampler sampler = NvmlSampler.start(source, FAST_ONLY, clock)) {
      sampler.addListener(
          sample -> {
            if (sample.sequence() <= samples) {
              listener.accept(sample);
            }
          });
      listening.countDown();
      assertTrue(done.await(60, TimeUnit.SECONDS));
      sampler.read(last);
    }
    return last;
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private interface Script {
    void sample(NvmlSample into);
  }

  private static NvmlSampleSource fast(Script script) {
    return new NvmlSampleSource() {
      @Override
      public void sample(NvmlSample into) {
        script.sample(into);
      }

      @Override
      public void sampleSlow(NvmlSample into) {}
    };
  }

  @Test
  void samplesADayWithWrapAndResetOfTheEnergyCounter() throws Exception {
    // 350 W are 35,000 mJ a sample. The counter is full after 8 hours and is reset after 16.
    long wrapAt = DAY_OF_SAMPLES / 3;
    long resetAt = DAY_OF_SAMPLES * 2 / 3;
    long[] counter = {-35_000L * wrapAt};
    long[] seen = new long[4];
    long begin = clock.nanoTime();
    run(
        DAY_OF_SAMPLES,
        into -> {
          counter[0] = into.sequence() == resetAt ? 1_234 : counter[0] + 35_000;
          into.put(NvmlMetric.ENERGY_MILLIJOULES, 0, counter[0]);
          into.put(NvmlMetric.POWER_MILLIWATTS, 0, 350_000);
          into.put(NvmlMetric.TEMPERATURE_CELSIUS, into.sequence() % 1000 == 0 ? 999 : 0, 60);
        },
        sample -> {
          seen[0] = sample.energySinceStartMillijoules();
          seen[1] = sample.energyWraps();
          seen[2] = sample.energyResets();
          seen[3] = sample.errors(NvmlMetric.TEMPERATURE_CELSIUS);
        });
    // The first reading anchors; at the reset 1,234 mJ were used instead of 35,000.
    assertEquals(35_000 * (DAY_OF_SAMPLES - 2) + 1_234, seen[0]);
    assertEquals(1, seen[1]);
    assertEquals(1, seen[2]);
    assertEquals(DAY_OF_SAMPLES / 1000, seen[3]);
    Duration passed = Duration.ofNanos(clock.nanoTime() - begin);
    assertTrue(passed.compareTo(Duration.ofHours(24)) >= 0, passed.toString());
  }

  @Test
  void beginsEachSampleAPeriodAfterTheLastAndSkipsWhatIsLate() throws Exception {
    List<Long> starts = new ArrayList<>();
    long begin = clock.nanoTime();
    run(
        6,
        into -> {
          starts.add(TimeUnit.NANOSECONDS.toMillis(into.takenAtNanos() - begin));
          clock.pass(TimeUnit.MILLISECONDS.toNanos(into.sequence() == 3 ? 250 : 30));
        },
        sample -> {});
    assertEquals(List.of(0L, 100L, 200L, 550L, 650L, 750L), starts);
  }

  @Test
  void oneFailingMetricLeavesTheOthersAlone() throws Exception {
    NvmlSample[] kept = new NvmlSample[1];
    run(
        5,
        into -> {
          into.put(NvmlMetric.POWER_MILLIWATTS, 0, 111_000 + into.sequence());
          into.put(NvmlMetric.GPU_PERCENT, 15, 99);
          into.put(NvmlMetric.SM_CLOCK_MEGAHERTZ, 4, 99);
          into.put(NvmlMetric.VIDEO_CLOCK_MEGAHERTZ, 3, 99);
        },
        sample -> {
          if (sample.sequence() == 5) {
            kept[0] = copy(sample);
          }
        });
    NvmlSample sample = kept[0];
    assertEquals(111_005, sample.value(NvmlMetric.POWER_MILLIWATTS));
    assertEquals(
        new NvmlReading.Failed<>(NvmlResult.GPU_IS_LOST), sample.reading(NvmlMetric.GPU_PERCENT));
    assertInstanceOf(NvmlReading.Denied.class, sample.reading(NvmlMetric.SM_CLOCK_MEGAHERTZ));
    assertInstanceOf(NvmlReading.Absent.class, sample.reading(NvmlMetric.VIDEO_CLOCK_MEGAHERTZ));
    assertEquals(5, sample.errors(NvmlMetric.GPU_PERCENT));
    assertEquals(0, sample.errors(NvmlMetric.SM_CLOCK_MEGAHERTZ));
    assertEquals(0, sample.errors(NvmlMetric.VIDEO_CLOCK_MEGAHERTZ));
    assertThrows(
        java.util.NoSuchElementException.class, () -> sample.value(NvmlMetric.GPU_PERCENT));
  }

  @Test
  void isFailingWhenNoMetricHasAValue() throws Exception {
    CountDownLatch two = new CountDownLatch(2);
    AtomicInteger code = new AtomicInteger();
    NvmlSampleSource source =
        fast(
            into -> {
              for (NvmlMetric metric : NvmlMetric.values()) {
                into.put(metric, code.get(), 7);
              }
              two.countDown();
            });
    try (NvmlSampler sampler = NvmlSampler.start(source, FAST_ONLY)) {
      assertTrue(two.await(10, TimeUnit.SECONDS));
      assertEquals(NvmlSamplerState.AVAILABLE, sampler.state());
      code.set(15);
      await(() -> sampler.state() == NvmlSamplerState.FAILING);
      code.set(0);
      await(() -> sampler.state() == NvmlSamplerState.AVAILABLE);
      sampler.close();
      assertEquals(NvmlSamplerState.CLOSED, sampler.state());
      assertTrue(sampler.latest().sequence() > 2);
    }
  }

  @Test
  void aSourceThatThrowsFailsEverythingAndIsAskedAgain() throws Exception {
    NvmlSampleSource source =
        fast(
            into -> {
              if (into.sequence() <= 2) {
                throw new IllegalStateException("scripted");
              }
              into.put(NvmlMetric.POWER_MILLIWATTS, 0, 77);
            });
    NvmlSamplerSettings quick =
        new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ZERO, "throws");
    try (NvmlSampler sampler = NvmlSampler.start(source, quick)) {
      await(() -> sampler.latest().has(NvmlMetric.POWER_MILLIWATTS));
      assertEquals(2, sampler.latest().errors(NvmlMetric.POWER_MILLIWATTS));
    }
  }

  @Test
  void anErrorEndsNeitherCadence() throws Exception {
    NvmlSampleSource source =
        new NvmlSampleSource() {
          @Override
          public void sample(NvmlSample into) {
            if (into.sequence() <= 2) {
              throw new LinkageError("scripted");
            }
            into.put(NvmlMetric.POWER_MILLIWATTS, 0, 77);
          }

          @Override
          public void sampleSlow(NvmlSample into) {
            if (into.sequence() <= 2) {
              throw new StackOverflowError("scripted");
            }
            into.put(NvmlMetric.ACTIVE_NVLINKS, 0, 18);
          }
        };
    NvmlSamplerSettings quick =
        new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ofMillis(10), "errors");
    AtomicInteger bad = new AtomicInteger();
    try (NvmlSampler sampler = NvmlSampler.start(source, quick)) {
      sampler.addListener(
          sample -> {
            bad.incrementAndGet();
            throw new AssertionError("scripted");
          });
      await(() -> sampler.latest().has(NvmlMetric.POWER_MILLIWATTS));
      await(() -> sampler.latest().has(NvmlMetric.ACTIVE_NVLINKS));
      long sequence = sampler.latest().sequence();
      await(() -> sampler.latest().sequence() > sequence + 3);
      assertEquals(1, bad.get());
      assertEquals(NvmlSamplerState.AVAILABLE, sampler.state());
      assertEquals(2, sampler.latest().errors(NvmlMetric.POWER_MILLIWATTS));
    }
  }

  @Test
  void aListenerThatThrowsIsToldNoMore() throws Exception {
    AtomicInteger bad = new AtomicInteger();
    AtomicInteger good = new AtomicInteger();
    AtomicInteger gone = new AtomicInteger();
    NvmlSampleListener removed = sample -> gone.incrementAndGet();
    NvmlSamplerSettings quick =
        new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ZERO, "listeners");
    try (NvmlSampler sampler = NvmlSampler.start(fast(into -> {}), quick)) {
      sampler.addListener(removed);
      sampler.removeListener(removed);
      sampler.addListener(
          sample -> {
            bad.incrementAndGet();
            throw new IllegalStateException("scripted");
          });
      sampler.addListener(sample -> good.incrementAndGet());
      await(() -> good.get() > 5);
      // The sample that was being told at its removal is over by now.
      int told = gone.get();
      await(() -> good.get() > 10);
      assertEquals(told, gone.get());
      assertEquals(1, bad.get());
    }
  }

  @Test
  void aListenerMayCloseTheSampler() throws Exception {
    NvmlSamplerSettings quick =
        new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ZERO, "closing");
    try (NvmlSampler sampler = NvmlSampler.start(fast(into -> {}), quick)) {
      sampler.addListener(sample -> sampler.close());
      await(sampler::isClosed);
    }
  }

  @Test
  void closesTwiceAndEndsItsThreads() throws Exception {
    NvmlSamplerSettings both =
        new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ofMillis(20), "ending");
    NvmlSampler sampler = NvmlSampler.start(fast(into -> {}), both);
    assertEquals(2, threads("ending"));
    sampler.close();
    sampler.close();
    assertEquals(0, threads("ending"));
  }

  @Test
  void closingDoesNotWaitForTheRestOfThePeriod() {
    NvmlSamplerSettings slow =
        new NvmlSamplerSettings(Duration.ofSeconds(10), Duration.ofHours(1), "long");
    NvmlSampler sampler = NvmlSampler.start(fast(into -> {}), slow);
    long begin = System.nanoTime();
    sampler.close();
    assertTrue(System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(5));
  }

  @Test
  void slowMetricsHaveACadenceOfTheirOwnAndDoNotDelayTheOthers() throws Exception {
    NvmlSampleSource source =
        new NvmlSampleSource() {
          @Override
          public void sample(NvmlSample into) {
            into.put(NvmlMetric.POWER_MILLIWATTS, 0, 5);
            into.put(NvmlMetric.MEMORY_TOTAL_BYTES, 3, 0);
          }

          @Override
          public void sampleSlow(NvmlSample into) {
            into.put(NvmlMetric.PCIE_SENT_KILOBYTES_PER_SECOND, 0, 4711);
            into.put(NvmlMetric.MEMORY_TOTAL_BYTES, 0, 1L << 37);
            java.util.concurrent.locks.LockSupport.parkNanos(300_000_000L);
          }
        };
    NvmlSamplerSettings both =
        new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ofMillis(100), "slow");
    try (NvmlSampler sampler = NvmlSampler.start(source, both)) {
      assertInstanceOf(
          NvmlReading.Failed.class,
          sampler.latest().reading(NvmlMetric.PCIE_SENT_KILOBYTES_PER_SECOND));
      await(() -> sampler.latest().has(NvmlMetric.PCIE_SENT_KILOBYTES_PER_SECOND));
      NvmlSample sample = sampler.latest();
      assertEquals(4711, sample.value(NvmlMetric.PCIE_SENT_KILOBYTES_PER_SECOND));
      assertEquals(1L << 37, sample.value(NvmlMetric.MEMORY_TOTAL_BYTES));
      assertEquals(NvmlMemorySource.OPERATING_SYSTEM, sample.memorySource());
      assertTrue(sample.sequence() >= 10, "fast samples: " + sample.sequence());
    }
  }

  @ParameterizedTest
  @CsvSource({"9, 1000", "10001, 20000", "100, 99", "100, 3600001"})
  void refusesPeriodsOutOfRange(long periodMillis, long slowMillis) {
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new NvmlSamplerSettings(
                Duration.ofMillis(periodMillis), Duration.ofMillis(slowMillis), "x"));
  }

  @Test
  void takesPeriodsAtTheEndsOfTheRange() {
    new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ofMillis(10), "x");
    new NvmlSamplerSettings(Duration.ofSeconds(10), Duration.ofHours(1), "x");
    assertEquals(Duration.ofMillis(100), NvmlSamplerSettings.standard("x").period());
    assertThrows(IllegalArgumentException.class, () -> NvmlSamplerSettings.standard(" "));
  }

  private static NvmlSample copy(NvmlSample sample) {
    long[] words = new long[NvmlSample.WORDS];
    sample.store(words);
    NvmlSample out = new NvmlSample();
    out.load(words, words);
    return out;
  }

  private static long threads(String name) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().endsWith("-" + name))
        .count();
  }

  /** One sample may be missing: the next may be late. Two are a call that does not return. */
  @Test
  void saysThatSamplesAreOverdue() {
    NvmlSamplerSettings settings =
        new NvmlSamplerSettings(PERIOD, Duration.ofMillis(1000), "overdue");
    NvmlSampling sampling = new NvmlSampling(fast(into -> {}), settings, clock);
    NvmlSample read = new NvmlSample();
    clock.pass(Duration.ofMillis(300).toNanos());
    sampling.read(read);
    assertFalse(read.isOverdue());
    clock.pass(1);
    sampling.read(read);
    assertTrue(read.isOverdue());
    assertFalse(read.isSlowOverdue());
    assertEquals(NvmlSamplerState.OVERDUE, sampling.state());
    sampling.sample();
    sampling.read(read);
    assertFalse(read.isOverdue());
    clock.pass(Duration.ofMillis(2700).toNanos());
    sampling.read(read);
    assertTrue(read.isOverdue());
    assertTrue(read.isSlowOverdue());
    sampling.sampleSlow();
    sampling.read(read);
    assertFalse(read.isSlowOverdue());
    sampling.end();
    sampling.sample();
    sampling.read(read);
    assertEquals(1, read.sequence());
    assertFalse(read.isOverdue());
  }

  static void await(java.util.function.BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!condition.getAsBoolean()) {
      assertFalse(System.nanoTime() - deadline > 0, "did not come true in 20 s");
      java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
    }
  }
}
