package org.metrale.gpu.wire;

import java.nio.ByteBuffer;

/**
 * How a paging cache answers.
 *
 * <pre>
 *   0    1
 *   +----+
 *   | u8 |
 *   +----+
 * </pre>
 *
 * @param code the byte, 0 to 255, known or not
 */
public record PagingStatus(int code) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 1;

  /** Done. */
  public static final PagingStatus OK = new PagingStatus(0);

  /** The key is not there; only in reply to {@link PagingOp#GET}. */
  public static final PagingStatus MISS = new PagingStatus(1);

  /** Failed, or the operation is unknown. */
  public static final PagingStatus ERR = new PagingStatus(2);

  /**
   * Checks that the code fits its byte.
   *
   * @param code the byte, 0 to 255, known or not
   * @throws IllegalArgumentException if it is not 0 to 255
   */
  public PagingStatus {
    if (code < 0 || code > 255) {
      throw new IllegalArgumentException("status: wanted 0 to 255, got " + code);
    }
  }

  /**
   * The paging status of exactly the remaining byte.
   *
   * @param whole the paging status; its position is left alone
   * @return the paging status, known or not
   * @throws WireFormatException if there is not exactly one byte
   */
  public static PagingStatus decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    PagingStatus value = new PagingStatus(in.u8("status"));
    in.end("paging status");
    return value;
  }

  /**
   * The paging status's byte.
   *
   * @return a new buffer of one byte, ready to be read
   */
  public ByteBuffer encode() {
    return new WireWriter(BYTES).u8(code).message();
  }

  /**
   * The paging status's name.
   *
   * @return the name, or a text that holds the number
   */
  @Override
  public String toString() {
    return switch (code) {
      case 0 -> "OK";
      case 1 -> "MISS";
      case 2 -> "ERR";
      default -> "PagingStatus(" + code + ")";
    };
  }
}
