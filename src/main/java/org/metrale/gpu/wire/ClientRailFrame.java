package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.metrale.gpu.wire.WireFormatException.Kind;

/**
 * A client's second flight: the rail count again and one record per rail.
 *
 * <pre>
 *   0       1              25             49
 *   +-------+--------------+--------------+---
 *   | count | ClientRecord | ClientRecord | ...
 *   +-------+--------------+--------------+---
 * </pre>
 *
 * @param rails one record per rail, in the order of the server's frame
 */
public record ClientRailFrame(List<ClientRecord> rails) {
  /** Where the first record begins, after the count byte. */
  public static final int RECORDS_OFFSET = 1;

  /**
   * Copies the list and checks its size.
   *
   * @param rails one record per rail, in the order of the server's frame
   * @throws IllegalArgumentException if there are fewer than 1 or more than {@link
   *     WireCounts#MAX_RAILS} rails; the cause is what a reader would say
   */
  public ClientRailFrame {
    rails = List.copyOf(rails);
    try {
      WireCounts.rails(rails.size());
    } catch (WireFormatException e) {
      throw e.asCallerFault();
    }
  }

  /**
   * The frame of exactly the remaining bytes.
   *
   * @param whole the frame; its position is left alone
   * @param firstCount the count that the client began with
   * @return the frame
   * @throws WireFormatException if the count differs from the first or is out of range, or there
   *     are fewer or more bytes than it announces; checked in this order
   */
  public static ClientRailFrame decode(ByteBuffer whole, int firstCount)
      throws WireFormatException {
    WireReader in = new WireReader(whole);
    int countRails = count(in.u8("railCount"), firstCount);
    List<ClientRecord> rails = new ArrayList<>(countRails);
    for (int rail = 0; rail < countRails; rail++) {
      try {
        rails.add(ClientRecord.read(in));
      } catch (WireFormatException e) {
        throw e.within("rail[" + rail + "]");
      }
    }
    in.end("client frame");
    return new ClientRailFrame(rails);
  }

  /**
   * How many more bytes are certain to belong to a frame that begins so.
   *
   * @param soFar what has arrived, from the frame's first byte; its position is left alone
   * @param firstCount the count that the client began with
   * @return 1 for an empty beginning, then the bytes up to the frame's end; 0 when it is complete
   * @throws WireFormatException if the count is refused, or bytes follow the frame
   */
  public static int missing(ByteBuffer soFar, int firstCount) throws WireFormatException {
    if (!soFar.hasRemaining()) {
      return RECORDS_OFFSET;
    }
    int countRails = count(Byte.toUnsignedInt(soFar.get(soFar.position())), firstCount);
    int left = RECORDS_OFFSET + ClientRecord.BYTES * countRails - soFar.remaining();
    if (left < 0) {
      throw WireFormatException.trailing("client frame", -left);
    }
    return left;
  }

  /**
   * The frame's bytes, to be sent with one write.
   *
   * @return a new buffer, ready to be read
   */
  public ByteBuffer encode() {
    WireWriter out = new WireWriter(RECORDS_OFFSET + ClientRecord.BYTES * rails.size());
    out.u8(rails.size());
    for (ClientRecord rail : rails) {
      rail.write(out);
    }
    return out.message();
  }

  private static int count(int got, int firstCount) throws WireFormatException {
    WireCounts.sameRails(Kind.CLIENT_COUNT_MISMATCH, got, firstCount);
    return WireCounts.rails(got);
  }
}
