package org.metrale.gpu.nvml;

/** Which memory errors. The order is NVML's. */
public enum NvmlEccError {
  /** Errors that were corrected. */
  CORRECTED,

  /** Errors that were only found. */
  UNCORRECTED;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
