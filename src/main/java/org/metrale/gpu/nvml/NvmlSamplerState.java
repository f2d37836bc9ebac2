package org.metrale.gpu.nvml;

/** How a sampler fares. */
public enum NvmlSamplerState {
  /** No sample has been taken yet. */
  STARTING,

  /** The last sample has at least one value. */
  AVAILABLE,

  /** The last sample has no value at all, as when the device is lost. */
  FAILING,

  /** A sample has been due for two periods and has not come: a call of NVML does not return. */
  OVERDUE,

  /** The sampler is closed; its last sample can still be read. */
  CLOSED
}
