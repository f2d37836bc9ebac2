package org.metrale.tools;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Being told to end, by Ctrl-C or SIGTERM: the command finishes what it must and its own exit code
 * is the process's, instead of the virtual machine's 130 or 143.
 */
final class EndRequest implements AutoCloseable {
  /** How long a command may take to finish. */
  private static final long PATIENCE_SECONDS = 30;

  private final CountDownLatch asked = new CountDownLatch(1);
  private final CountDownLatch finished = new CountDownLatch(1);
  private final Thread hook = new Thread(this::end, "end-request");
  private volatile int exitCode = 1;

  private EndRequest() {}

  static EndRequest listen() {
    EndRequest out = new EndRequest();
    Runtime.getRuntime().addShutdownHook(out.hook);
    return out;
  }

  /** Waits a while; true if the command is to end. */
  boolean await(long millis) throws InterruptedException {
    return asked.await(millis, TimeUnit.MILLISECONDS);
  }

  /** How the process is to end if it was told to. */
  void exitWith(int code) {
    exitCode = code;
  }

  private void end() {
    asked.countDown();
    try {
      finished.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().halt(exitCode);
  }

  @Override
  public void close() {
    finished.countDown();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // the process is ending, and the hook ends it
    }
  }
}
