package org.metrale.gpu.verbs;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Lets one thread at a time into the short calls of a native object, and none once it is closed.
 *
 * <p>Both are decided by a single atomic step, where a monitor and a count of calls take four:
 * those were a good part of what a post costs. Not fair, and not reentrant.
 *
 * <p><b>Threading:</b> safe for any number of threads; what one wrote inside, the next one sees.
 */
final class CallLock {
  private static final int FREE = 0;
  private static final int HELD = 1;
  private static final int CLOSED = 2;

  /** More turns than a call of the data path takes. */
  private static final int SPINS = 200;

  private static final long PAUSE_NANOS = 20_000;

  private final AtomicInteger state = new AtomicInteger(FREE);

  /**
   * Waits until no other thread is inside; false, and this one is not inside, once it is closed.
   */
  boolean enter() {
    return state.compareAndSet(FREE, HELD) || enterAfterOthers();
  }

  private boolean enterAfterOthers() {
    for (int turn = 0; ; turn++) {
      int seen = state.get();
      if (seen == CLOSED) {
        return false;
      }
      if (seen == FREE && state.compareAndSet(FREE, HELD)) {
        return true;
      }
      pause(turn);
    }
  }

  /** Lets the next one in; for the thread that is inside. */
  void leave() {
    state.setRelease(FREE);
  }

  /** Lets nobody in from now on; false, and it is as before, if one stays inside for too long. */
  boolean close(long nanos) {
    long begin = System.nanoTime();
    for (int turn = 0; !state.compareAndSet(FREE, CLOSED); turn++) {
      if (state.get() == CLOSED) {
        return true;
      }
      if (System.nanoTime() - begin > nanos) {
        return false;
      }
      pause(turn);
    }
    return true;
  }

  /** Waits for whoever is inside; false if that takes too long. */
  boolean awaitFree(long nanos) {
    long begin = System.nanoTime();
    for (int turn = 0; state.get() == HELD; turn++) {
      if (System.nanoTime() - begin > nanos) {
        return false;
      }
      pause(turn);
    }
    return true;
  }

  private void pause(int turn) {
    if (turn < SPINS) {
      Thread.onSpinWait();
    } else {
      LockSupport.parkNanos(this, PAUSE_NANOS);
    }
  }
}
