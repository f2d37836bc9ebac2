package org.metrale.gpu.cuda;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;

/**
 * The one thread that watches events for everybody, so that no user thread is blocked.
 *
 * <p>It exists from the first use on, parks while nothing is watched, and polls with short sleeps
 * otherwise. Programs' continuations run elsewhere: one that blocks must not hold up the others.
 */
final class Completions implements Runnable {
  private static final long FIRST_SLEEP_NANOS = 20_000;
  private static final long LONGEST_SLEEP_NANOS = 1_000_000;
  private static final Completions INSTANCE = new Completions();

  private final ArrayDeque<Watched> arrived = new ArrayDeque<>();
  private Thread thread;

  private Completions() {}

  /** One event, and what to do when it has passed. */
  private record Watched(
      CudaEvent event, CudaContext pool, Hold hold, CompletableFuture<Void> future) {
    /** Whether it is over, one way or the other. */
    boolean settle() {
      RuntimeException problem = null;
      try {
        if (!event.isDone()) {
          return false;
        }
      } catch (RuntimeException e) {
        problem = e;
      }
      if (hold != null) {
        hold.close();
      }
      if (pool != null) {
        pool.giveBack(event);
      }
      RuntimeException failure = problem;
      if (failure == null) {
        future.completeAsync(() -> null);
      } else {
        future.defaultExecutor().execute(() -> future.completeExceptionally(failure));
      }
      return true;
    }
  }

  /**
   * Watches an event that is recorded already.
   *
   * @param pool who gets the event back, or null
   * @param hold closed when the event has passed, or null
   */
  static CompletionStage<Void> watch(CudaEvent event, CudaContext pool, Hold hold) {
    CompletableFuture<Void> future = new CompletableFuture<>();
    INSTANCE.add(new Watched(event, pool, hold, future));
    return future;
  }

  private synchronized void add(Watched watched) {
    arrived.add(watched);
    if (thread == null) {
      thread = new Thread(this, "metrale-cuda-completions");
      thread.setDaemon(true);
      thread.start();
    }
    LockSupport.unpark(thread);
  }

  private synchronized boolean take(List<Watched> into) {
    boolean some = !arrived.isEmpty();
    into.addAll(arrived);
    arrived.clear();
    return some;
  }

  @Override
  public void run() {
    List<Watched> open = new ArrayList<>();
    long sleep = FIRST_SLEEP_NANOS;
    while (true) {
      boolean moved = take(open);
      for (Iterator<Watched> all = open.iterator(); all.hasNext(); ) {
        if (all.next().settle()) {
          all.remove();
          moved = true;
        }
      }
      if (open.isEmpty()) {
        LockSupport.park(this);
        sleep = FIRST_SLEEP_NANOS;
      } else {
        sleep = moved ? FIRST_SLEEP_NANOS : Math.min(2 * sleep, LONGEST_SLEEP_NANOS);
        LockSupport.parkNanos(this, sleep);
      }
    }
  }
}
