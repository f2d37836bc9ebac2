package org.metrale.gpu.verbs;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * A global identifier: 16 bytes in network order, with RoCE an IPv6 address or an IPv4 address in
 * the form {@code ::ffff:a.b.c.d}.
 */
public final class VerbsGid {
  /** Bytes of a GID on the wire. */
  public static final int BYTES = 16;

  private final byte[] bytes;

  private VerbsGid(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * The GID of 16 bytes.
   *
   * @param bytes 16 bytes in network order; copied
   * @return the value
   * @throws IllegalArgumentException if there are not 16
   */
  public static VerbsGid of(byte[] bytes) {
    if (bytes.length != BYTES) {
      throw new IllegalArgumentException("a GID has 16 bytes, not " + bytes.length);
    }
    return new VerbsGid(bytes.clone());
  }

  /**
   * The bytes.
   *
   * @return a copy, 16 bytes in network order
   */
  public byte[] bytes() {
    return bytes.clone();
  }

  /**
   * Whether the entry is empty.
   *
   * @return true if all bytes are zero
   */
  public boolean isZero() {
    for (byte b : bytes) {
      if (b != 0) {
        return false;
      }
    }
    return true;
  }

  /**
   * Whether the address is valid on its own link only.
   *
   * @return true for {@code fe80::/10} and for IPv4's {@code 169.254.0.0/16}
   */
  public boolean isLinkLocal() {
    if (isIpv4()) {
      return (bytes[12] & 0xff) == 169 && (bytes[13] & 0xff) == 254;
    }
    return (bytes[0] & 0xff) == 0xfe && (bytes[1] & 0xc0) == 0x80;
  }

  /**
   * Whether the GID holds an IPv4 address.
   *
   * @return true for {@code ::ffff:0:0/96}
   */
  public boolean isIpv4() {
    for (int i = 0; i < 10; i++) {
      if (bytes[i] != 0) {
        return false;
      }
    }
    return bytes[10] == (byte) 0xff && bytes[11] == (byte) 0xff;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof VerbsGid gid && Arrays.equals(bytes, gid.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  /** The address in its usual spelling, an IPv4 address in dots. */
  @Override
  public String toString() {
    try {
      // The JDK turns an IPv4-mapped address into an IPv4 address by itself.
      return InetAddress.getByAddress(bytes).getHostAddress();
    } catch (UnknownHostException e) {
      return HexFormat.of().formatHex(bytes);
    }
  }
}
