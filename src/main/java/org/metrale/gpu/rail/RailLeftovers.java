package org.metrale.gpu.rail;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.metrale.gpu.BoundedCall;

/**
 * What could not be ended because a call of a device does not return: tried again now and then,
 * until the call has returned and nothing is left.
 */
final class RailLeftovers {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  private static final long AGAIN_NANOS = Duration.ofMillis(500).toNanos();

  /** Each ends what it can, and says whether that was all; the first to come is tried first. */
  private static final List<BooleanSupplier> OPEN = new CopyOnWriteArrayList<>();

  private static final AtomicBoolean TICKING = new AtomicBoolean();

  private RailLeftovers() {}

  /**
   * Sees to something.
   *
   * @param end ends what it can; true if nothing is left
   */
  static void add(BooleanSupplier end) {
    OPEN.add(end);
    tick();
  }

  private static boolean isOver(BooleanSupplier end) {
    try {
      return end.getAsBoolean();
    } catch (RuntimeException | OutOfMemoryError e) {
      LOG.log(Level.DEBUG, "what a device has not let go of still does not close", e);
      return false;
    }
  }

  private static void tick() {
    if (TICKING.compareAndSet(false, true)) {
      RailTimer.whenPossible(AGAIN_NANOS, RailLeftovers::begin);
    }
  }

  /** Not on the timer's thread: these are calls of devices. */
  private static void begin() {
    try {
      CompletableFuture<Boolean> unused = BoundedCall.start(RailLeftovers::look);
    } catch (OutOfMemoryError e) {
      RailTimer.whenPossible(AGAIN_NANOS, RailLeftovers::begin);
    }
  }

  private static boolean look() {
    OPEN.removeAll(OPEN.stream().filter(RailLeftovers::isOver).toList());
    TICKING.set(false);
    if (!OPEN.isEmpty()) {
      tick();
    }
    return OPEN.isEmpty();
  }
}
