package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

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

  WireWriter regions(RegionTable regions) {
    regions.write(out);
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
