package org.metrale.gpu.cuda;

import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * The one thread that watches events for everybody, so that no user thread is blocked.
 *
 * <p>It exists from the first use on, parks while nothing is watched, and polls with short sleeps
 * otherwise. Programs' continuations run elsewhere: one that blocks must not hold up the others.
 * Nothing that goes wrong with one event ends it.
 */
final class Completions implements Runnable {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.cuda");
  private static final long FIRST_SLEEP_NANOS = 20_000;
  private static final long LONGEST_SLEEP_NANOS = 1_000_000;
  private static final Completions INSTANCE = new Completions();

  private final ArrayDeque<Watched> arrived = new ArrayDeque<>();
  private Thread thread;

  private Completions() {}

  /** One event, and what to do when it has passed. */
  private record Watched(BooleanSupplier event, Runnable after, CompletableFuture<Void> future) {
    /** Whether it is over, one way or the other. */
    boolean settle() {
      Throwable problem = null;
      try {
        if (!event.getAsBoolean()) {
          return false;
        }
      } catch (RuntimeException | Error e) {
        problem = e;
      }
      try {
        after.run();
      } catch (RuntimeException | Error e) {
        problem = worse(problem, e);
      }
      try {
        complete(problem);
      } catch (RuntimeException | Error e) {
        // No thread for the program's continuations: this one has to do.
        future.completeExceptionally(worse(problem, e));
      }
      return true;
    }

    private void complete(Throwable problem) {
      if (problem == null) {
        future.completeAsync(() -> null);
      } else {
        future.defaultExecutor().execute(() -> future.completeExceptionally(problem));
      }
    }

    private static Throwable worse(Throwable first, Throwable second) {
      if (first == null) {
        return second;
      }
      first.addSuppressed(second);
      return first;
    }
  }

  /**
   * Watches an event that is recorded already.
   *
   * @param event whether it has passed
   * @param after what is done then, before the program hears of it
   */
  static CompletionStage<Void> watch(BooleanSupplier event, Runnable after) {
    CompletableFuture<Void> future = new CompletableFuture<>();
    INSTANCE.add(new Watched(event, after, future));
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
      try {
        sleep = look(open, sleep);
      } catch (RuntimeException | Error e) {
        // Whatever it is, those who wait must not wait for ever.
        report(e);
      }
    }
  }

  /** One look at everything, and a pause; how long the next one may be. */
  private long look(List<Watched> open, long sleep) {
    boolean moved = take(open);
    for (Iterator<Watched> all = open.iterator(); all.hasNext(); ) {
      if (all.next().settle()) {
        all.remove();
        moved = true;
      }
    }
    if (open.isEmpty()) {
      LockSupport.park(this);
      return FIRST_SLEEP_NANOS;
    }
    long next = moved ? FIRST_SLEEP_NANOS : Math.min(2 * sleep, LONGEST_SLEEP_NANOS);
    LockSupport.parkNanos(this, next);
    return next;
  }

  /** Says what went wrong; where even that goes wrong, nobody is left to be told. */
  private static void report(Throwable problem) {
    try {
      LOG.log(Level.ERROR, "watching events failed", problem);
    } catch (RuntimeException | Error e) {
      problem.addSuppressed(e);
    }
  }
}
