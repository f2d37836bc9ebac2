package org.metrale.gpu.rail;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.metrale.gpu.DaemonThread;

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

  /** What came of an attempt. */
  enum Outcome {
    /** No rail is down any more. */
    COMPLETE,
    /** Some rails are back, others are not. */
    PARTIAL,
    /** Nothing can be done now. */
    NOTHING
  }

  /** One attempt. */
  interface Attempt {
    Outcome rebuild() throws IOException;
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

  /** Begins to rebuild, if that has not begun; later, where no thread is to be had for it. */
  void request() {
    lock.lock();
    try {
      wanted = true;
      if (thread == null && !closed) {
        Thread made = new DaemonThread(this::run, "rail recovery " + peer);
        thread = RailTimer.start(made, this::request) ? made : null;
      }
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    Duration wait = FIRST_WAIT;
    while (pause(wait)) {
      beginning();
      Outcome outcome = Outcome.NOTHING;
      try {
        outcome = attempt.rebuild();
      } catch (IOException | RuntimeException | Error e) {
        LOG.log(Level.DEBUG, "the rails to " + peer + " are not back yet", e);
      }
      if (outcome.equals(Outcome.NOTHING)) {
        Duration doubled = wait.multipliedBy(2);
        wait = doubled.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : doubled;
      } else {
        wait = FIRST_WAIT;
      }
      if (!outcome.equals(Outcome.COMPLETE)) {
        again();
      }
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
  private void beginning() {
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
