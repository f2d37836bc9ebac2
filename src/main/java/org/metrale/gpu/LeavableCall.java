package org.metrale.gpu;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * One native call in a thread that may be left behind, and who waits for it.
 *
 * <p>For the packages of this module, not for programs.
 *
 * <p><b>Threading:</b> one thread waits at a time.
 *
 * @param <T> what the call answers
 */
public final class LeavableCall<T> implements Runnable {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu");

  private enum State {
    RUNNING,
    OVER,
    LEFT
  }

  @SuppressWarnings("rawtypes") // a class has no parameters
  private static final AtomicReferenceFieldUpdater<LeavableCall, State> STATE =
      AtomicReferenceFieldUpdater.newUpdater(LeavableCall.class, State.class, "state");

  private final CallLimit counter;
  private final Supplier<T> work;
  private final Runnable after;
  private final Consumer<? super T> late;
  private final long begunAtNanos = System.nanoTime();
  private volatile State state = State.RUNNING;
  private volatile Thread waiter;
  private T answer;
  private Throwable problem;

  private LeavableCall(
      CallLimit counter, Supplier<T> work, Runnable after, Consumer<? super T> late) {
    this.counter = counter;
    this.work = Objects.requireNonNull(work, "work");
    this.after = Objects.requireNonNull(after, "after");
    this.late = Objects.requireNonNull(late, "late");
  }

  static <T> LeavableCall<T> start(
      CallLimit counter, Supplier<T> work, Runnable after, Consumer<? super T> late) {
    LeavableCall<T> out = new LeavableCall<>(counter, work, after, late);
    boolean begun = false;
    try {
      CallThreads.execute(out);
      begun = true;
      return out;
    } finally {
      if (!begun) { // no thread is to be had
        after.run();
      }
    }
  }

  /** Makes the call here, however long it takes, where no thread is to be had. */
  static <T> LeavableCall<T> startOrRun(
      CallLimit counter, Supplier<T> work, Runnable after, Consumer<? super T> late) {
    LeavableCall<T> out = new LeavableCall<>(counter, work, after, late);
    CallThreads.executeOrRun(out);
    return out;
  }

  /**
   * Whether the call has returned to somebody who waits.
   *
   * @return false while it runs, and after {@link #leave()}
   */
  public boolean isOver() {
    return state == State.OVER;
  }

  /**
   * How long ago the call was begun.
   *
   * @return the time since then, in milliseconds
   */
  public Duration elapsed() {
    return Duration.ofMillis((System.nanoTime() - begunAtNanos) / 1_000_000);
  }

  /**
   * Waits for the call; an interrupt does not end the wait and is kept for later.
   *
   * @param timeout how long at most
   * @return whether the call returned in time
   */
  public boolean awaitThroughInterrupts(Duration timeout) {
    boolean interrupted = false;
    long deadline = deadline(timeout);
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

  /**
   * Waits for the call.
   *
   * @param timeout how long at most
   * @return whether the call returned in time
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public boolean await(Duration timeout) throws InterruptedException {
    return awaitUntil(deadline(timeout));
  }

  /**
   * Gives the call up.
   *
   * @return false if it returned just now
   */
  public boolean leave() {
    counter.left();
    if (STATE.compareAndSet(this, State.RUNNING, State.LEFT)) {
      return true;
    }
    counter.returned();
    return false;
  }

  /**
   * What the call answered; only when it is over.
   *
   * @return the answer; what the call threw is thrown
   */
  public T answer() {
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

  /** For the thread that makes the call. */
  @Override
  public void run() {
    try {
      answer = work.get();
    } catch (RuntimeException | Error e) {
      problem = e; // thrown to whoever waits
    }
    try {
      after.run();
    } catch (RuntimeException | Error e) {
      problem = problem == null ? e : problem;
    }
    if (STATE.compareAndSet(this, State.RUNNING, State.OVER)) {
      LockSupport.unpark(waiter);
      return;
    }
    try {
      if (problem == null) {
        late.accept(answer);
      }
    } catch (RuntimeException | Error e) {
      problem = e;
    }
    if (problem != null) {
      LOG.log(Level.WARNING, "a call that nobody waited for any more failed", problem);
    }
    counter.returned();
  }

  private static long deadline(Duration timeout) {
    return System.nanoTime() + Math.min(Backoff.nanos(timeout), Long.MAX_VALUE / 2);
  }

  private boolean awaitUntil(long deadline) throws InterruptedException {
    long begin = System.nanoTime();
    while (!isOver()) {
      long now = System.nanoTime();
      if (now - deadline >= 0) {
        return isOver();
      }
      if (now - begin < CallThreads.SPIN_NANOS) {
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
}
