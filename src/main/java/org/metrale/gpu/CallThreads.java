package org.metrale.gpu;

import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that make calls which may never return, so that their callers can stop waiting. A thread
 * takes one call at a time, waits a moment for the next one, and ends when none comes.
 */
final class CallThreads {
  /** How long both sides look before they sleep: waking a thread costs more than a short call. */
  static final long SPIN_NANOS = Runtime.getRuntime().availableProcessors() > 1 ? 20_000 : 0;

  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** The thread that was idle last, perhaps still looking; one slot is cheaper than a queue. */
  private static final AtomicReference<Worker> LAST = new AtomicReference<>();

  private static final ConcurrentLinkedDeque<Worker> IDLE = new ConcurrentLinkedDeque<>();
  private static final AtomicInteger NUMBERS = new AtomicInteger();

  /** Never run: stands for a thread that takes nothing any more. */
  private static final Runnable ENDED = CallThreads::nothing;

  private CallThreads() {}

  private static void nothing() {}

  /**
   * Begins a call, in a thread that does nothing else until it has returned.
   *
   * @param task throws nothing
   */
  static void execute(Runnable task) {
    for (Worker worker = idle(); worker != null; worker = idle()) {
      if (worker.next.compareAndSet(null, task)) {
        if (worker.asleep) {
          LockSupport.unpark(worker.thread);
        }
        return;
      }
    }
    new Worker(task).thread.start();
  }

  /**
   * The same, in this thread where there is no other to be had.
   *
   * @param task throws nothing
   */
  static void executeOrRun(Runnable task) {
    try {
      execute(task);
    } catch (OutOfMemoryError e) {
      task.run();
    }
  }

  private static Worker idle() {
    Worker last = LAST.get();
    return last != null && LAST.compareAndSet(last, null) ? last : IDLE.pollFirst();
  }

  /** A thread that takes one call after the other. */
  private static final class Worker implements Runnable {
    private final AtomicReference<Runnable> next;
    private final Thread thread;
    private volatile boolean asleep;

    Worker(Runnable first) {
      next = new AtomicReference<>(first);
      thread = new DaemonThread(this, "metrale-call-" + NUMBERS.incrementAndGet());
    }

    @Override
    public void run() {
      while (take()) {
        next.get().run();
        next.set(null);
        if (!LAST.compareAndSet(null, this)) {
          IDLE.addFirst(this);
        }
      }
    }

    /** Waits for a call; false if none comes. */
    private boolean take() {
      long begin = System.nanoTime();
      while (next.get() == null) {
        long waited = System.nanoTime() - begin;
        if (waited < SPIN_NANOS) {
          Thread.onSpinWait();
        } else if (waited < IDLE_NANOS) {
          asleep = true;
          if (next.get() == null) {
            LockSupport.parkNanos(this, IDLE_NANOS - waited);
          }
          asleep = false;
        } else if (next.compareAndSet(null, ENDED)) {
          if (!LAST.compareAndSet(this, null)) {
            IDLE.remove(this);
          }
          return false;
        }
      }
      return true;
    }
  }
}
