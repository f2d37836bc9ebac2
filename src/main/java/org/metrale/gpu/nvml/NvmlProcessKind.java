package org.metrale.gpu.nvml;

/** Which processes. The order is that of the flat call. */
public enum NvmlProcessKind {
  /** Those that compute. */
  COMPUTE,

  /** Those that draw. */
  GRAPHICS,

  /** Those that compute through the multi-process service. */
  MPS;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
