package org.metrale.gpu.rail;

import java.lang.System.Logger.Level;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.metrale.gpu.DaemonThread;

/**
 * Takes the engine's steps when no caller does; a daemon thread that exists while there is work.
 */
final class RailDriver {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  private final TransferEngine engine;
  private final String peer;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ended = lock.newCondition();
  private Thread thread;

  /** Work was announced after the engine was last asked. */
  private boolean announced;

  private boolean closed;

  RailDriver(TransferEngine engine, String peer) {
    this.engine = engine;
    this.peer = peer;
  }

  /** There is work, or may be. Where no thread is to be had for it, that is tried again. */
  void wake() {
    lock.lock();
    try {
      announced = true;
      if (thread == null && !closed) {
        Thread made = new DaemonThread(this::run, "rails to " + peer);
        thread = RailTimer.start(made, this::wake) ? made : null;
      }
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    int idle = 0;
    while (goOn()) {
      try {
        idle = engine.tryStep() ? 0 : idle + 1;
      } catch (RuntimeException | Error e) {
        // Without this thread nothing would move any more, and close() would wait for it for ever.
        LOG.log(Level.ERROR, "a step of the rails to " + peer + " failed", e);
        idle = Integer.MAX_VALUE >> 1;
      }
      TransferEngine.relax(idle);
    }
  }

  private boolean goOn() {
    // The engine first: its lock is never taken with this one held.
    boolean busy = engine.isBusy();
    lock.lock();
    try {
      if ((busy || announced) && !closed) {
        announced = false;
        return true;
      }
      thread = null;
      ended.signalAll();
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** Ends it; waits for the thread, unless that is in a call that does not return. */
  void close(Deadline deadline) {
    boolean interrupted = false;
    lock.lock();
    try {
      closed = true;
      long left = 1;
      while (thread != null && !thread.equals(Thread.currentThread()) && left > 0) {
        try {
          left = ended.awaitNanos(deadline.remainingNanos(System.nanoTime()));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
