package org.metrale.gpu.rail;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.metrale.gpu.DaemonThread;

/**
 * Ends blocking calls on a socket at their deadline, or when their thread is interrupted, by
 * closing the socket: the one thing that wakes a thread which reads or writes it, TLS and full
 * buffers included.
 *
 * <p>A shared timer looks at the call in progress every 10 ms, and not at all while there is none.
 * So a call costs two volatile writes, not a visit to the timer, and may end 10 ms late.
 */
final class DeadlineWatch implements Runnable {
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private enum Outcome {
    RUNNING,
    DONE,
    LATE,
    INTERRUPTED
  }

  /** One call in progress. */
  private record Call(Thread thread, Deadline deadline, AtomicReference<Outcome> outcome) {
    static Call begun(Deadline deadline) {
      return new Call(Thread.currentThread(), deadline, new AtomicReference<>(Outcome.RUNNING));
    }
  }

  /** A call that blocks until the socket is closed, at the latest. */
  @FunctionalInterface
  interface BlockingCall {
    int run() throws IOException;
  }

  private final Closeable socket;
  private final AtomicReference<Optional<Call>> current = new AtomicReference<>(Optional.empty());
  private final AtomicBoolean ticking = new AtomicBoolean();

  /** A watch over calls on one socket, by one thread at a time. */
  DeadlineWatch(Closeable socket) {
    this.socket = socket;
  }

  /** Runs one call; the socket is closed if that is what it takes to end it. */
  int during(BlockingCall blocking, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    if (Thread.interrupted()) {
      throw new InterruptedException("before the wait");
    }
    if (deadline.hasPassed(System.nanoTime())) {
      throw new TimeoutException("before the wait");
    }
    Call call = Call.begun(deadline);
    current.set(Optional.of(call));
    try {
      tick(deadline);
      int answer = blocking.run();
      finish(call);
      throwIfEnded(call);
      return answer;
    } catch (IOException e) {
      finish(call);
      throwIfEnded(call);
      if (e instanceof ClosedByInterruptException) {
        Thread.interrupted();
        throw new InterruptedException("during the wait");
      }
      throw e;
    } finally {
      finish(call);
    }
  }

  /** Where no thread is to be had for that, the next call tries it again. */
  private void tick(Deadline deadline) {
    if (!ticking.compareAndSet(false, true)) {
      return;
    }
    boolean begun = false;
    try {
      tickAgain(deadline);
      begun = true;
    } finally {
      if (!begun) {
        ticking.set(false);
      }
    }
  }

  @Override
  public void run() {
    Optional<Call> seen = current.get();
    if (seen.isEmpty()) {
      ticking.set(false);
      // A call that began since the look has seen a timer that ticks: tick on for its sake.
      seen = current.get();
      if (seen.isEmpty() || !ticking.compareAndSet(false, true)) {
        return;
      }
    }
    Call call = seen.get();
    try {
      if (call.thread().isInterrupted()) {
        end(call, Outcome.INTERRUPTED);
      } else if (call.deadline().hasPassed(System.nanoTime())) {
        end(call, Outcome.LATE);
      }
    } finally {
      tickAgain(call.deadline());
    }
  }

  private void finish(Call call) {
    call.outcome().compareAndSet(Outcome.RUNNING, Outcome.DONE);
    current.set(Optional.empty());
  }

  private void tickAgain(Deadline deadline) {
    long remaining = deadline.remainingNanos(System.nanoTime());
    // A deadline that has passed is no reason to tick without a pause.
    long pause = remaining == 0 ? TICK_NANOS : Math.min(remaining, TICK_NANOS);
    RailTimer.after(pause, this);
  }

  private void end(Call call, Outcome why) {
    if (call.outcome().compareAndSet(Outcome.RUNNING, why)) {
      // On a thread of its own: a close that blocks must not keep other watches from acting.
      try {
        new DaemonThread(this::closeSocket, "metrale-handshake-closer").start();
      } catch (OutOfMemoryError e) {
        closeSocket(); // none is to be had, and the deadline holds all the same
      }
    }
  }

  private void closeSocket() {
    try {
      socket.close();
    } catch (IOException e) {
      // The waiting thread hears of the deadline; a socket that fails to close has closed.
      return;
    }
  }

  private static void throwIfEnded(Call call) throws InterruptedException, TimeoutException {
    switch (call.outcome().get()) {
      case LATE -> throw new TimeoutException("the deadline passed during the wait");
      case INTERRUPTED -> {
        Thread.interrupted();
        throw new InterruptedException("during the wait");
      }
      case RUNNING, DONE -> {}
    }
  }
}
