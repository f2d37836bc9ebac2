package org.metrale.gpu.rail;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;

/**
 * Written pieces of rails that failed, which rest before they are written again: their packets may
 * be on their way yet, and must not come after what is written to that place next. The peer's queue
 * pair takes them as long as another rail is on its connection. Guarded by the engine's lock.
 */
final class RestingPieces {
  /** How long a piece rests from when its queue pair is gone. */
  private static final long LATE_PACKET_NANOS = Duration.ofSeconds(1).toNanos();

  /** How long it rests where the device keeps the queue pair. */
  private static final long LONGEST_REST_NANOS = Duration.ofSeconds(5).toNanos();

  private record Resting(RailPiece piece, RailLink link, long sinceNanos) {
    boolean isOver(long nowNanos) {
      return piece.transfer().isDone()
          || link.isDownFor(LATE_PACKET_NANOS, nowNanos)
          || nowNanos - sinceNanos >= LONGEST_REST_NANOS;
    }
  }

  private final Deque<Resting> all = new ArrayDeque<>();

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** Lets a piece rest that was on this rail. */
  void add(RailPiece piece, RailLink link) {
    all.addLast(new Resting(piece, link, System.nanoTime()));
  }

  /** Gives back what has rested enough, and what is not written again. */
  void wake(long nowNanos) {
    if (all.isEmpty()) {
      return;
    }
    for (Iterator<Resting> each = all.iterator(); each.hasNext(); ) {
      Resting one = each.next();
      if (one.isOver(nowNanos)) {
        each.remove();
        one.piece.transfer().returned(one.piece);
      }
    }
  }

  /** Gives back everything, for it is not written again. */
  void giveBackAll() {
    all.forEach(one -> one.piece.transfer().returned(one.piece));
    all.clear();
  }
}
