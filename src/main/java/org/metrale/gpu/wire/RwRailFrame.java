package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.metrale.gpu.wire.WireFormatException.Kind;

/**
 * A read-write server's answer: a count byte and that many records of {@value RwServerRecord#BYTES}
 * bytes.
 *
 * <pre>
 *   0       1                37               73
 *   +-------+----------------+----------------+---
 *   | count | RwServerRecord | RwServerRecord | ...
 *   +-------+----------------+----------------+---
 * </pre>
 *
 * <p>The count byte could carry 255; here it is limited to {@link WireCounts#MAX_RAILS} as in the
 * other dialect.
 *
 * @param rails one record per rail
 */
public record RwRailFrame(List<RwServerRecord> rails) implements ServerFrame {
  /**
   * Copies the list and checks its size.
   *
   * @param rails one record per rail
   * @throws IllegalArgumentException if there are fewer than 1 or more than {@link
   *     WireCounts#MAX_RAILS} rails; the cause is what a reader would say
   */
  public RwRailFrame {
    rails = List.copyOf(rails);
    try {
      WireCounts.rails(rails.size());
    } catch (WireFormatException e) {
      throw e.asCallerFault();
    }
  }

  @Override
  public RailDialect dialect() {
    return RailDialect.READ_WRITE;
  }

  /**
   * The frame of exactly the remaining bytes.
   *
   * @param whole the frame; its position is left alone
   * @param wantedRails the number of rails that was asked for
   * @return the frame
   * @throws WireFormatException if the rail count is not the wanted one or out of range, or there
   *     are fewer or more bytes than it announces; checked in this order
   */
  public static RwRailFrame decode(ByteBuffer whole, int wantedRails) throws WireFormatException {
    WireReader in = new WireReader(whole);
    int countRails = count(in.u8("railCount"), wantedRails);
    List<RwServerRecord> rails = new ArrayList<>(countRails);
    for (int rail = 0; rail < countRails; rail++) {
      try {
        rails.add(RwServerRecord.read(in));
      } catch (WireFormatException e) {
        throw e.within("rail[" + rail + "]");
      }
    }
    in.end("read-write server frame");
    return new RwRailFrame(rails);
  }

  /**
   * How many more bytes are certain to belong to a frame that begins so.
   *
   * @param soFar what has arrived, from the frame's first byte; its position is left alone
   * @param wantedRails the number of rails that was asked for
   * @return 1 for an empty beginning, then the bytes up to the frame's end; 0 when it is complete
   * @throws WireFormatException if the count is refused, or bytes follow the frame
   */
  public static int missing(ByteBuffer soFar, int wantedRails) throws WireFormatException {
    if (!soFar.hasRemaining()) {
      return RECORDS_OFFSET;
    }
    int countRails = count(Byte.toUnsignedInt(soFar.get(soFar.position())), wantedRails);
    int left = RECORDS_OFFSET + RwServerRecord.BYTES * countRails - soFar.remaining();
    if (left < 0) {
      throw WireFormatException.trailing("read-write server frame", -left);
    }
    return left;
  }

  @Override
  public ByteBuffer encode() {
    WireWriter out = new WireWriter(RECORDS_OFFSET + RwServerRecord.BYTES * rails.size());
    out.u8(rails.size());
    for (RwServerRecord rail : rails) {
      rail.write(out);
    }
    return out.message();
  }

  /** This dialect's order: first the agreement, then the range. */
  private static int count(int got, int wantedRails) throws WireFormatException {
    WireCounts.sameRails(Kind.RAIL_COUNT_MISMATCH, got, wantedRails);
    return WireCounts.rails(got);
  }
}
