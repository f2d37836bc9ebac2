package org.metrale.gpu;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * A native object with exactly one owner and exactly one release.
 *
 * <p><b>Ownership:</b> an object keeps everything it needs open until it is closed itself. Closing
 * is idempotent. Calls that run are awaited, for a second at most; while a dependent is open, or a
 * call does not end, the close is refused with an {@link IllegalStateException} instead of freeing
 * memory under somebody's feet. Any use after close names the object that is closed.
 *
 * <p><b>Threading:</b> safe for any number of threads; of several that close at once one does it.
 * Nothing here depends on the garbage collector.
 */
public abstract class NativeResource implements AutoCloseable {
  private static final AtomicReferenceFieldUpdater<NativeResource, Thread> CLOSER =
      AtomicReferenceFieldUpdater.newUpdater(NativeResource.class, Thread.class, "closer");

  private static final long CALL = 1;
  private static final long DEPENDENT = 1L << 31;
  private static final long CALLS = DEPENDENT - 1;

  /** Added by who closes; alone, when no call runs any more, it lets none begin. */
  private static final long CLOSING = 1L << 62;

  private static final long CLOSED = Long.MIN_VALUE;

  private static final long DRAIN_NANOS = 1_000_000_000;
  private static final long PAUSE_NANOS = 20_000;

  /**
   * Calls in the low 31 bits and dependents above, perhaps {@link #CLOSING}; or {@link #CLOSED}.
   */
  private final AtomicLong uses = new AtomicLong();

  private final NativeResource[] needs;

  /** The thread that closes this or tries to. */
  private volatile Thread closer;

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
    for (NativeResource need : this.needs) {
      Objects.requireNonNull(need, "need");
    }
    for (int held = 0; held < this.needs.length; held++) {
      if (!this.needs[held].begin(DEPENDENT)) {
        letGoOfFirst(held);
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
   * Marks the beginning of a native call, which a close waits for; pair with {@link #release()} in
   * a {@code finally}. The form without a lambda is for hot paths.
   *
   * @throws IllegalStateException if this object is closed
   */
  protected final void acquire() {
    if (!begin(CALL)) {
      throw new IllegalStateException(this + " is closed");
    }
  }

  /** Marks the end of a native call begun with {@link #acquire()}. */
  protected final void release() {
    uses.getAndAdd(-CALL);
  }

  /**
   * Marks the beginning of work that outlives its call, before which a close is refused like before
   * a dependent; ended by {@link #letGo()}.
   *
   * @throws IllegalStateException if this object is closed
   */
  protected final void hold() {
    if (!begin(DEPENDENT)) {
      throw new IllegalStateException(this + " is closed");
    }
  }

  /** Marks the end of work begun with {@link #hold()}. */
  protected final void letGo() {
    uses.getAndAdd(-DEPENDENT);
  }

  /**
   * Frees the native object. Called at most once, never while a call or a dependent is open. If it
   * throws, the object counts as closed all the same.
   */
  protected abstract void free();

  /**
   * Keeps what this object stands on open, for a call of {@link #free()} that may go on when that
   * has returned.
   *
   * @return to be run once, when the call has returned
   */
  protected final Runnable keepNeeds() {
    for (NativeResource need : needs) {
      need.hold();
    }
    return () -> letGoOfFirst(needs.length);
  }

  /**
   * Closes what this object made for itself and nobody else closes. Called by {@link #close()} of
   * an open object before it looks whether anything else is open, by one thread at a time and never
   * after {@link #free()}; may refuse the close by throwing an {@link IllegalStateException}.
   */
  protected void closeOwn() {}

  /**
   * Whether {@link #close()} has been called with success, or is just being decided.
   *
   * @return true once the object is closed
   */
  public final boolean isClosed() {
    return !isOpen(uses.get());
  }

  /**
   * Frees the native object, once.
   *
   * <p>A second close does nothing.
   *
   * <p><b>Blocking:</b> for calls that run, a second at most, and as {@link #free()} does.
   *
   * @throws IllegalStateException if dependents are open, a call does not end, a device works on
   *     this memory, or this thread is closing the object already; the object stays usable
   */
  @Override
  public final void close() {
    if (!beginClose()) {
      return;
    }
    try {
      closeOwn();
      drain();
    } finally {
      CLOSER.lazySet(this, null);
    }
    LeakReport.closed(watch);
    try {
      free();
    } finally {
      letGoOfFirst(needs.length);
    }
  }

  /** Makes this thread the one that closes; false if the object is closed. */
  private boolean beginClose() {
    Thread self = Thread.currentThread();
    while (uses.get() != CLOSED) {
      if (CLOSER.compareAndSet(this, null, self)) {
        if (uses.get() != CLOSED) {
          return true;
        }
        closer = null;
        return false;
      }
      if (closer == self) {
        throw new IllegalStateException(this + " is being closed by this thread");
      }
      // Another thread decides, which may end either way.
      LockSupport.parkNanos(this, PAUSE_NANOS);
    }
    return false;
  }

  /** Waits for the calls that run and marks this as closed; if that is refused, as open again. */
  private void drain() {
    if (dependents(uses.get()) != 0) {
      // What is done may still be counted, until somebody looks.
      PendingWork.settle();
    }
    long seen;
    do {
      seen = uses.get();
      requireNoDependents(seen);
    } while (!uses.compareAndSet(seen, seen + CLOSING));
    boolean refused = true;
    try {
      if (uses.get() != CLOSING) {
        awaitCalls();
      }
      String user = lent ? PendingWork.userOf(this) : null;
      if (user != null) {
        throw new IllegalStateException(this + " is in use by " + user);
      }
      // No fence: whoever still reads CLOSING here is let in no more than by CLOSED.
      uses.setRelease(CLOSED);
      refused = false;
    } finally {
      if (refused) {
        uses.getAndAdd(-CLOSING);
      }
    }
  }

  private void awaitCalls() {
    long begin = System.nanoTime();
    for (long seen = uses.get(); seen != CLOSING; seen = uses.get()) {
      // A call that runs may have made one.
      requireNoDependents(seen);
      if (System.nanoTime() - begin > DRAIN_NANOS) {
        throw new IllegalStateException(this + " has " + (seen & CALLS) + " calls running");
      }
      LockSupport.parkNanos(this, PAUSE_NANOS);
    }
  }

  private void requireNoDependents(long seen) {
    long dependents = dependents(seen);
    if (dependents != 0) {
      throw new IllegalStateException(this + " has " + dependents + " dependents open");
    }
  }

  private static long dependents(long seen) {
    return (seen & ~CLOSING) / DEPENDENT;
  }

  /** Counts one more use; false if this is closed. */
  private boolean begin(long use) {
    long seen = uses.get();
    while (isOpen(seen)) {
      if (uses.compareAndSet(seen, seen + use)) {
        return true;
      }
      seen = uses.get();
    }
    return false;
  }

  /** Also while a close waits for a call: that may call again, or make a dependent. */
  private static boolean isOpen(long seen) {
    return seen >= 0 && seen != CLOSING;
  }

  private void letGoOfFirst(int count) {
    for (int i = count - 1; i >= 0; i--) {
      needs[i].letGo();
    }
  }
}
