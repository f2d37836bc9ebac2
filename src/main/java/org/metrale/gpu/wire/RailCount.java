package org.metrale.gpu.wire;

import java.nio.ByteBuffer;

/**
 * How many rails a client asks for: the first byte of the rail handshake.
 *
 * <pre>
 *   0       1
 *   +-------+
 *   | count |
 *   +-------+
 * </pre>
 *
 * <p>Received counts stay as they are, 0 included: whether they can be served is the server's
 * decision.
 *
 * @param rails the count as the byte carries it, 0 to {@link WireCounts#MAX_COUNT_BYTE}
 */
public record RailCount(int rails) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 1;

  /**
   * Checks that the count fits its byte.
   *
   * @param rails the count as the byte carries it, 0 to {@link WireCounts#MAX_COUNT_BYTE}
   * @throws IllegalArgumentException if it does not
   */
  public RailCount {
    if (rails < 0 || rails > WireCounts.MAX_COUNT_BYTE) {
      try {
        WireCounts.countByte(rails);
      } catch (WireFormatException e) {
        throw e.asCallerFault();
      }
    }
  }

  /**
   * The count of exactly the remaining byte.
   *
   * @param whole the count; its position is left alone
   * @return the count, 0 to 255
   * @throws WireFormatException if there is not exactly one byte
   */
  public static RailCount decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    RailCount count = new RailCount(in.u8("railCount"));
    in.end("rail count");
    return count;
  }

  /**
   * The count's byte.
   *
   * @return a new buffer of one byte, ready to be read
   * @throws IllegalArgumentException if the count is 0, which asks for nothing
   */
  public ByteBuffer encode() {
    try {
      return new WireWriter(BYTES).u8(WireCounts.countByte(rails)).message();
    } catch (WireFormatException e) {
      throw e.asCallerFault();
    }
  }
}
