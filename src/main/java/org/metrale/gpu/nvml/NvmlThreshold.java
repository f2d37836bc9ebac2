package org.metrale.gpu.nvml;

/** What happens at a temperature. The order is NVML's. */
public enum NvmlThreshold {
  /** The device shuts itself down. */
  SHUTDOWN,

  /** The hardware slows the device down. */
  SLOWDOWN,

  /** The memory's limit: the driver slows the device down. */
  MEMORY_MAX,

  /** The GPU's limit: the driver slows the device down. */
  GPU_MAX,

  /** The least that the target for quietness may be set to. */
  ACOUSTIC_MIN,

  /** The target for quietness. */
  ACOUSTIC_CURRENT,

  /** The most that the target for quietness may be set to. */
  ACOUSTIC_MAX,

  /** The target of the platform's own regulation. */
  GPS_CURRENT;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
