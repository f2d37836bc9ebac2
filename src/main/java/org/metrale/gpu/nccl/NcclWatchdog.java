package org.metrale.gpu.nccl;

import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/**
 * The one thread of the process that looks after all communicators: it notices what is done, what
 * is overdue and what NCCL reports, at most once a millisecond, and only while operations are open.
 *
 * <p>It never waits for a communicator and makes no call that can block: what can goes to {@link
 * Helpers}.
 */
final class NcclWatchdog implements Runnable {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.nccl");
  private static final long TICK_NANOS = 1_000_000;

  /** The time as of the last tick, for records that need no better. */
  static long coarseNanos = System.nanoTime();

  /** Whether somebody who issues an operation must wake the thread. */
  static volatile boolean parked = true;

  private static final List<RankState> WATCHED = new CopyOnWriteArrayList<>();
  private static Thread thread;

  private NcclWatchdog() {}

  static synchronized void add(RankState state) {
    WATCHED.add(state);
    if (thread == null) {
      thread = new Thread(new NcclWatchdog(), "metrale-nccl-watchdog");
      thread.setDaemon(true);
      thread.start();
    }
  }

  static void remove(RankState state) {
    WATCHED.remove(state);
  }

  /** Called after an operation is announced, if {@link #parked}. */
  static synchronized void wake() {
    coarseNanos = System.nanoTime();
    parked = false;
    LockSupport.unpark(thread);
  }

  @Override
  public void run() {
    while (true) {
      if (parked) {
        LockSupport.park(this);
      } else {
        pause();
        coarseNanos = System.nanoTime();
        if (!tickAll()) {
          parked = true;
          // Who announced before the line above did not wake this thread; look once more.
          for (RankState state : WATCHED) {
            if (state.hasOpenWork()) {
              parked = false;
            }
          }
        }
      }
    }
  }

  private void pause() {
    long end = System.nanoTime() + TICK_NANOS;
    for (long left = TICK_NANOS; left > 0; left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
  }

  private static boolean tickAll() {
    boolean open = false;
    for (RankState state : WATCHED) {
      try {
        open |= state.tick(coarseNanos);
      } catch (RuntimeException e) {
        // One communicator's trouble must not leave the others unwatched.
        LOG.log(Level.ERROR, "watching " + state + " failed", e);
      }
    }
    return open;
  }
}
