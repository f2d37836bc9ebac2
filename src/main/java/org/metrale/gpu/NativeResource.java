package org.metrale.gpu;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * A native object with exactly one owner and exactly one release.
 *
 * <p><b>Ownership:</b> an object keeps everything it needs open until it is closed itself. Closing
 * is idempotent; closing while a call runs or a dependent is open is refused with an {@link
 * IllegalStateException} instead of freeing memory under somebody's feet. Any use after close names
 * the object that is closed.
 *
 * <p><b>Threading:</b> safe for any number of threads. Nothing here depends on the garbage
 * collector.
 */
public abstract class NativeResource implements AutoCloseable {
  private static final int CLOSED = -1;
  private static final long DECISION_NANOS = 20_000;

  /** Closed unless work is found that goes on; then open again. */
  private static final int CLOSING = -2;

  /** Calls in flight plus open dependents, or one of the two above. */
  private final AtomicInteger uses = new AtomicInteger();

  private final NativeResource[] needs;

  /** Whether {@link PendingWork} is asked before this is closed. */
  volatile boolean lent;

  /** What reports this object if it is dropped while open; null when tracing is off. */
  private final LeakReport.Watch watch;

  /**
   * Keeps every one of {@code needs} open until this object is closed.
   *
   * @param needs what this object stands on, closed after it
   * @throws IllegalStateException if one of them is closed already
   */
  protected NativeResource(NativeResource... needs) {
    this.needs = needs.clone();
    for (int held = 0; held < this.needs.length; held++) {
      if (!this.needs[held].tryAcquire()) {
        releaseFirst(held);
        throw new IllegalStateException(this.needs[held] + " is closed");
      }
    }
    watch = LeakReport.opened(this);
  }

  /**
   * Runs one native call while this object cannot be closed.
   *
   * @param <T> what the call answers
   * @param call the native call
   * @return the call's answer
   * @throws IllegalStateException if this object is closed
   */
  protected final <T> T using(Supplier<T> call) {
    acquire();
    try {
      return call.get();
    } finally {
      release();
    }
  }

  /**
   * Marks the beginning of a native call; pair with {@link #release()} in a {@code finally}. The
   * form without a lambda is for hot paths.
   *
   * @throws IllegalStateException if this object is closed
   */
  protected final void acquire() {
    if (!tryAcquire()) {
      throw new IllegalStateException(this + " is closed");
    }
  }

  /** Marks the end of a native call begun with {@link #acquire()}. */
  protected final void release() {
    uses.getAndDecrement();
  }

  /**
   * Frees the native object. Called at most once, never while a call or a dependent is open. If it
   * throws, the object counts as closed all the same.
   */
  protected abstract void free();

  /**
   * Closes what this object made for itself and nobody else closes. Called by {@link #close()} of
   * an open object before it looks whether anything else is open; may refuse the close by throwing
   * an {@link IllegalStateException}.
   */
  protected void closeOwn() {}

  /**
   * Whether {@link #close()} has been called with success, or is just being decided.
   *
   * @return true once the object is closed
   */
  public final boolean isClosed() {
    return uses.get() < 0;
  }

  /**
   * Frees the native object, once.
   *
   * <p>A second close does nothing.
   *
   * @throws IllegalStateException if calls or dependents are open, or a device works on this
   *     memory; the object stays usable
   */
  @Override
  public final void close() {
    if (!isClosed()) {
      closeOwn();
    }
    int seen = lent ? closeUnlessAtWork() : uses.compareAndExchange(0, CLOSED);
    if (seen == CLOSED) {
      return;
    }
    if (seen != 0) {
      throw new IllegalStateException(this + " has " + seen + " calls or dependents open");
    }
    LeakReport.closed(watch);
    try {
      free();
    } finally {
      releaseFirst(needs.length);
    }
  }

  /** Closes what no work goes on with; what stood in the way, or 0. */
  private int closeUnlessAtWork() {
    int seen = beginClosing();
    if (seen > 0) {
      // What is done may still be counted, until somebody looks.
      PendingWork.settle();
      seen = beginClosing();
    }
    if (seen != 0) {
      return seen;
    }
    int end = 0;
    try {
      String user = PendingWork.userOf(this);
      if (user != null) {
        throw new IllegalStateException(this + " is in use by " + user);
      }
      end = CLOSED;
      return 0;
    } finally {
      uses.set(end);
    }
  }

  private int beginClosing() {
    int seen = uses.compareAndExchange(0, CLOSING);
    while (seen == CLOSING) {
      // Another thread decides, which takes a moment and may end either way.
      LockSupport.parkNanos(DECISION_NANOS);
      seen = uses.compareAndExchange(0, CLOSING);
    }
    return seen;
  }

  private boolean tryAcquire() {
    int seen = uses.get();
    while (seen >= 0) {
      if (uses.compareAndSet(seen, seen + 1)) {
        return true;
      }
      seen = uses.get();
    }
    return false;
  }

  private void releaseFirst(int count) {
    for (int i = count - 1; i >= 0; i--) {
      needs[i].release();
    }
  }
}
