package org.metrale.gpu;

import java.util.function.Predicate;

/**
 * A thread of this layer: named, and no reason for the JVM to stay.
 *
 * <p>A process may have no thread to give; {@link #start()} throws an {@link OutOfMemoryError}
 * then, also a while after it had some. Whoever starts one is as before in that case, and tries
 * again, does the work itself, or says that it is not done.
 *
 * <p>For the packages of this module, not for programs.
 */
public final class DaemonThread extends Thread {
  /** Which threads are not to be had, for tests; null for none. */
  static volatile Predicate<Thread> denied;

  /**
   * Makes a thread, which is not started.
   *
   * @param work what it does
   * @param name its name
   */
  public DaemonThread(Runnable work, String name) {
    super(work, name);
    setDaemon(true);
  }

  /**
   * Begins to run it.
   *
   * @throws OutOfMemoryError if there is no thread to be had
   */
  @Override
  public synchronized void start() {
    Predicate<Thread> test = denied;
    if (test != null && test.test(this)) {
      throw new OutOfMemoryError("unable to create native thread: " + getName());
    }
    super.start();
  }
}
