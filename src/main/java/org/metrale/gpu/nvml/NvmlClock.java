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
  VIDEO
}
