package org.metrale.gpu;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/** While this is open the process has no threads to give, or not all that are asked for. */
public final class NoThreads implements AutoCloseable {
  private final AtomicLong denied = new AtomicLong();

  private NoThreads(Predicate<Thread> which) {
    DaemonThread.denied =
        thread -> {
          boolean isDenied = which.test(thread);
          if (isDenied) {
            denied.incrementAndGet();
          }
          return isDenied;
        };
  }

  /** None whose name begins like this. */
  public static NoThreads named(String prefix) {
    return of(thread -> thread.getName().startsWith(prefix));
  }

  /** None of these. */
  public static NoThreads of(Predicate<Thread> which) {
    return new NoThreads(which);
  }

  /** How many were asked for in vain. */
  public long denied() {
    return denied.get();
  }

  /** Waits until so many were asked for in vain. */
  public void awaitDenied(long count) throws InterruptedException {
    while (denied() < count) {
      Thread.sleep(1);
    }
  }

  @Override
  public void close() {
    DaemonThread.denied = null;
  }
}
