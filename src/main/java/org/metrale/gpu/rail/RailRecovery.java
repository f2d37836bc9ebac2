package org.metrale.gpu.rail;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Rebuilds rails after a failure, on a daemon thread that exists while there is something to
 * rebuild.
 *
 * <p>The wait between attempts doubles from a tenth of a second to five: a fault of this side, such
 * as a cable that is out, must not become a storm of handshakes for the peer.
 */
final class RailRecovery {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");
  private static final Duration FIRST_WAIT = Duration.ofMillis(100);
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(5);

  /** One attempt. */
  interface Attempt {
    /** Whether this side's devices could be connected at all; asked before the peer is troubled. */
    boolean isPossible();

    void rebuild() throws IOException;
  }

  private final String peer;
  private final Attempt attempt;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private Thread thread;
  private boolean wanted;
  private boolean closed;

  RailRecovery(String peer, Attempt attempt) {
    this.peer = peer;
    this.attempt = attempt;
  }

  /** Begins to rebuild, if that has not begun. */
  void request() {
    lock.lock();
    try {
      wanted = true;
      if (thread == null && !closed) {
        thread = new Thread(this::run, "rail recovery " + peer);
        thread.setDaemon(true);
        thread.start();
      }
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    Duration wait = FIRST_WAIT;
    while (pause(wait)) {
      try {
        if (attempt.isPossible()) {
          attempt.rebuild();
          LOG.log(Level.INFO, "the rails to " + peer + " are back");
          wait = FIRST_WAIT;
          continue;
        }
      } catch (IOException | RuntimeException | Error e) {
        LOG.log(Level.DEBUG, "the rails to " + peer + " are not back yet", e);
        again();
      }
      Duration doubled = wait.multipliedBy(2);
      wait = doubled.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : doubled;
    }
  }

  private void again() {
    lock.lock();
    try {
      wanted = true;
    } finally {
      lock.unlock();
    }
  }

  /** Waits; false if nothing is to be rebuilt any more, which ends the thread. */
  private boolean pause(Duration wait) {
    lock.lock();
    try {
      long left = wait.toNanos();
      while (wanted && !closed && left > 0) {
        left = changed.awaitNanos(left);
      }
      boolean go = wanted && !closed;
      if (!go) {
        thread = null;
      }
      return go;
    } catch (InterruptedException e) {
      thread = null;
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** What was asked for is about to be done; a failure after this asks anew. */
  void beginning() {
    lock.lock();
    try {
      wanted = false;
    } finally {
      lock.unlock();
    }
  }

  /** Ends it; waits for an attempt that is going on, which has a deadline. */
  void close() {
    Thread running;
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
      running = thread;
    } finally {
      lock.unlock();
    }
    if (running != null) {
      running.interrupt();
      try {
        running.join(TimeUnit.SECONDS.toMillis(15));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
