package org.metrale.gpu.cufile;

import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.metrale.gpu.Backoff;

/**
 * Threads that make calls which may never return, so that their callers can stop waiting. A thread
 * takes one call at a time, waits a moment for the next one, and ends when none comes.
 */
final class TransferThreads {
  private static final TransferThreads INSTANCE = new TransferThreads();
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** How long both sides look before they sleep: waking a thread costs more than a short call. */
  private static final long SPIN_NANOS =
      Runtime.getRuntime().availableProcessors() > 1 ? 20_000 : 0;

  private final ConcurrentLinkedDeque<Worker> idle = new ConcurrentLinkedDeque<>();
  private final AtomicInteger numbers = new AtomicInteger();

  private TransferThreads() {}

  static TransferThreads instance() {
    return INSTANCE;
  }

  /**
   * Begins a call.
   *
   * @param work the call
   * @param after runs when the call has returned, whether or not anybody still waits, and before
   *     anybody is told
   * @param late takes the answer if nobody waits for it any more
   */
  <T> Task<T> start(Supplier<T> work, Runnable after, Consumer<T> late) {
    Task<T> task = new Task<>(work, after, late);
    boolean begun = false;
    try {
      begin(task);
      begun = true;
      return task;
    } finally {
      if (!begun) { // no thread is to be had
        after.run();
      }
    }
  }

  private void begin(Task<?> task) {
    for (Worker worker = idle.pollFirst(); worker != null; worker = idle.pollFirst()) {
      if (worker.next.compareAndSet(null, task)) {
        if (worker.asleep) {
          LockSupport.unpark(worker.thread);
        }
        return;
      }
    }
    new Worker(task).thread.start();
  }

  /** One call, and who waits for it. */
  static final class Task<T> {
    private enum State {
      RUNNING,
      OVER,
      LEFT
    }

    private final Supplier<T> work;
    private final Runnable after;
    private final Consumer<T> late;
    private final AtomicReference<State> state = new AtomicReference<>(State.RUNNING);
    private volatile Thread waiter;
    private T answer;
    private Throwable problem;

    private Task(Supplier<T> work, Runnable after, Consumer<T> late) {
      this.work = work;
      this.after = after;
      this.late = late;
    }

    boolean isOver() {
      return state.get() == State.OVER;
    }

    /** Whether the call returned in time; an interrupt is kept for later. */
    boolean awaitThroughInterrupts(Duration timeout) {
      boolean interrupted = false;
      long deadline = System.nanoTime() + Math.min(Backoff.nanos(timeout), Long.MAX_VALUE / 2);
      try {
        while (true) {
          try {
            return awaitUntil(deadline);
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

    boolean await(Duration timeout) throws InterruptedException {
      return awaitUntil(System.nanoTime() + Math.min(Backoff.nanos(timeout), Long.MAX_VALUE / 2));
    }

    private boolean awaitUntil(long deadline) throws InterruptedException {
      long begin = System.nanoTime();
      while (!isOver()) {
        long now = System.nanoTime();
        if (now - deadline >= 0) {
          return isOver();
        }
        if (now - begin < SPIN_NANOS) {
          Thread.onSpinWait();
          continue;
        }
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
        waiter = Thread.currentThread();
        if (!isOver()) {
          LockSupport.parkNanos(this, deadline - now);
        }
      }
      return true;
    }

    /** Gives the call up; false if it returned just now. */
    boolean leave() {
      return state.compareAndSet(State.RUNNING, State.LEFT);
    }

    /** What the call answered or threw; only when it is over. */
    T answer() {
      if (problem == null) {
        return answer;
      }
      // Its stack is the other thread's. One that is thrown again and again must not grow.
      if (problem.getSuppressed().length == 0) {
        problem.addSuppressed(new IllegalStateException("the call was asked for here"));
      }
      if (problem instanceof Error error) {
        throw error;
      }
      throw (RuntimeException) problem;
    }

    private void run() {
      try {
        answer = work.get();
      } catch (RuntimeException | Error e) {
        problem = e; // thrown to whoever waits
      }
      try {
        after.run();
      } catch (RuntimeException e) {
        problem = problem == null ? e : problem;
      }
      if (state.compareAndSet(State.RUNNING, State.OVER)) {
        LockSupport.unpark(waiter);
      } else if (problem == null) {
        late.accept(answer);
      }
    }
  }

  /** A thread that takes one call after the other. */
  private final class Worker implements Runnable {
    /** Never run: stands for a thread that takes nothing any more. */
    private final Task<Object> ended = new Task<>(() -> null, () -> {}, answer -> {});

    private final AtomicReference<Task<?>> next;
    private final Thread thread;
    private volatile boolean asleep;

    Worker(Task<?> first) {
      next = new AtomicReference<>(first);
      thread = new Thread(this, "metrale-cufile-call-" + numbers.incrementAndGet());
      thread.setDaemon(true);
    }

    @Override
    public void run() {
      while (take()) {
        next.get().run();
        next.set(null);
        idle.addFirst(this);
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
        } else if (next.compareAndSet(null, ended)) {
          idle.remove(this);
          return false;
        }
      }
      return true;
    }
  }
}
