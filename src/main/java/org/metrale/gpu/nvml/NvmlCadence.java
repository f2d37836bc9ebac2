package org.metrale.gpu.nvml;

/** Runs a step at a fixed rate, start to start, until it is stopped. */
final class NvmlCadence implements Runnable {
  private final NvmlSamplerClock clock;
  private final long periodNanos;
  private final Runnable step;
  private volatile boolean stopped;

  NvmlCadence(NvmlSamplerClock clock, long periodNanos, Runnable step) {
    this.clock = clock;
    this.periodNanos = periodNanos;
    this.step = step;
  }

  @Override
  public void run() {
    long next = clock.nanoTime();
    while (!stopped) {
      step.run();
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
