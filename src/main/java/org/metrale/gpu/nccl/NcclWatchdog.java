package org.metrale.gpu.nccl;

import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.metrale.gpu.DaemonThread;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.PendingWork;

/**
 * The one thread of the process that looks after all communicators: it notices what is done, what
 * is overdue and what NCCL reports, at most once a millisecond, and only while operations are open.
 * While nothing ends, and nobody waits to be told, it comes less and less often.
 *
 * <p>It never waits for a communicator, makes no call that can block, and nothing that goes wrong
 * with one communicator, or in a program's log handler, ends it.
 */
final class NcclWatchdog implements Runnable {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.nccl");
  static final long TICK_NANOS = 1_000_000;

  /** Between two looks where nothing ends; so much later may be noticed what is overdue. */
  static final long LONGEST_TICK_NANOS = 16 * TICK_NANOS;

  /** How long the thread sleeps now. */
  private static volatile long tick = TICK_NANOS;

  /** The time as of the last tick, for records that need no better. */
  static long coarseNanos = System.nanoTime();

  /** Whether somebody who issues an operation must wake the thread; nobody is an owner then. */
  private static volatile boolean parked = true;

  private static final List<RankState> WATCHED = new CopyOnWriteArrayList<>();

  /** Communicators that could not be stopped: NCCL may go on using their operations' memory. */
  private static final List<RankState> RUNAWAY = new CopyOnWriteArrayList<>();

  private static Thread thread;

  static {
    PendingWork.add(NcclWatchdog::userOf);
  }

  private NcclWatchdog() {}

  /** Looks after a communicator; if there is no thread to be had for that, it does not. */
  static synchronized void add(RankState state) {
    if (thread == null) {
      Thread made = new DaemonThread(new NcclWatchdog(), "metrale-nccl-watchdog");
      made.start();
      thread = made;
    }
    WATCHED.add(state);
  }

  static void remove(RankState state) {
    if (!state.ending.hasStopped()) {
      RUNAWAY.add(state);
    }
    WATCHED.remove(state);
  }

  private static String userOf(NativeResource memory) {
    RUNAWAY.removeIf(state -> state.ending.hasStopped());
    boolean owned = false;
    for (List<RankState> some : List.of(WATCHED, RUNAWAY)) {
      for (RankState state : some) {
        owned |= state.gate.disown();
      }
    }
    if (owned) {
      // From here on an owner is seen with what it uses, or notices that the memory is closing.
      NcclCalls.barrier();
    }
    for (List<RankState> some : List.of(WATCHED, RUNAWAY)) {
      for (RankState state : some) {
        String user = state.issuing.userOf(memory);
        if (user != null) {
          return user;
        }
      }
    }
    return null;
  }

  /** To be called by whoever issues an operation, once it has the communicator. */
  static void wakeIfParked() {
    if (parked) {
      wake();
    }
  }

  /** How long the thread sleeps between two looks. */
  static long pace() {
    return tick;
  }

  /** To be called by who is to be told of an end, which is not to take longer than needed. */
  static void hurry() {
    if (tick != TICK_NANOS) {
      tick = TICK_NANOS;
      LockSupport.unpark(thread);
    }
  }

  private static synchronized void wake() {
    coarseNanos = System.nanoTime();
    tick = TICK_NANOS;
    parked = false;
    LockSupport.unpark(thread);
  }

  @Override
  public void run() {
    while (true) {
      try {
        watch();
      } catch (RuntimeException | Error e) {
        report("watching communicators failed", e);
      }
    }
  }

  private void watch() {
    if (parked) {
      LockSupport.park(this);
      return;
    }
    pause();
    coarseNanos = System.nanoTime();
    if (!tickAll()) {
      parked = true;
      // Who issued before the line above did not wake this thread; an owner would never do.
      for (RankState state : WATCHED) {
        if (!isIdle(state)) {
          parked = false;
        }
      }
    }
  }

  private static boolean isIdle(RankState state) {
    if (state.gate.tryEnter()) {
      state.gate.leave();
    }
    return !state.hasOpenWork();
  }

  private void pause() {
    long begin = System.nanoTime();
    for (long left = tick; left > 0; left = tick - (System.nanoTime() - begin)) {
      LockSupport.parkNanos(this, left);
    }
  }

  private static boolean tickAll() {
    boolean open = false;
    boolean pressing = false;
    long slower = Math.min(2 * tick, LONGEST_TICK_NANOS);
    for (RankState state : WATCHED) {
      try {
        open |= state.oversight.tick(coarseNanos);
        pressing |= state.oversight.isMoving() || state.progress.isAwaited();
      } catch (RuntimeException | Error e) {
        // One communicator's trouble must not leave the others unwatched.
        report("watching " + state + " failed", e);
      }
    }
    tick = pressing ? TICK_NANOS : slower;
    if (!pressing && isAnyAwaited()) {
      // Who asked after it was looked at has set the pace before that was done here.
      tick = TICK_NANOS;
    }
    return open;
  }

  private static boolean isAnyAwaited() {
    for (RankState state : WATCHED) {
      if (state.progress.isAwaited()) {
        return true;
      }
    }
    return false;
  }

  /** Says what went wrong; where even that goes wrong, nobody is left to be told. */
  static void report(String what, Throwable problem) {
    try {
      LOG.log(Level.ERROR, what, problem);
    } catch (RuntimeException | Error e) {
      problem.addSuppressed(e);
    }
  }
}
