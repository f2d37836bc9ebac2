package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** Writes the fields of one message whose length is known; the values have been checked. */
final class WireWriter {
  private final ByteBuffer out;

  WireWriter(int lengthBytes) {
    this.out = ByteBuffer.allocate(lengthBytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  WireWriter u8(int value) {
    out.put((byte) value);
    return this;
  }

  WireWriter u32(long value) {
    out.putInt((int) value);
    return this;
  }

  WireWriter u64(long value) {
    out.putLong(value);
    return this;
  }

  WireWriter gid(Gid gid) {
    out.putLong(Long.reverseBytes(gid.high())).putLong(Long.reverseBytes(gid.low()));
    return this;
  }

  WireWriter bytes(byte[] bytes) {
    out.put(bytes);
    return this;
  }

  WireWriter bytes(ByteBuffer bytes) {
    out.put(bytes.duplicate());
    return this;
  }

  WireWriter regions(List<Region> regions) {
    int at = out.position();
    int countRegions = regions.size();
    for (int i = 0; i < countRegions; i++) {
      Region region = regions.get(i);
      out.putLong(at + Region.BASE_OFFSET, region.base());
      out.putInt(at + Region.RKEY_OFFSET, (int) region.rkey());
      at += Region.BYTES;
    }
    out.position(at);
    return this;
  }

  /** The whole message, ready to be sent. */
  ByteBuffer message() {
    if (out.hasRemaining()) {
      throw new IllegalStateException(out.remaining() + " bytes of the message are missing");
    }
    return out.flip();
  }
}
