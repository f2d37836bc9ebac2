package org.metrale.gpu.cuda;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.metrale.gpu.DaemonThread;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.PendingWork;

/**
 * The one thread that watches events for everybody, so that no user thread is blocked.
 *
 * <p>It exists from the first use on, parks while nothing is watched, and polls with short sleeps
 * otherwise. Programs' continuations run elsewhere: one that blocks must not hold up the others.
 * Nothing that goes wrong with one event ends it.
 */
final class Completions implements Runnable, PendingWork.Source {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.cuda");
  private static final long FIRST_SLEEP_NANOS = 20_000;
  private static final long LONGEST_SLEEP_NANOS = 1_000_000;
  private static final Completions INSTANCE = new Completions();

  /** What is watched. Guarded by itself. */
  private final List<Watched> open = new ArrayList<>();

  private volatile Thread thread;

  static {
    PendingWork.add(INSTANCE);
  }

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

  private void add(Watched watched) {
    Thread looks = started();
    synchronized (open) {
      open.add(watched);
    }
    LockSupport.unpark(looks);
  }

  /** To be called before something is queued that is to be watched: a thread may not be had. */
  static void prepare() {
    if (INSTANCE.thread == null) {
      Thread unused = INSTANCE.started();
    }
  }

  private synchronized Thread started() {
    if (thread == null) {
      Thread made = new DaemonThread(this, "metrale-cuda-completions");
      made.start();
      thread = made;
    }
    return thread;
  }

  /** Copies count on their memory; who closes that need not wait until this thread looks. */
  @Override
  public void settle() {
    look();
  }

  @Override
  public String userOf(NativeResource memory) {
    return null;
  }

  @Override
  public void run() {
    long sleep = FIRST_SLEEP_NANOS;
    while (true) {
      try {
        boolean moved = look();
        if (isEmpty()) {
          LockSupport.park(this);
          sleep = FIRST_SLEEP_NANOS;
        } else {
          sleep = moved ? FIRST_SLEEP_NANOS : Math.min(2 * sleep, LONGEST_SLEEP_NANOS);
          LockSupport.parkNanos(this, sleep);
        }
      } catch (RuntimeException | Error e) {
        // Whatever it is, those who wait must not wait for ever.
        report(e);
      }
    }
  }

  private boolean isEmpty() {
    synchronized (open) {
      return open.isEmpty();
    }
  }

  /** One look at everything; whether something was over. */
  private boolean look() {
    synchronized (open) {
      return open.removeIf(Watched::settle);
    }
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
