package org.metrale.gpu.rail;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;

/**
 * Knows whether the engine's step that is being taken comes to an end: posting and polling are
 * calls without a limit, made with the engine's lock held. While there are transfers a shared timer
 * looks at it now and then, so that who waits for one is told at its deadline all the same.
 *
 * <p>A step costs two writes and at most two more for each rail; none needs a fence on x86.
 */
final class StepWatch {
  private static final long TICK_MILLIS = 250;

  /** What no call takes that is into a device's own memory. */
  private static final long STUCK_NANOS = Duration.ofMillis(500).toNanos();

  /** Looks at the transfers. */
  interface Watched {
    /** A step does not come to an end: who waits is told in time all the same. */
    void stuck(IllegalStateException why);

    /** Perhaps no thread takes steps: who has waited for so long after his time is told. */
    void neglected(long nanos);

    /** Whether there are transfers. */
    boolean isWatched();
  }

  private final Watched watched;
  private final AtomicBoolean ticking = new AtomicBoolean();

  /** When the step began that is being taken; 0 if none is. */
  private final AtomicLong began = new AtomicLong();

  private final AtomicInteger rail = new AtomicInteger();

  StepWatch(Watched watched) {
    this.watched = watched;
  }

  void begin(long nowNanos) {
    began.setRelease(nowNanos | 1);
  }

  /** The step is at this rail. */
  void at(int link) {
    rail.setRelease(link);
  }

  void end() {
    began.setRelease(0);
  }

  /** There is a transfer. */
  void look() {
    if (ticking.get() || !ticking.compareAndSet(false, true)) {
      return;
    }
    boolean begun = false;
    try {
      tickAgain();
      begun = true;
    } finally {
      if (!begun) { // no thread is to be had; the next transfer tries it again
        ticking.set(false);
      }
    }
  }

  private void tickAgain() {
    RailTimer.after(TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS), this::tick);
  }

  private void tick() {
    try {
      lookAtStep();
    } finally {
      goOn();
    }
  }

  private void lookAtStep() {
    long since = began.get();
    long nanos = System.nanoTime() - since;
    if (since != 0 && nanos > STUCK_NANOS) {
      watched.stuck(
          new IllegalStateException(
              "a call on rail "
                  + rail.get()
                  + ", or who is told of progress, has not returned for "
                  + Duration.ofNanos(nanos).toMillis()
                  + " ms"));
    } else {
      watched.neglected(STUCK_NANOS);
    }
  }

  /** Also after a look that failed, as where no thread is to be had. */
  private void goOn() {
    if (!watched.isWatched()) {
      ticking.set(false);
      // A transfer that came since the look has seen a timer that ticks.
      if (!watched.isWatched() || !ticking.compareAndSet(false, true)) {
        return;
      }
    }
    tickAgain();
  }

  /** Takes a lock that a step may hold for ever; false if it does. An interrupt ends no wait. */
  static boolean tryLock(Lock lock, Deadline deadline) {
    if (lock.tryLock()) {
      return true;
    }
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return lock.tryLock(deadline.remainingNanos(System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
