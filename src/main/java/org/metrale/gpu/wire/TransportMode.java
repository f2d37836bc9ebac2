package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.Set;

/**
 * How a client wants to be served, told after a manifest.
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
public record TransportMode(int code) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 1;

  /**
   * Over the stream itself; the expert service only. What is said there after this byte is no part
   * of this package: no description of those bytes is known.
   */
  public static final TransportMode TCP = new TransportMode(0);

  /** Over rails. */
  public static final TransportMode VERBS = new TransportMode(1);

  /**
   * Checks that the code fits its byte.
   *
   * @param code the byte, 0 to 255, known or not
   * @throws IllegalArgumentException if it is not 0 to 255
   */
  public TransportMode {
    if (code < 0 || code > 255) {
      throw new IllegalArgumentException("mode: wanted 0 to 255, got " + code);
    }
  }

  /**
   * The transport mode of exactly the remaining byte.
   *
   * @param whole the transport mode; its position is left alone
   * @return the transport mode, known or not
   * @throws WireFormatException if there is not exactly one byte
   */
  public static TransportMode decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    TransportMode value = new TransportMode(in.u8("mode"));
    in.end("transport mode");
    return value;
  }

  /**
   * This mode, if it is served.
   *
   * @param served the modes that the service offers
   * @return this
   * @throws WireFormatException with {@link WireFormatException.Kind#MODE_UNKNOWN} if it is not one
   *     of them
   */
  public TransportMode require(Set<TransportMode> served) throws WireFormatException {
    if (!served.contains(this)) {
      throw WireFormatException.of(
          WireFormatException.Kind.MODE_UNKNOWN, "mode", "one of " + served, toString());
    }
    return this;
  }

  /**
   * The transport mode's byte.
   *
   * @return a new buffer of one byte, ready to be read
   */
  public ByteBuffer encode() {
    return new WireWriter(BYTES).u8(code).message();
  }

  /**
   * The transport mode's name.
   *
   * @return the name, or a text that holds the number
   */
  @Override
  public String toString() {
    return switch (code) {
      case 0 -> "TCP";
      case 1 -> "VERBS";
      default -> "TransportMode(" + code + ")";
    };
  }
}
