package org.metrale.gpu.wire;

import java.nio.ByteBuffer;

/**
 * What a client asks of a paging cache.
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
public record PagingOp(int code) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 1;

  /** The client leaves; there is no reply. */
  public static final PagingOp BYE = new PagingOp(0);

  /** Reserve a slot for a key; the reply has its offset. */
  public static final PagingOp ALLOC = new PagingOp(1);

  /** What was written into the key's slot is complete. */
  public static final PagingOp COMMIT = new PagingOp(2);

  /** Where a key's slot is; the reply has its offset and pins it. */
  public static final PagingOp GET = new PagingOp(3);

  /** Forget a key. */
  public static final PagingOp REMOVE = new PagingOp(4);

  /**
   * Checks that the code fits its byte.
   *
   * @param code the byte, 0 to 255, known or not
   * @throws IllegalArgumentException if it is not 0 to 255
   */
  public PagingOp {
    if (code < 0 || code > 255) {
      throw new IllegalArgumentException("op: wanted 0 to 255, got " + code);
    }
  }

  /**
   * The paging operation of exactly the remaining byte.
   *
   * @param whole the paging operation; its position is left alone
   * @return the paging operation, known or not
   * @throws WireFormatException if there is not exactly one byte
   */
  public static PagingOp decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    PagingOp value = new PagingOp(in.u8("op"));
    in.end("paging operation");
    return value;
  }

  /**
   * The paging operation's byte.
   *
   * @return a new buffer of one byte, ready to be read
   */
  public ByteBuffer encode() {
    return new WireWriter(BYTES).u8(code).message();
  }

  /**
   * The paging operation's name.
   *
   * @return the name, or a text that holds the number
   */
  @Override
  public String toString() {
    return switch (code) {
      case 0 -> "BYE";
      case 1 -> "ALLOC";
      case 2 -> "COMMIT";
      case 3 -> "GET";
      case 4 -> "REMOVE";
      default -> "PagingOp(" + code + ")";
    };
  }
}
