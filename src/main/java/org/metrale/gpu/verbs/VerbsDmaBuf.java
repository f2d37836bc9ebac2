package org.metrale.gpu.verbs;

/**
 * Part of a dma-buf.
 *
 * @param fileDescriptor the dma-buf; borrowed until the call has returned, may be closed afterwards
 * @param offset where in the dma-buf the part begins, in bytes
 * @param address the address that requests use for its first byte
 * @param lengthBytes how long it is
 */
public record VerbsDmaBuf(int fileDescriptor, long offset, long address, long lengthBytes) {
  /**
   * Checks the range.
   *
   * @param fileDescriptor the dma-buf
   * @param offset where in the dma-buf the part begins, in bytes
   * @param address the address that requests use for its first byte
   * @param lengthBytes how long it is
   * @throws IllegalArgumentException if a number is negative or the length is 0
   */
  public VerbsDmaBuf {
    if (fileDescriptor < 0 || offset < 0 || lengthBytes <= 0) {
      throw new IllegalArgumentException(
          "descriptor " + fileDescriptor + ", offset " + offset + ", length " + lengthBytes);
    }
  }
}
