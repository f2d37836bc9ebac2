package org.metrale.gpu.nvml;

/** Which memory errors. The order is NVML's. */
public enum NvmlEccError {
  /** Errors that were corrected. */
  CORRECTED,

  /** Errors that were only found. */
  UNCORRECTED
}
