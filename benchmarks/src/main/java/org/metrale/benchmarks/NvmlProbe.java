package org.metrale.benchmarks;

import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.nvml.DeviceSampling;
import org.metrale.gpu.nvml.Nvml;
import org.metrale.gpu.nvml.NvmlSample;
import org.metrale.gpu.nvml.NvmlSampleSource;

/**
 * What a sampler's full sample costs on the first device: the driver behind NVML is nearly all of
 * it. Part of the hardware kit: uses nothing but the library.
 */
final class NvmlProbe {
  /** Samples that are timed together. */
  private static final int SAMPLES = 100;

  private NvmlProbe() {}

  public static void main(String[] arguments) {
    double[] nanos = new double[Setting.childPace().repeats()];
    try (Nvml session = Nvml.open()) {
      NvmlSampleSource source = DeviceSampling.of(session.device(0));
      NvmlSample sample = new NvmlSample();
      // The first repeat warms up.
      for (int i = -1; i < nanos.length; i++) {
        long begin = System.nanoTime();
        for (int at = 0; at < SAMPLES; at++) {
          source.sample(sample);
        }
        if (i >= 0) {
          nanos[i] = (double) (System.nanoTime() - begin) / SAMPLES;
        }
      }
    }
    Probe.say(
        "full NVML sample of a device", "checked", Level.of(NativeLibrary.NVML), "ns/op", nanos);
    Runtime.getRuntime().halt(0);
  }
}
