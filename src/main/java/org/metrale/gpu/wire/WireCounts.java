package org.metrale.gpu.wire;

import org.metrale.gpu.wire.WireFormatException.Kind;

/**
 * The limits of the formats and the one check behind each, for reading and for writing.
 *
 * <p>Fields are given as the wire counts them: unsigned.
 */
public final class WireCounts {
  /** The least number of rails in a frame. */
  public static final int MIN_RAILS = 1;

  /**
   * The greatest number of rails in a frame. The read-only dialect has always had this limit. The
   * count byte of the read-write dialect could carry 255; deployed peers use one or two, and a
   * limit that both dialects share is what keeps a wrong byte from being taken for a grant.
   */
  public static final int MAX_RAILS = 8;

  /** The greatest count that the count byte can carry. */
  public static final int MAX_COUNT_BYTE = 255;

  /** The least number of regions in a read-only record. */
  public static final int MIN_REGIONS = 1;

  /** The greatest number of regions in a read-only record; the field could carry 2^32-1. */
  public static final int MAX_REGIONS = 4096;

  /** The greatest value of an unsigned 32-bit field. */
  static final long MAX_U32 = 0xFFFF_FFFFL;

  private WireCounts() {}

  /** Refuses a rail count that one byte cannot carry, or that carries nothing. */
  static int countByte(long rails) throws WireFormatException {
    return within(Kind.COUNT_NOT_ENCODABLE, "railCount", rails, MIN_RAILS, MAX_COUNT_BYTE);
  }

  /** Refuses a frame of too few or too many rails. */
  static int rails(long rails) throws WireFormatException {
    return within(Kind.RAIL_COUNT_OUT_OF_RANGE, "railCount", rails, MIN_RAILS, MAX_RAILS);
  }

  /** Refuses a frame of another number of rails than was agreed. */
  static void sameRails(Kind kind, long got, int wanted) throws WireFormatException {
    if (got != wanted) {
      throw WireFormatException.of(kind, "railCount", Integer.toString(wanted), Long.toString(got));
    }
  }

  /** Refuses a record of too few or too many regions. */
  static int regions(long regions) throws WireFormatException {
    return within(Kind.REGION_COUNT_OUT_OF_RANGE, "regionCount", regions, MIN_REGIONS, MAX_REGIONS);
  }

  /** Refuses a length prefix of nothing or of too much. */
  static int length(String field, long lengthBytes, int maxBytes) throws WireFormatException {
    return within(Kind.LENGTH_OUT_OF_RANGE, field, lengthBytes, 1, maxBytes);
  }

  /** Refuses a value that an unsigned 32-bit field cannot carry; always the caller's fault. */
  static void u32(String field, long value) {
    if ((value & ~MAX_U32) != 0) {
      throw new IllegalArgumentException(field + ": wanted 0 to " + MAX_U32 + ", got " + value);
    }
  }

  private static int within(Kind kind, String field, long value, int min, int max)
      throws WireFormatException {
    if (value < min || value > max) {
      throw WireFormatException.outOfRange(kind, field, value, min, max);
    }
    return Math.toIntExact(value);
  }
}
