package org.metrale.gpu.nccl;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * What a communicator has issued and how far it has come.
 *
 * <p>Invariants: {@code issued} is written only by who has the communicator. {@code completed} only
 * grows and only under {@code pollLock}. Operations of one communicator end in the order in which
 * they were issued, on whatever streams, because NCCL runs them one after the other, or {@link
 * Issuing#followLast} does; so one event that has passed stands for everything before it.
 */
final class Progress {
  private static final VarHandle ISSUED;

  static {
    try {
      ISSUED = MethodHandles.lookup().findVarHandle(Progress.class, "issued", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final RankState rank;
  private final Object pollLock = new Object();
  private final Map<Long, CompletableFuture<Void>> waiting = new TreeMap<>();

  /** Whether somebody is to be told of an end. */
  private volatile boolean awaited;

  private volatile long issued = -1;
  private volatile long completed = -1;

  /** The last operation that NCCL took but is still starting, if later than {@link #issued}. */
  private volatile long taken = -1;

  private volatile boolean eventsGone;

  Progress(RankState rank) {
    this.rank = rank;
  }

  /** The number of the next operation, for who has the communicator. */
  long next() {
    return issued + 1;
  }

  void publish(long sequence) {
    ISSUED.setRelease(this, sequence);
  }

  void taken(long sequence) {
    taken = sequence;
  }

  /** The last operation whose event is recorded. */
  long issued() {
    return issued;
  }

  /** The last operation that NCCL has. */
  long lastIssued() {
    return Math.max(issued, taken);
  }

  long completed() {
    return completed;
  }

  boolean isOpen() {
    return issued > completed;
  }

  /** Looks what is done; nobody waits for anybody here. */
  void poll() {
    synchronized (pollLock) {
      long last = issued;
      long first = Math.max(completed + 1, last - rank.events.capacity() + 1);
      if (last < first || eventsGone) {
        return;
      }
      int passed = rank.events.passed(first, (int) (last - first + 1));
      if (rank.failure() != null) {
        // Events of operations that were stopped pass too.
        return;
      }
      if (passed > 0) {
        long done = first + passed - 1;
        rank.ring.finish(done, System.nanoTime());
        completed = done;
        finishWaiting(done);
      } else if (passed < 0) {
        NcclOperationKind kind = rank.ring.kind(first);
        rank.fail(
            NcclCalls.failed(
                kind.call(), passed, rank.handle(), rank.detail() + " sequence=" + first));
      }
    }
  }

  private void finishWaiting(long done) {
    synchronized (waiting) {
      if (waiting.isEmpty()) {
        // Also on the way of an operation, where an iterator is too much.
        return;
      }
      var all = waiting.entrySet().iterator();
      while (all.hasNext()) {
        var next = all.next();
        if (next.getKey() > done) {
          return;
        }
        all.remove();
        completeElsewhere(next.getValue());
      }
      awaited = false;
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the same future
  private static void completeElsewhere(CompletableFuture<Void> future) {
    try {
      future.completeAsync(() -> null);
    } catch (RuntimeException | Error e) {
      // No thread is to be had: whoever waits is told here.
      future.complete(null);
    }
  }

  /** Whether an operation is done; an exception if it never will be. */
  boolean isDone(long sequence) {
    if (completed >= sequence) {
      return true;
    }
    if (rank.failure() == null) {
      poll();
      if (completed >= sequence) {
        return true;
      }
    }
    rank.requireHealthy();
    return false;
  }

  /** Whether an end is to be told as soon as it is there. */
  boolean isAwaited() {
    return awaited;
  }

  CompletableFuture<Void> completion(long sequence) {
    CompletableFuture<Void> out = completionOrNew(sequence);
    if (!out.isDone()) {
      NcclWatchdog.hurry();
    }
    return out;
  }

  private CompletableFuture<Void> completionOrNew(long sequence) {
    synchronized (waiting) {
      if (completed >= sequence) {
        return CompletableFuture.completedFuture(null);
      }
      NcclException broken = rank.failure();
      if (broken != null) {
        return CompletableFuture.failedFuture(broken);
      }
      awaited = true;
      return waiting.computeIfAbsent(sequence, key -> new CompletableFuture<>());
    }
  }

  /** Whoever asks for a completion from here on is told of the failure; the others are returned. */
  List<CompletableFuture<Void>> failing(Runnable mark) {
    synchronized (waiting) {
      mark.run();
      List<CompletableFuture<Void>> out = new ArrayList<>(waiting.values());
      waiting.clear();
      awaited = false;
      return out;
    }
  }

  /** After this nobody asks for events. */
  void closeEvents() {
    synchronized (pollLock) {
      eventsGone = true;
      rank.events.close();
    }
  }
}
