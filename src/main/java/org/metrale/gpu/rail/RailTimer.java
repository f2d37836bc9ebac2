package org.metrale.gpu.rail;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.metrale.gpu.DaemonThread;

/**
 * For short looks a moment later, on one thread for all rails, which ends when there is nothing to
 * look at.
 */
final class RailTimer {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  /** Before a thread is asked for again that was not to be had. */
  private static final long AGAIN_NANOS = Duration.ofMillis(100).toNanos();

  private static final ScheduledThreadPoolExecutor TIMER =
      new ScheduledThreadPoolExecutor(1, task -> new DaemonThread(task, "metrale-rail-timer"));

  static {
    TIMER.setKeepAliveTime(1, TimeUnit.SECONDS);
    TIMER.allowCoreThreadTimeOut(true);
  }

  private RailTimer() {}

  /**
   * Does something a moment later.
   *
   * @param look waits for nothing
   * @throws OutOfMemoryError if there is no thread to be had; it is not done then
   */
  static void after(long nanos, Runnable look) {
    // First the thread: what is scheduled without one stays, and is done when there is one.
    boolean unusedStart = TIMER.prestartCoreThread();
    ScheduledFuture<?> unused = TIMER.schedule(look, nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Starts a thread; where there is none to be had it is asked for again, a moment later or as soon
   * as there is one for this timer.
   *
   * @param again asks again
   * @return whether it runs
   */
  static boolean start(Thread thread, Runnable again) {
    try {
      thread.start();
      return true;
    } catch (OutOfMemoryError e) {
      LOG.log(Level.DEBUG, "no thread is to be had for " + thread.getName(), e);
    }
    whenPossible(AGAIN_NANOS, again);
    return false;
  }

  /**
   * Does something a moment later; where no thread is to be had for that, as soon as there is one
   * for something else.
   *
   * @param look waits for nothing
   */
  static void whenPossible(long nanos, Runnable look) {
    try {
      ScheduledFuture<?> unused = TIMER.schedule(look, nanos, TimeUnit.NANOSECONDS);
    } catch (OutOfMemoryError e) {
      LOG.log(Level.DEBUG, "no thread is to be had: what is scheduled waits for the next", e);
    }
  }

  /** How much there is to be looked at. */
  static int waiting() {
    return TIMER.getQueue().size();
  }

  /** Whether it has its thread now. */
  static boolean hasThread() {
    return TIMER.getPoolSize() > 0;
  }
}
