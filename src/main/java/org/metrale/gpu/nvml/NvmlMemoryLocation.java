package org.metrale.gpu.nvml;

/** Where memory errors are counted. The order is NVML's. */
public enum NvmlMemoryLocation {
  /** The first-level cache. */
  L1_CACHE,

  /** The second-level cache. */
  L2_CACHE,

  /** The device's memory. */
  DEVICE_MEMORY,

  /** The registers. */
  REGISTER_FILE,

  /** The texture memory. */
  TEXTURE_MEMORY,

  /** What texture and shared memory have in common. */
  TEXTURE_SHARED,

  /** The unit for branches. */
  CBU,

  /** All memory on the chip. */
  SRAM;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
