package org.metrale.gpu.rail;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Ends a blocking call on a socket at the deadline, or when its thread is interrupted, by closing
 * the socket: the one thing that wakes a thread which reads or writes it, TLS and full buffers
 * included.
 */
final class DeadlineWatch implements Runnable {
  /** How often an interrupt is looked for; nothing tells a watcher of one. */
  private static final long INTERRUPT_CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private static final ScheduledThreadPoolExecutor TIMER = timer();

  private enum State {
    WATCHING,
    STOPPED,
    LATE,
    INTERRUPTED
  }

  /** A call that blocks until the socket is closed, at the latest. */
  @FunctionalInterface
  interface BlockingCall {
    int run() throws IOException;
  }

  private final AtomicReference<State> state = new AtomicReference<>(State.WATCHING);
  private final Thread watched = Thread.currentThread();
  private final Closeable socket;
  private final Deadline deadline;

  /** The next look; one that is not cancelled finds the watch stopped. */
  private volatile ScheduledFuture<?> next;

  private DeadlineWatch(Closeable socket, Deadline deadline) {
    this.socket = socket;
    this.deadline = deadline;
  }

  /** Runs one call; {@code socket} is closed if that is what it takes to end it. */
  static int during(BlockingCall call, Closeable socket, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    if (Thread.interrupted()) {
      throw new InterruptedException("before the wait");
    }
    if (deadline.hasPassed(System.nanoTime())) {
      throw new TimeoutException("before the wait");
    }
    DeadlineWatch watch = new DeadlineWatch(socket, deadline);
    watch.again();
    int answer = 0;
    IOException failure = null;
    try {
      answer = call.run();
    } catch (IOException e) {
      failure = e;
    } finally {
      watch.state.compareAndSet(State.WATCHING, State.STOPPED);
      watch.next.cancel(false);
    }
    watch.throwIfFired(failure);
    if (failure != null) {
      throw failure;
    }
    return answer;
  }

  @Override
  public void run() {
    if (watched.isInterrupted()) {
      fire(State.INTERRUPTED);
    } else if (deadline.hasPassed(System.nanoTime())) {
      fire(State.LATE);
    } else if (state.get() == State.WATCHING) {
      again();
    }
  }

  private void again() {
    long remaining = deadline.remainingNanos(System.nanoTime());
    next = TIMER.schedule(this, Math.min(remaining, INTERRUPT_CHECK_NANOS), TimeUnit.NANOSECONDS);
  }

  private void fire(State why) {
    if (state.compareAndSet(State.WATCHING, why)) {
      // On a thread of its own: a close that blocks must not keep other watches from firing.
      Thread closer = new Thread(this::closeSocket, "metrale-handshake-closer");
      closer.setDaemon(true);
      closer.start();
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

  private void throwIfFired(IOException failure) throws InterruptedException, TimeoutException {
    switch (state.get()) {
      case LATE -> {
        TimeoutException late = new TimeoutException("the deadline passed during the wait");
        if (failure != null) {
          late.addSuppressed(failure);
        }
        throw late;
      }
      case INTERRUPTED -> {
        Thread.interrupted();
        throw new InterruptedException("during the wait");
      }
      default -> {
        if (failure instanceof ClosedByInterruptException) {
          Thread.interrupted();
          throw new InterruptedException("during the wait");
        }
      }
    }
  }

  private static ScheduledThreadPoolExecutor timer() {
    ScheduledThreadPoolExecutor timer =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "metrale-handshake-timer");
              thread.setDaemon(true);
              return thread;
            });
    timer.setKeepAliveTime(1, TimeUnit.SECONDS);
    timer.allowCoreThreadTimeOut(true);
    timer.setRemoveOnCancelPolicy(true);
    return timer;
  }
}
