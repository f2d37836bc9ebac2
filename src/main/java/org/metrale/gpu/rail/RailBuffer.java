package org.metrale.gpu.rail;

/**
 * Memory of this process that is not registered yet.
 *
 * @param address where it begins
 * @param lengthBytes how long it is
 */
public record RailBuffer(long address, long lengthBytes) {
  /**
   * Checks the range.
   *
   * @param address where it begins
   * @param lengthBytes how long it is
   * @throws IllegalArgumentException if the address is 0, or the range is empty or wraps around
   */
  public RailBuffer {
    if (address == 0 || lengthBytes < 1 || address + lengthBytes < address) {
      throw new IllegalArgumentException(
          "no range: address 0x" + Long.toHexString(address) + ", length " + lengthBytes);
    }
  }
}
