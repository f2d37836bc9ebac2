package org.metrale.gpu.nvml;

/** Since when memory errors are counted. The order is NVML's. */
public enum NvmlEccCounter {
  /** Since the driver was loaded. */
  VOLATILE,

  /** Over the device's life. */
  AGGREGATE;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
