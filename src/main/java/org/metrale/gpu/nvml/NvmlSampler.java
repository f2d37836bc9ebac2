package org.metrale.gpu.nvml;

import com.google.errorprone.annotations.MustBeClosed;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.DaemonThread;
import org.metrale.gpu.NativeResource;

/**
 * Samples a device at a fixed rate on a thread of its own.
 *
 * <p>What takes long to ask (PCIe throughput, NVLinks, processes) has a second thread and a slower
 * cadence. A sample of everything else crosses into native code once and allocates nothing. One
 * metric that fails leaves the others alone; failures are counted by metric. A sample that is late
 * is followed by the next a full period later: nothing is made up for.
 *
 * <p>Samples also go to Java Flight Recorder as {@code org.metrale.gpu.NvmlSample}, when it records
 * them.
 *
 * <p><b>Threading:</b> safe for any number of threads; readers never block and never see parts of
 * two samples. Closing waits until the sampler's threads have ended, a while at most. A call of
 * NVML that does not return keeps the sampler's thread: samples then say that they are overdue.
 */
public final class NvmlSampler extends NativeResource {
  private final NvmlSamplerSettings settings;
  private final NvmlSampling sampling;

  /** How long a close waits for a sample that is being taken. */
  private final Duration drainTimeout;

  private final NvmlCadence fast;
  private final NvmlCadence slow;
  private final Thread fastThread;
  private final Thread slowThread;

  private NvmlSampler(
      NvmlSampleSource source,
      NvmlSamplerSettings settings,
      NvmlSamplerClock clock,
      Duration drainTimeout,
      NativeResource... needs) {
    super(needs);
    this.settings = settings;
    this.drainTimeout = drainTimeout;
    sampling = new NvmlSampling(source, settings, clock);
    fast = new NvmlCadence(clock, settings.period().toNanos(), sampling::sample, sampling::failed);
    fastThread = new DaemonThread(fast, "nvml-sampler-" + settings.name());
    if (settings.slowPeriod().isZero()) {
      slow = null;
      slowThread = null;
    } else {
      slow =
          new NvmlCadence(
              clock, settings.slowPeriod().toNanos(), sampling::sampleSlow, sampling::slowFailed);
      slowThread = new DaemonThread(slow, "nvml-sampler-slow-" + settings.name());
    }
  }

  /**
   * Begins to sample a device.
   *
   * @param device the device
   * @param settings how often
   * @return the sampler, to be closed before the device's session
   * @throws IllegalStateException if the session is closed
   */
  @MustBeClosed
  public static NvmlSampler start(NvmlDevice device, NvmlSamplerSettings settings) {
    NvmlSampler sampler =
        new NvmlSampler(
            new NvmlDeviceSource(device),
            settings,
            NvmlSamplerClock.SYSTEM,
            device.session().drainTimeout().plusSeconds(1), // its own calls end first
            device.session());
    sampler.run();
    return sampler;
  }

  /**
   * Begins to sample whatever a source gives, for example a script.
   *
   * @param source where samples come from
   * @param settings how often
   * @return the sampler, to be closed
   */
  @MustBeClosed
  public static NvmlSampler start(NvmlSampleSource source, NvmlSamplerSettings settings) {
    return start(source, settings, NvmlSamplerClock.SYSTEM);
  }

  @MustBeClosed
  static NvmlSampler start(
      NvmlSampleSource source, NvmlSamplerSettings settings, NvmlSamplerClock clock) {
    Objects.requireNonNull(source, "source");
    NvmlSampler sampler =
        new NvmlSampler(source, settings, clock, NvmlOptions.defaults().callTimeout());
    sampler.run();
    return sampler;
  }

  /**
   * Copies the latest sample. Allocates nothing if the thread has done it before; never blocks.
   * Works after closing too.
   *
   * @param into receives the sample
   */
  public void read(NvmlSample into) {
    sampling.read(into);
  }

  /**
   * The latest sample.
   *
   * @return a copy
   */
  public NvmlSample latest() {
    NvmlSample out = new NvmlSample();
    sampling.read(out);
    return out;
  }

  /**
   * How the sampler fares.
   *
   * @return available only if the last sample has a value and is not overdue
   */
  public NvmlSamplerState state() {
    return isClosed() ? NvmlSamplerState.CLOSED : sampling.state();
  }

  /**
   * How it samples.
   *
   * @return the settings it was started with
   */
  public NvmlSamplerSettings settings() {
    return settings;
  }

  /**
   * Tells somebody of every sample from now on. One that throws is logged and told no more.
   *
   * @param listener is called on the sampler's thread
   */
  public void addListener(NvmlSampleListener listener) {
    sampling.addListener(Objects.requireNonNull(listener, "listener"));
  }

  /**
   * Tells somebody no more.
   *
   * @param listener one that was added; another one is left alone
   */
  public void removeListener(NvmlSampleListener listener) {
    sampling.removeListener(listener);
  }

  /**
   * Ends the sampling.
   *
   * <p><b>Blocking:</b> for a sample that is being taken, a little longer than {@link
   * NvmlOptions#callTimeout()} at most.
   *
   * @throws NvmlException if that sample does not end; its thread is left behind and publishes
   *     nothing any more
   */
  @Override
  protected void free() {
    fast.stop();
    if (slow != null) {
      slow.stop();
    }
    long deadline = System.nanoTime() + Backoff.nanos(drainTimeout);
    boolean ended = end(fastThread, deadline);
    ended &= slowThread == null || end(slowThread, deadline);
    sampling.end();
    if (!ended) {
      throw NvmlException.unfinished(
          "nvmlDeviceGetPowerUsage",
          "or another of a sample, " + this + " elapsed=" + drainTimeout);
    }
  }

  @Override
  public String toString() {
    return "NVML sampler " + settings.name();
  }

  private void run() {
    try {
      fastThread.start();
      if (slowThread != null) {
        slowThread.start();
      }
    } catch (OutOfMemoryError e) {
      close();
      throw e;
    }
  }

  /** Waits for a thread to end, unless a listener closes the sampler from that very thread. */
  private static boolean end(Thread thread, long deadline) {
    LockSupport.unpark(thread);
    if (thread == Thread.currentThread()) {
      return true;
    }
    boolean interrupted = false;
    long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
    while (thread.isAlive() && left > 0) {
      try {
        thread.join(left);
      } catch (InterruptedException e) {
        // The thread uses what is freed next, so it has to end first.
        interrupted = true;
      }
      left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return !thread.isAlive();
  }
}
