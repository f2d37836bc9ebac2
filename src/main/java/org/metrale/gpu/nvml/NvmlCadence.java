package org.metrale.gpu.nvml;

import java.util.function.Consumer;

/**
 * Runs a step at a fixed rate, start to start, until it is stopped. A step that fails, in whatever
 * way, is told and does not end it.
 */
final class NvmlCadence implements Runnable {
  private final NvmlSamplerClock clock;
  private final long periodNanos;
  private final Runnable step;
  private final Consumer<Throwable> failed;
  private volatile boolean stopped;

  NvmlCadence(NvmlSamplerClock clock, long periodNanos, Runnable step, Consumer<Throwable> failed) {
    this.clock = clock;
    this.periodNanos = periodNanos;
    this.step = step;
    this.failed = failed;
  }

  @Override
  public void run() {
    long next = clock.nanoTime();
    while (!stopped) {
      try {
        step.run();
      } catch (RuntimeException | Error e) {
        failed.accept(e);
      }
      next = after(next, clock.nanoTime(), periodNanos);
      long left = next - clock.nanoTime();
      while (left > 0 && !stopped) {
        clock.park(left);
        left = next - clock.nanoTime();
      }
    }
  }

  void stop() {
    stopped = true;
  }

  /**
   * When the step that follows one planned for {@code start} is due: late ones are not made up for.
   */
  static long after(long start, long now, long periodNanos) {
    long next = start + periodNanos;
    return next - now >= 0 ? next : now + periodNanos;
  }
}
