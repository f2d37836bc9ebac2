package org.metrale.gpu.rail;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How much memory a server has given to its clients, under a ceiling.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class MemoryLedger {
  private final long ceilingBytes;
  private final AtomicLong reservedBytes = new AtomicLong();

  private MemoryLedger(long ceilingBytes) {
    this.ceilingBytes = ceilingBytes;
  }

  /**
   * A ledger with a ceiling.
   *
   * @param ceilingBytes how much may be reserved; 0 for no limit
   * @return the ledger
   * @throws IllegalArgumentException if it is negative
   */
  public static MemoryLedger of(long ceilingBytes) {
    if (ceilingBytes < 0) {
      throw new IllegalArgumentException("ceilingBytes: wanted 0 or more, got " + ceilingBytes);
    }
    return new MemoryLedger(ceilingBytes);
  }

  /**
   * Reserves bytes, if they fit; an exact fit does.
   *
   * @param bytes how many, 0 or more
   * @return false if they do not fit; nothing is reserved then
   * @throws IllegalArgumentException if {@code bytes} is negative
   */
  public boolean tryReserve(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("bytes: wanted 0 or more, got " + bytes);
    }
    long now = reservedBytes.get();
    while (true) {
      long then = now + bytes;
      if (then < now || (ceilingBytes > 0 && then > ceilingBytes)) {
        return false;
      }
      if (reservedBytes.compareAndSet(now, then)) {
        return true;
      }
      now = reservedBytes.get();
    }
  }

  /**
   * Gives bytes back.
   *
   * @param bytes how many were reserved
   */
  public void release(long bytes) {
    reservedBytes.addAndGet(-bytes);
  }

  /**
   * How much is reserved.
   *
   * @return bytes
   */
  public long reservedBytes() {
    return reservedBytes.get();
  }

  @Override
  public String toString() {
    return reservedBytes + " bytes of " + (ceilingBytes == 0 ? "any number" : ceilingBytes);
  }
}
