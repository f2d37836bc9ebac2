package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads the fields of one message; every shortfall is a {@link WireFormatException}. */
final class WireReader {
  private final ByteBuffer in;

  /** Reads from the position of {@code source}, which is left where it is. */
  WireReader(ByteBuffer source) {
    this.in = source.slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  int u8(String field) throws WireFormatException {
    need(field, Byte.BYTES);
    return Byte.toUnsignedInt(in.get());
  }

  long u32(String field) throws WireFormatException {
    need(field, Integer.BYTES);
    return Integer.toUnsignedLong(in.getInt());
  }

  long u64(String field) throws WireFormatException {
    need(field, Long.BYTES);
    return in.getLong();
  }

  Gid gid(String field) throws WireFormatException {
    need(field, Gid.BYTES);
    long high = Long.reverseBytes(in.getLong());
    long low = Long.reverseBytes(in.getLong());
    return new Gid(high, low);
  }

  byte[] bytes(String field, int lengthBytes) throws WireFormatException {
    need(field, lengthBytes);
    byte[] out = new byte[lengthBytes];
    in.get(out);
    return out;
  }

  /** Reads a table of regions; the count has been checked. */
  RegionTable regions(int countRegions) throws WireFormatException {
    byte[] out = new byte[regionBytes(countRegions)];
    in.get(out);
    return RegionTable.adopt(out);
  }

  /** Passes over a table of regions; the count has been checked. */
  void skipRegions(int countRegions) throws WireFormatException {
    in.position(in.position() + regionBytes(countRegions));
  }

  int remainingBytes() {
    return in.remaining();
  }

  void end(String record) throws WireFormatException {
    if (in.hasRemaining()) {
      throw WireFormatException.trailing(record, in.remaining());
    }
  }

  private int regionBytes(int countRegions) throws WireFormatException {
    int lengthBytes = countRegions * Region.BYTES;
    if (in.remaining() < lengthBytes) {
      throw shortRegions(in.remaining());
    }
    return lengthBytes;
  }

  private static WireFormatException shortRegions(int remainingBytes) {
    String region = "region[" + remainingBytes / Region.BYTES + "]";
    int within = remainingBytes % Region.BYTES;
    return within < Region.RKEY_OFFSET
        ? WireFormatException.truncated(region + ".base", Long.BYTES, within)
        : WireFormatException.truncated(
            region + ".rkey", Integer.BYTES, within - Region.RKEY_OFFSET);
  }

  private void need(String field, int lengthBytes) throws WireFormatException {
    if (in.remaining() < lengthBytes) {
      throw WireFormatException.truncated(field, lengthBytes, in.remaining());
    }
  }
}
