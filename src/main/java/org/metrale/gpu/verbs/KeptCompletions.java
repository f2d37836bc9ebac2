package org.metrale.gpu.verbs;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Completions that were taken off a completion queue ahead of their turn, as the device wrote them.
 *
 * <p><b>Threading:</b> guarded by the lock of its completion queue.
 */
final class KeptCompletions {
  private static final int CHUNK = 64;

  private final Deque<VerbsCompletions> chunks = new ArrayDeque<>();

  /** How many of the first chunk are gone. */
  private int gone;

  boolean isEmpty() {
    return chunks.isEmpty();
  }

  /**
   * Takes all that a queue has now; as far as it can be polled.
   *
   * @param turns how many queue pairs it has had
   */
  void takeAll(long queue, long turns) {
    int count;
    do {
      VerbsCompletions chunk = VerbsCompletions.allocate(CHUNK);
      count = (int) VerbsWorkCalls.poll(queue, chunk.address(), CHUNK, WorkLedger.STEP);
      if (count > 0) {
        chunk.filled(count);
        chunk.takenAfter(turns);
        chunks.add(chunk);
      }
    } while (count == CHUNK);
  }

  /** Moves as many as fit, the oldest first. */
  void moveTo(VerbsCompletions into) {
    VerbsCompletions first = chunks.element();
    int count = Math.min(first.size() - gone, into.capacity());
    into.copyOf(first, gone, count);
    gone += count;
    if (gone == first.size()) {
      chunks.remove();
      gone = 0;
    }
  }
}
