package org.metrale.gpu.cufile;

/**
 * The middle of a transfer that can pass by the page cache.
 *
 * @param headBytes what comes before it
 * @param lengthBytes how long it is; 0 if there is none
 */
record DirectSpan(long headBytes, long lengthBytes) {
  /** Where nothing can pass by the page cache. */
  static final DirectSpan NONE = new DirectSpan(0, 0);

  /**
   * What begin and end of the middle are multiples of; ends and middle of a write share no page.
   */
  static long step(boolean write, long offsetAlignment, long pageBytes) {
    return write ? Math.max(offsetAlignment, pageBytes) : offsetAlignment;
  }

  /** The middle of a range, where memory and offset are aligned together somewhere in it. */
  static DirectSpan of(
      long step, long memoryAlignment, long address, long lengthBytes, long offset) {
    long head = (step - offset % step) % step;
    if (head >= lengthBytes || (address + head) % memoryAlignment != 0) {
      return NONE;
    }
    long rest = lengthBytes - head;
    return rest < step ? NONE : new DirectSpan(head, rest - rest % step);
  }
}
