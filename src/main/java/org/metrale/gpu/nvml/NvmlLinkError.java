package org.metrale.gpu.nvml;

/** Errors of an NVLink. The order is NVML's. */
public enum NvmlLinkError {
  /** Sent again. */
  REPLAY,

  /** Recovered after an error. */
  RECOVERY,

  /** Wrong checksum of a flow control unit. */
  CRC_FLIT,

  /** Wrong checksum of data. */
  CRC_DATA,

  /** Memory errors of the link. */
  ECC_DATA;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
