package org.metrale.gpu;

import java.util.concurrent.TimeUnit;

/**
 * What a library says of its version, asked once and in a thread of its own: even for this it may
 * open other libraries and wait for a driver. A program's first call comes through here, so there
 * is nothing that the JVM would have to make classes for.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
final class ToldVersion implements Runnable {
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(5);
  private static final int UNTOLD = -1;

  private final NativeTable table;
  private final Thread thread;
  private final long askedAtNanos = System.nanoTime();
  private volatile int code = UNTOLD;

  private ToldVersion(NativeTable table) {
    this.table = table;
    thread = new DaemonThread(this, "metrale-version");
  }

  static ToldVersion ask(NativeTable table) {
    ToldVersion out = new ToldVersion(table);
    out.thread.start();
    return out;
  }

  @Override
  public void run() {
    try {
      code = table.version();
    } catch (LibraryThrewException e) {
      code = UNTOLD; // it has one as little as a library that lacks the function
    }
  }

  /** The library's number; negative if it has none, or has not told it in five seconds. */
  int code() {
    boolean interrupted = false;
    long left = LIMIT_NANOS - (System.nanoTime() - askedAtNanos);
    while (code == UNTOLD && left > 0 && thread.isAlive()) {
      try {
        TimeUnit.NANOSECONDS.timedJoin(thread, left);
      } catch (InterruptedException e) {
        interrupted = true; // the wait is bounded
      }
      left = LIMIT_NANOS - (System.nanoTime() - askedAtNanos);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return code;
  }
}
