package org.metrale.gpu.wire;

/**
 * One remote memory region: where it begins and the key that opens it.
 *
 * <pre>
 *   0       8     12
 *   +-------+------+
 *   | base  | rkey |
 *   +-------+------+
 * </pre>
 *
 * <p>The format does not carry the region's length.
 *
 * @param base the address in the peer's memory, unsigned
 * @param rkey the remote key, 0 to 2<sup>32</sup>-1
 */
public record Region(long base, long rkey) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 12;

  /** Where the base address is. */
  static final int BASE_OFFSET = 0;

  /** Where the remote key is. */
  static final int RKEY_OFFSET = 8;

  /**
   * Checks that the key fits its field.
   *
   * @param base the address in the peer's memory, unsigned
   * @param rkey the remote key, 0 to 2<sup>32</sup>-1
   * @throws IllegalArgumentException if {@code rkey} is not an unsigned 32-bit value
   */
  public Region {
    WireCounts.u32("rkey", rkey);
  }

  /**
   * Address and key in hexadecimal. The key opens the peer's memory: do not log it where strangers
   * read.
   *
   * @return a text such as {@code 0x7f1122334000/0xa1b2c3d}
   */
  @Override
  public String toString() {
    return "0x" + Long.toHexString(base) + "/0x" + Long.toHexString(rkey);
  }
}
