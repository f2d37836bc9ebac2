package org.metrale.gpu.nvml;

/** A codec of the video encoders. The order is NVML's. */
public enum NvmlCodec {
  /** H.264. */
  H264,

  /** H.265. */
  HEVC,

  /** AV1. */
  AV1;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
