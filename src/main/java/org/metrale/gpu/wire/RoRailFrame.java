package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.metrale.gpu.wire.WireFormatException.Kind;

/**
 * A read-only server's answer: a count byte of 1 to {@link WireCounts#MAX_RAILS} and that many
 * records of varying length.
 *
 * <pre>
 *   0       1
 *   +-------+--------------------+--------------------+---
 *   | count | RoServerRecord     | RoServerRecord     | ... 28 + 12 * regions bytes each
 *   +-------+--------------------+--------------------+---
 * </pre>
 *
 * @param rails one record per rail
 */
public record RoRailFrame(List<RoServerRecord> rails) implements ServerFrame {
  /**
   * Copies the list and checks its size.
   *
   * @param rails one record per rail
   * @throws IllegalArgumentException if there are fewer than 1 or more than {@link
   *     WireCounts#MAX_RAILS} rails; the cause is what a reader would say
   */
  public RoRailFrame {
    rails = List.copyOf(rails);
    try {
      WireCounts.rails(rails.size());
    } catch (WireFormatException e) {
      throw e.asCallerFault();
    }
  }

  @Override
  public RailDialect dialect() {
    return RailDialect.READ_ONLY;
  }

  /**
   * The frame of exactly the remaining bytes.
   *
   * @param whole the frame; its position is left alone
   * @param wantedRails the number of rails that was asked for
   * @return the frame
   * @throws WireFormatException if a count is out of range, the rail count is not the wanted one,
   *     or there are fewer or more bytes than the counts announce; checked in this order
   */
  public static RoRailFrame decode(ByteBuffer whole, int wantedRails) throws WireFormatException {
    int countRails = check(new WireReader(whole), wantedRails);
    WireReader in = new WireReader(whole);
    in.u8("railCount");
    List<RoServerRecord> rails = new ArrayList<>(countRails);
    for (int rail = 0; rail < countRails; rail++) {
      rails.add(RoServerRecord.read(in));
    }
    return new RoRailFrame(rails);
  }

  /** Looks at a whole frame before anything of it is copied; the number of its rails. */
  private static int check(WireReader in, int wantedRails) throws WireFormatException {
    int countRails = count(in.u8("railCount"), wantedRails);
    for (int rail = 0; rail < countRails; rail++) {
      try {
        RoServerRecord.skip(in);
      } catch (WireFormatException e) {
        throw e.within("rail[" + rail + "]");
      }
    }
    in.end("read-only server frame");
    return countRails;
  }

  /**
   * How many more bytes are certain to belong to a frame that begins so.
   *
   * @param soFar what has arrived, from the frame's first byte; its position is left alone
   * @param wantedRails the number of rails that was asked for
   * @return the bytes up to the end of the next count, or of the frame; 0 when it is complete
   * @throws WireFormatException if a count that has arrived is refused, or bytes follow the frame
   */
  public static int missing(ByteBuffer soFar, int wantedRails) throws WireFormatException {
    ByteBuffer in = soFar.slice().order(ByteOrder.LITTLE_ENDIAN);
    if (!in.hasRemaining()) {
      return RECORDS_OFFSET;
    }
    int countRails = count(Byte.toUnsignedInt(in.get(0)), wantedRails);
    int at = RECORDS_OFFSET;
    for (int rail = 0; rail < countRails; rail++) {
      int headerEnd = at + RoServerRecord.HEADER_BYTES;
      if (in.limit() < headerEnd) {
        return headerEnd - in.limit();
      }
      long regions = Integer.toUnsignedLong(in.getInt(at + RoServerRecord.REGION_COUNT_OFFSET));
      try {
        at = headerEnd + Region.BYTES * WireCounts.regions(regions);
      } catch (WireFormatException e) {
        throw e.within("rail[" + rail + "]");
      }
    }
    if (in.limit() > at) {
      throw WireFormatException.trailing("read-only server frame", in.limit() - at);
    }
    return at - in.limit();
  }

  @Override
  public ByteBuffer encode() {
    int lengthBytes = RECORDS_OFFSET;
    for (RoServerRecord rail : rails) {
      lengthBytes += rail.encodedBytes();
    }
    WireWriter out = new WireWriter(lengthBytes).u8(rails.size());
    for (RoServerRecord rail : rails) {
      rail.write(out);
    }
    return out.message();
  }

  /** This dialect's order: first the range, then the agreement. */
  private static int count(int got, int wantedRails) throws WireFormatException {
    int countRails = WireCounts.rails(got);
    WireCounts.sameRails(Kind.RAIL_COUNT_MISMATCH, countRails, wantedRails);
    return countRails;
  }
}
