package org.metrale.tools;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.metrale.gpu.rail.ConnectedRails;
import org.metrale.gpu.rail.RailException;
import org.metrale.gpu.rail.RailMemory;
import org.metrale.gpu.rail.RailTarget;
import org.metrale.gpu.rail.RailTransfer;
import org.metrale.gpu.rail.TransferTerms;

/** Measures transfers of one length as perftest measures messages. */
final class RailBench {
  /** How much of this side's memory is used by turns, so that not all is in a cache. */
  static final long MOST_MEMORY_BYTES = 64L << 20;

  /** Beyond, the peak would take longer to compute than the transfers; perftest's limit. */
  private static final int MOST_FOR_PEAK = 20_000;

  private static final double MIB = 1 << 20;

  private final ConnectedRails connected;
  private final RailMemory memory;
  private final boolean writes;
  private final Duration timeout;

  RailBench(RailSession session, boolean writes, Duration timeout) {
    this.connected = session.connected();
    this.memory = session.memory();
    this.writes = writes;
    this.timeout = timeout;
  }

  /**
   * Bandwidth, in perftest's units: MB is 2^20 bytes.
   *
   * @param peak the best rate between two points of the run; 0 if it was not computed
   */
  record Bandwidth(
      long bytes, int iterations, double peak, double average, double millionsPerSecond) {}

  /** Latency in microseconds, from the call to its return. */
  record Latency(
      long bytes,
      int iterations,
      double least,
      double most,
      double typical,
      double average,
      double deviation,
      double percentile99,
      double percentile999) {}

  /** Many transfers at a time. */
  Bandwidth bandwidth(long bytes, int iterations, int atOnce)
      throws ToolException, InterruptedException {
    Semaphore room = new Semaphore(atOnce);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    long[] posted = new long[iterations];
    long[] completed = new long[iterations];
    for (int i = 0; i < iterations && failure.get() == null; i++) {
      acquire(room, 1);
      int number = i;
      posted[i] = System.nanoTime();
      begin(i, bytes)
          .stage()
          .whenComplete(
              (nothing, problem) -> {
                completed[number] = System.nanoTime();
                if (problem != null) {
                  failure.compareAndSet(null, problem);
                }
                room.release();
              });
    }
    acquire(room, atOnce);
    if (failure.get() != null) {
      throw new ToolException(failure.get().getMessage(), failure.get());
    }
    Arrays.sort(completed);
    double seconds = (completed[iterations - 1] - posted[0]) / 1e9;
    double perSecond = iterations / seconds;
    return new Bandwidth(
        bytes,
        iterations,
        iterations > MOST_FOR_PEAK ? 0 : peak(posted, completed) * bytes / MIB,
        perSecond * bytes / MIB,
        perSecond / 1e6);
  }

  /** The most transfers a second between any posting and any completion after it. */
  static double peak(long[] posted, long[] completed) {
    double leastNanos = Double.MAX_VALUE;
    for (int i = 0; i < posted.length; i++) {
      for (int j = i; j < posted.length; j++) {
        leastNanos = Math.min(leastNanos, (double) (completed[j] - posted[i]) / (j - i + 1));
      }
    }
    return 1e9 / leastNanos;
  }

  private void acquire(Semaphore room, int permits) throws ToolException, InterruptedException {
    long millis = timeout.multipliedBy(2).toMillis();
    if (!room.tryAcquire(permits, millis, TimeUnit.MILLISECONDS)) {
      throw new ToolException("a transfer outlived its deadline");
    }
  }

  private long localOffset(int number, long bytes) {
    return number % (memory.lengthBytes() / bytes) * bytes;
  }

  private RailTransfer begin(int number, long bytes) {
    RailTarget target = new RailTarget(0, 0);
    TransferTerms terms = TransferTerms.within(timeout);
    long offset = localOffset(number, bytes);
    return writes
        ? connected.writeAsync(memory, offset, target, bytes, terms)
        : connected.readAsync(memory, offset, target, bytes, terms);
  }

  /** One transfer after the other. */
  Latency latency(long bytes, int iterations) throws ToolException, InterruptedException {
    RailTarget target = new RailTarget(0, 0);
    double[] micros = new double[iterations];
    try {
      for (int i = 0; i < iterations; i++) {
        long offset = localOffset(i, bytes);
        long start = System.nanoTime();
        if (writes) {
          connected.write(memory, offset, target, bytes, timeout);
        } else {
          connected.read(memory, offset, target, bytes, timeout);
        }
        micros[i] = (System.nanoTime() - start) / 1e3;
      }
    } catch (RailException e) {
      throw new ToolException(e.getMessage(), e);
    }
    return summary(bytes, micros);
  }

  static Latency summary(long bytes, double[] micros) {
    double[] sorted = micros.clone();
    Arrays.sort(sorted);
    int n = sorted.length;
    double average = Arrays.stream(sorted).average().orElseThrow();
    double squares = Arrays.stream(sorted).map(x -> (x - average) * (x - average)).sum();
    return new Latency(
        bytes,
        n,
        sorted[0],
        sorted[n - 1],
        sorted[n / 2],
        average,
        Math.sqrt(squares / n),
        percentile(sorted, 0.99),
        percentile(sorted, 0.999));
  }

  private static double percentile(double[] sorted, double share) {
    return sorted[Math.min(sorted.length - 1, (int) Math.ceil(sorted.length * share))];
  }
}
