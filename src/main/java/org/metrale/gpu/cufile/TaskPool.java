package org.metrale.gpu.cufile;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.metrale.gpu.DaemonThread;

/** Shares one large transfer over threads; its threads exist while there is something to share. */
final class TaskPool {
  /** Moves one part; answers bytes, or a number below 0. */
  interface Part {
    long move(long doneBytes, long lengthBytes);
  }

  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.cufile");

  private final int threads;
  private final long taskBytes;
  private final ThreadPoolExecutor helpers;

  TaskPool(CuFileOptions options) {
    threads = options.threads();
    taskBytes = options.taskSizeBytes();
    AtomicInteger number = new AtomicInteger();
    helpers =
        new ThreadPoolExecutor(
            Math.max(1, threads - 1),
            Math.max(1, threads - 1),
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            work -> new DaemonThread(work, "metrale-cufile-" + number.incrementAndGet()));
    helpers.allowCoreThreadTimeOut(true);
  }

  boolean isShared(long lengthBytes) {
    return threads > 1 && lengthBytes > taskBytes;
  }

  /**
   * Moves all parts and answers the bytes before the first that is not whole, or that part's error
   * if there are none. Parts begin at multiples of the task size in the file, so that ends stay
   * ends.
   */
  long share(long lengthBytes, long offset, Part part) {
    long first = taskBytes - offset % taskBytes;
    int parts = (int) (1 + (Math.max(0, lengthBytes - first) + taskBytes - 1) / taskBytes);
    AtomicLong next = new AtomicLong();
    long[] answers = new long[parts];
    Runnable work =
        () -> {
          for (long i = next.getAndIncrement(); i < parts; i = next.getAndIncrement()) {
            long from = i == 0 ? 0 : first + (i - 1) * taskBytes;
            long to = Math.min(lengthBytes, first + i * taskBytes);
            answers[(int) i] = part.move(from, to - from);
          }
        };
    List<Future<?>> running = new ArrayList<>();
    try {
      begin(work, Math.min(threads, parts) - 1, running);
      work.run();
    } finally {
      next.addAndGet(parts); // after an exception nobody begins another part
      awaitAll(running);
    }
    return together(answers, lengthBytes, first);
  }

  /** Has helpers take part; where there are no threads for all of them, fewer or none. */
  private void begin(Runnable work, int wanted, List<Future<?>> running) {
    try {
      for (int i = 0; i < wanted; i++) {
        running.add(helpers.submit(work));
      }
    } catch (OutOfMemoryError e) {
      LOG.log(Level.DEBUG, "a transfer is shared over fewer threads", e);
    }
  }

  void close() {
    helpers.shutdown();
  }

  private long together(long[] answers, long lengthBytes, long first) {
    long done = 0;
    for (int i = 0; i < answers.length; i++) {
      if (answers[i] < 0) {
        return done > 0 ? done : answers[i];
      }
      done += answers[i];
      if (done < Math.min(lengthBytes, first + i * taskBytes)) {
        break;
      }
    }
    return done;
  }

  /**
   * Waits for helpers that have begun. One that has not, because other transfers keep all threads
   * busy or hang in them, has nothing left to do: no part is free any more.
   */
  private void awaitAll(List<Future<?>> parts) {
    RuntimeException first = null;
    for (Future<?> part : parts) {
      if (part instanceof Runnable task && helpers.remove(task)) {
        continue;
      }
      try {
        await(part);
      } catch (RuntimeException e) {
        first = first == null ? e : first;
      }
    }
    if (first != null) {
      throw first;
    }
  }

  /** The memory is in use until the part ends, so an interrupt is kept for later. */
  private static void await(Future<?> part) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          part.get();
          return;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException problem
          ? problem
          : new CompletionException(e.getCause());
    } catch (CancellationException e) {
      throw new IllegalStateException("a part of a transfer was cancelled", e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
