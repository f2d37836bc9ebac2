package org.metrale.gpu.nvml;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Memory outside the heap that native calls write into: one piece a thread, reused for every call,
 * so that a reading allocates no native memory.
 */
final class NvmlScratch {
  private static final ThreadLocal<NvmlScratch> OF_THREAD =
      ThreadLocal.withInitial(() -> new NvmlScratch(4096));

  private ByteBuffer bytes;
  private long address;

  NvmlScratch(int lengthBytes) {
    grow(lengthBytes);
  }

  static NvmlScratch ofThread() {
    return OF_THREAD.get();
  }

  /** Makes room for that many bytes; what was there before is lost if it was too small. */
  NvmlScratch atLeast(int lengthBytes) {
    if (bytes.capacity() < lengthBytes) {
      grow(lengthBytes);
    }
    return this;
  }

  ByteBuffer bytes() {
    return bytes;
  }

  /** Valid as long as this object is reachable and not grown. */
  long address() {
    return address;
  }

  private void grow(int lengthBytes) {
    bytes = ByteBuffer.allocateDirect(lengthBytes).order(ByteOrder.nativeOrder());
    address = NvmlCalls.address(bytes);
  }
}
