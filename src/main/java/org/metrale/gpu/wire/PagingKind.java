package org.metrale.gpu.wire;

import java.nio.ByteBuffer;

/**
 * What a cache holds.
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
public record PagingKind(int code) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 1;

  /** State snapshots. */
  public static final PagingKind SSM = new PagingKind(0);

  /** Key-value blocks. */
  public static final PagingKind KV = new PagingKind(1);

  /**
   * Checks that the code fits its byte.
   *
   * @param code the byte, 0 to 255, known or not
   * @throws IllegalArgumentException if it is not 0 to 255
   */
  public PagingKind {
    if (code < 0 || code > 255) {
      throw new IllegalArgumentException("kind: wanted 0 to 255, got " + code);
    }
  }

  /**
   * The paging kind of exactly the remaining byte.
   *
   * @param whole the paging kind; its position is left alone
   * @return the paging kind, known or not
   * @throws WireFormatException if there is not exactly one byte
   */
  public static PagingKind decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    PagingKind value = new PagingKind(in.u8("kind"));
    in.end("paging kind");
    return value;
  }

  /**
   * The paging kind's byte.
   *
   * @return a new buffer of one byte, ready to be read
   */
  public ByteBuffer encode() {
    return new WireWriter(BYTES).u8(code).message();
  }

  /**
   * The paging kind's name.
   *
   * @return the name, or a text that holds the number
   */
  @Override
  public String toString() {
    return switch (code) {
      case 0 -> "SSM";
      case 1 -> "KV";
      default -> "PagingKind(" + code + ")";
    };
  }
}
