package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * The address of a port: 16 raw bytes, an IPv6 address in network order for RoCE v2.
 *
 * <p><b>Shape:</b> {@code high} holds bytes 0 to 7 and {@code low} bytes 8 to 15, both big-endian,
 * so that the hexadecimal text reads in wire order.
 *
 * @param high the subnet prefix, bytes 0 to 7
 * @param low the interface part, bytes 8 to 15
 */
public record Gid(long high, long low) {
  /** The length of a GID in bytes. */
  public static final int BYTES = 16;

  /** The GID of all zero bytes, which no usable port has. */
  public static final Gid ZERO = new Gid(0, 0);

  /**
   * The GID held by 16 bytes.
   *
   * @param bytes the bytes in wire order; copied
   * @return the value
   * @throws IllegalArgumentException if there are not exactly 16 bytes
   */
  public static Gid of(byte[] bytes) {
    Objects.requireNonNull(bytes, "bytes");
    if (bytes.length != BYTES) {
      throw new IllegalArgumentException("a GID has " + BYTES + " bytes, got " + bytes.length);
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    return new Gid(in.getLong(), in.getLong());
  }

  /**
   * Whether all bytes are zero, as in an unused entry of a port's table.
   *
   * @return true for {@link #ZERO}
   */
  public boolean isZero() {
    return (high | low) == 0;
  }

  /**
   * The 16 bytes.
   *
   * @return a new array in wire order
   */
  public byte[] bytes() {
    return ByteBuffer.allocate(BYTES).putLong(high).putLong(low).array();
  }

  /**
   * The GID as tools print it, such as {@code 0000:0000:0000:0000:0000:ffff:c000:0211}.
   *
   * @return eight groups of four hexadecimal digits
   */
  @Override
  public String toString() {
    StringBuilder out = new StringBuilder(39);
    for (int group = 0; group < 8; group++) {
      long half = group < 4 ? high : low;
      int bits = (int) (half >>> (48 - 16 * (group % 4))) & 0xFFFF;
      if (group > 0) {
        out.append(':');
      }
      out.append(Integer.toHexString(0x10000 | bits), 1, 5);
    }
    return out.toString();
  }
}
