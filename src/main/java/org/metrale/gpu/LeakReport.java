package org.metrale.gpu;

import java.lang.System.Logger.Level;
import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Says which resources were dropped without being closed; frees nothing.
 *
 * <p>Off unless {@code -Dorg.metrale.leaks=trace}: then each open resource carries the stack that
 * made it, and one that becomes unreachable while open is logged and counted.
 */
public final class LeakReport {
  private static final boolean TRACING = "trace".equals(System.getProperty("org.metrale.leaks"));
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.leaks");
  private static final AtomicLong LEAKED = new AtomicLong();
  private static final Cleaner CLEANER = TRACING ? Cleaner.create() : null;

  private LeakReport() {}

  /**
   * How many resources were found unreachable and still open.
   *
   * @return the count since the process began; 0 when tracing is off
   */
  public static long leaked() {
    return LEAKED.get();
  }

  static Watch opened(NativeResource resource) {
    if (!TRACING) {
      return null;
    }
    Watch watch = new Watch(resource.getClass().getName());
    CLEANER.register(resource, watch);
    return watch;
  }

  static void closed(Watch watch) {
    if (watch != null) {
      watch.closed = true;
    }
  }

  /** What is known of one open resource; must not refer to it. */
  static final class Watch implements Runnable {
    private final String type;
    private final Throwable madeAt;
    private volatile boolean closed;

    Watch(String type) {
      this.type = type;
      this.madeAt = new Throwable("made here");
    }

    @Override
    public void run() {
      if (!closed) {
        LEAKED.incrementAndGet();
        LOG.log(Level.WARNING, type + " was dropped without close()", madeAt);
      }
    }
  }
}
