package org.metrale.gpu.nvml;

/** Since when memory errors are counted. The order is NVML's. */
public enum NvmlEccCounter {
  /** Since the driver was loaded. */
  VOLATILE,

  /** Over the device's life. */
  AGGREGATE
}
