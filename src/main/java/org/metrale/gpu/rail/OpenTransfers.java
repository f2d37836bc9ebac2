package org.metrale.gpu.rail;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;

/**
 * The transfers that are not over, however many: none costs the others anything when it comes, when
 * it is given a turn or when it goes.
 *
 * <p><b>Threading:</b> any thread may add one, ask whether there are any, or look at all of them;
 * the rest is guarded by the engine's lock.
 */
final class OpenTransfers {
  /** How long a step may go without a look at all of them, for each of them. */
  private static final long PAUSE_NANOS = 50;

  /** For who does not have the engine's lock. */
  private final Set<RailTransfer> all = ConcurrentHashMap.newKeySet();

  /** Those that no step has seen. */
  private final Queue<RailTransfer> arrived = new ConcurrentLinkedQueue<>();

  /** Those that steps see to, in no order. */
  private final List<RailTransfer> seen = new ArrayList<>();

  /** Those that may have a piece to give, the next first. */
  private final Deque<RailTransfer> turns = new ArrayDeque<>();

  private long lookedAtNanos = System.nanoTime();
  private int overSince;

  void add(RailTransfer transfer) {
    all.add(transfer);
    arrived.add(transfer);
  }

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** Shows all of them, also those that no step has seen. */
  void forEach(Consumer<RailTransfer> action) {
    all.forEach(action);
  }

  /** Takes in what has arrived. */
  void takeIn() {
    for (RailTransfer one = arrived.poll(); one != null; one = arrived.poll()) {
      seen.add(one);
      giveTurn(one);
    }
  }

  /** One more has come to its end. */
  void countOver() {
    overSince++;
  }

  /**
   * Whether all are to be looked at: many of them not at each step, but when half of them are over,
   * for nobody may take another step.
   */
  boolean isLookDue(long nowNanos) {
    int count = seen.size();
    if (nowNanos - lookedAtNanos < PAUSE_NANOS * count && overSince < (count + 1) / 2) {
      return false;
    }
    lookedAtNanos = nowNanos;
    overSince = 0;
    return true;
  }

  /** Those that steps see to: as many, each by its index until one is removed. */
  int size() {
    return seen.size();
  }

  RailTransfer get(int index) {
    return seen.get(index);
  }

  /** Forgets one that is over; the last takes its place. */
  void remove(int index) {
    RailTransfer last = seen.remove(seen.size() - 1);
    RailTransfer gone = index == seen.size() ? last : seen.set(index, last);
    all.remove(gone);
    if (turns.size() > 2 * seen.size() + 1) {
      turns.removeIf(RailTransfer::isDone);
    }
  }

  /** Has one take its turns, if it has a piece to give. */
  void giveTurn(RailTransfer transfer) {
    if (!transfer.isInTurn() && transfer.hasPiece()) {
      transfer.setInTurn(true);
      turns.addLast(transfer);
    }
  }

  /** The one whose turn it is among those that have a piece to give; null if none has. */
  RailTransfer next() {
    for (RailTransfer one = turns.peekFirst(); one != null; one = turns.peekFirst()) {
      if (one.hasPiece()) {
        return one;
      }
      endTurn();
    }
    return null;
  }

  /** The turn passes from {@link #next()} to the one after it. */
  void passOn() {
    giveTurn(endTurn());
  }

  private RailTransfer endTurn() {
    RailTransfer one = turns.removeFirst();
    one.setInTurn(false);
    return one;
  }

  /** Forgets all. */
  void clear() {
    all.clear();
    arrived.clear();
    seen.clear();
    turns.clear();
  }
}
