package org.metrale.gpu.nvml;

/** Hands out what a sampler asks a device with, without its thread. */
public final class DeviceSampling {
  private DeviceSampling() {}

  /** What takes one sample of that device. */
  public static NvmlSampleSource of(NvmlDevice device) {
    return new NvmlDeviceSource(device);
  }
}
