package org.metrale.gpu.nvml;

/** Who said how much memory there is. */
public enum NvmlMemorySource {
  /** NVML. */
  NVML,

  /** CUDA, because NVML did not tell. */
  CUDA,

  /** The operating system, because the device uses the host's memory. */
  OPERATING_SYSTEM
}
