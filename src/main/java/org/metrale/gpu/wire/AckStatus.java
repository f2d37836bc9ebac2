package org.metrale.gpu.wire;

import java.nio.ByteBuffer;

/**
 * How the server ends the rail handshake. Deployed servers only ever send {@link #OK} and close the
 * connection when something fails; any other value is a refusal.
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
public record AckStatus(int code) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 1;

  /** All rails can receive: start. */
  public static final AckStatus OK = new AckStatus(0);

  /** The server could not connect its side. */
  public static final AckStatus ERR = new AckStatus(1);

  /**
   * Checks that the code fits its byte.
   *
   * @param code the byte, 0 to 255, known or not
   * @throws IllegalArgumentException if it is not 0 to 255
   */
  public AckStatus {
    if (code < 0 || code > 255) {
      throw new IllegalArgumentException("ack: wanted 0 to 255, got " + code);
    }
  }

  /**
   * The acknowledgement of exactly the remaining byte.
   *
   * @param whole the acknowledgement; its position is left alone
   * @return the acknowledgement, known or not
   * @throws WireFormatException if there is not exactly one byte
   */
  public static AckStatus decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    AckStatus value = new AckStatus(in.u8("ack"));
    in.end("acknowledgement");
    return value;
  }

  /**
   * Whether the rails may be used.
   *
   * @return true for {@link #OK} alone
   */
  public boolean isOk() {
    return code == OK.code;
  }

  /**
   * The acknowledgement's byte.
   *
   * @return a new buffer of one byte, ready to be read
   */
  public ByteBuffer encode() {
    return new WireWriter(BYTES).u8(code).message();
  }

  /**
   * The acknowledgement's name.
   *
   * @return the name, or a text that holds the number
   */
  @Override
  public String toString() {
    return switch (code) {
      case 0 -> "OK";
      case 1 -> "ERR";
      default -> "AckStatus(" + code + ")";
    };
  }
}
