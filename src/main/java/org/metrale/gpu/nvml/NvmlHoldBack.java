package org.metrale.gpu.nvml;

/** What holds clocks back. The order is NVML's. */
public enum NvmlHoldBack {
  /** The power limit. */
  POWER,

  /** The temperature. */
  THERMAL,

  /** A slower device of the same group. */
  SYNC_BOOST,

  /** A limit of the board, for example of its voltage. */
  BOARD_LIMIT,

  /** Too little to do. */
  LOW_UTILIZATION,

  /** The voltage that the part may have for its life. */
  RELIABILITY;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
