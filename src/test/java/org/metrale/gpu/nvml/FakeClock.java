package org.metrale.gpu.nvml;

import java.util.concurrent.atomic.AtomicLong;

/** A clock that does not wait: parking is the passing of time. */
final class FakeClock implements NvmlSamplerClock {
  private final AtomicLong now = new AtomicLong(5_000_000_000L);

  @Override
  public long nanoTime() {
    return now.get();
  }

  @Override
  public long epochMillis() {
    return now.get() / 1_000_000;
  }

  @Override
  public void park(long nanos) {
    now.addAndGet(nanos);
  }

  void pass(long nanos) {
    now.addAndGet(nanos);
  }
}
