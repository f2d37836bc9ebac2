package org.metrale.gpu.nvml;

import java.util.concurrent.locks.LockSupport;

/** The time as a sampler sees it; a test has one that does not wait. */
interface NvmlSamplerClock {
  /** The clock of the machine. */
  NvmlSamplerClock SYSTEM =
      new NvmlSamplerClock() {
        @Override
        public long nanoTime() {
          return System.nanoTime();
        }

        @Override
        public long epochMillis() {
          return System.currentTimeMillis();
        }

        @Override
        public void park(long nanos) {
          LockSupport.parkNanos(this, nanos);
        }
      };

  long nanoTime();

  long epochMillis();

  /** Waits about that long, or less, or until the thread is unparked. */
  void park(long nanos);
}
