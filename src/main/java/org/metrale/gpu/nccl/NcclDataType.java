package org.metrale.gpu.nccl;

/** The type of the elements that an operation moves. */
public enum NcclDataType {
  /** Signed, 8 bits. */
  INT8(0, 0),
  /** Unsigned, 8 bits; also for bytes of anything that is only moved. */
  UINT8(1, 0),
  /** Signed, 32 bits. */
  INT32(2, 2),
  /** Unsigned, 32 bits. */
  UINT32(3, 2),
  /** Signed, 64 bits. */
  INT64(4, 3),
  /** Unsigned, 64 bits. */
  UINT64(5, 3),
  /** IEEE half precision. */
  FLOAT16(6, 1),
  /** IEEE single precision. */
  FLOAT32(7, 2),
  /** IEEE double precision. */
  FLOAT64(8, 3),
  /** The upper half of a single. */
  BFLOAT16(9, 1),
  /** Eight bits, four of exponent; NCCL 2.24 and later. */
  FLOAT8_E4M3(10, 0),
  /** Eight bits, five of exponent; NCCL 2.24 and later. */
  FLOAT8_E5M2(11, 0);

  private final int code;
  private final int shift;

  NcclDataType(int code, int shift) {
    this.code = code;
    this.shift = shift;
  }

  /**
   * NCCL's number for the type.
   *
   * @return an {@code ncclDataType_t}
   */
  public int code() {
    return code;
  }

  /**
   * The size of one element.
   *
   * @return 1, 2, 4 or 8
   */
  public int bytes() {
    return 1 << shift;
  }

  /** The power of two that {@link #bytes()} is. */
  int shift() {
    return shift;
  }

  static String name(int code) {
    return code >= 0 && code < values().length ? values()[code].name() : "type " + code;
  }
}
