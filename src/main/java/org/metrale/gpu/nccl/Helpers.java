package org.metrale.gpu.nccl;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads for native calls that may wait for peers. If such a call never comes back it costs one of
 * these, not a thread of the program.
 */
final class Helpers {
  private static final long IDLE_SECONDS = 2;
  private static final AtomicInteger NUMBER = new AtomicInteger();
  private static final ExecutorService THREADS =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          task -> {
            Thread thread = new Thread(task, "metrale-nccl-helper-" + NUMBER.incrementAndGet());
            thread.setDaemon(true);
            return thread;
          });

  private Helpers() {}

  static void run(Runnable task) {
    THREADS.execute(task);
  }
}
