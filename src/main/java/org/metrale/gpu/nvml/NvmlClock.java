package org.metrale.gpu.nvml;

/** Which clock. The order is NVML's. */
public enum NvmlClock {
  /** Of the graphics engine. */
  GRAPHICS,

  /** Of the streaming multiprocessors. */
  SM,

  /** Of the memory. */
  MEMORY,

  /** Of the video engines. */
  VIDEO;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
