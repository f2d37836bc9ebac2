package org.metrale.gpu.nvml;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A sequence lock around some words: one writer, any number of readers that never block it.
 *
 * <p>Invariant: {@code version} is odd while the writer writes. A reader that saw an odd version,
 * or another one after reading than before, reads again, so it never sees words of two writes.
 */
final class NvmlSnapshotCell {
  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
  private static final VarHandle VERSION;

  static {
    try {
      VERSION = MethodHandles.lookup().findVarHandle(NvmlSnapshotCell.class, "version", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final long[] words;

  @SuppressWarnings("UnusedVariable") // by its handle
  private long version;

  NvmlSnapshotCell(int countWords) {
    words = new long[countWords];
  }

  /** For the one writer. */
  void write(long[] from) {
    long next = (long) VERSION.getOpaque(this) + 1;
    VERSION.setOpaque(this, next);
    VarHandle.storeStoreFence();
    for (int i = 0; i < words.length; i++) {
      WORD.setOpaque(words, i, from[i]);
    }
    VERSION.setRelease(this, next + 1);
  }

  /** For any reader; waits for nothing but the few stores of a write that is under way. */
  void read(long[] into) {
    while (true) {
      long before = (long) VERSION.getAcquire(this);
      if ((before & 1) == 0) {
        for (int i = 0; i < words.length; i++) {
          into[i] = (long) WORD.getOpaque(words, i);
        }
        VarHandle.loadLoadFence();
        if ((long) VERSION.getOpaque(this) == before) {
          return;
        }
      }
      Thread.onSpinWait();
    }
  }
}
