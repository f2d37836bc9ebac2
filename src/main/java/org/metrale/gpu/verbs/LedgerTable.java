package org.metrale.gpu.verbs;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Whose completions come in a completion queue, and how many of them may be there at the same time.
 *
 * <p><b>Threading:</b> guarded by the lock of its completion queue.
 */
final class LedgerTable {
  /** One place less than the ids have, which is that of shared receive queues. */
  private static final int QUEUE_PAIRS = (1 << 15) - 1;

  private final VerbsCompletionQueue queue;
  private final int entries;

  /** The two of a queue pair side by side, the send queue's first. */
  private WorkLedger[] ledgers = new WorkLedger[8];

  /** Those of shared receive queues; each once, and until it is closed or was of no use. */
  private final List<Share> shared = new ArrayList<>();

  private int nextPlace;
  private int promised;

  LedgerTable(VerbsCompletionQueue queue, int entries) {
    this.queue = queue;
    this.entries = entries;
  }

  /**
   * Takes a queue pair's queues in. A shared receive queue's completions may all come here, but no
   * more of them however many queue pairs use it.
   */
  void add(WorkLedgers both) {
    SharedLedger more = both.shared();
    Share share = more == null ? null : shareOf(more);
    boolean joins = more != null && share == null;
    int wanted = both.depth() + (joins ? more.depth() : 0);
    if (promised + wanted > entries) {
      throw new IllegalStateException(
          queue + " has room for " + (entries - promised) + " more, not for " + wanted);
    }
    int place = freePlace();
    if (place >= ledgers.length) {
      ledgers = Arrays.copyOf(ledgers, 2 * place);
    }
    if (joins) {
      share = new Share(more);
      shared.add(share);
      more.usedBy(queue);
    }
    if (share != null) {
      share.pairs++;
    }
    ledgers[place] = both.sends();
    ledgers[place + 1] = both.receives();
    both.sends().placeAt(place);
    both.receives().placeAt(place + 1);
    promised += wanted;
  }

  /** Forgets a queue pair's queues; their left-over completions are passed over. */
  void remove(WorkLedgers both) {
    for (int i = 0; i < ledgers.length; i += 2) {
      if (ledgers[i] == both.sends()) {
        ledgers[i] = null;
        ledgers[i + 1] = null;
        promised -= both.depth();
        leave(both);
      }
    }
  }

  /** The last queue pair gives a shared receive queue's room back, if none can have used it. */
  private void leave(WorkLedgers both) {
    Share share = both.shared() == null ? null : shareOf(both.shared());
    if (share == null) {
      return;
    }
    share.used |= both.mayHaveReceived();
    if (--share.pairs == 0 && !share.used) {
      remove(share.ledger);
      share.ledger.unusedBy(queue);
    }
  }

  private Share shareOf(SharedLedger ledger) {
    for (Share share : shared) {
      if (share.ledger.equals(ledger)) {
        return share;
      }
    }
    return null;
  }

  /** Forgets a shared receive queue. */
  void remove(SharedLedger one) {
    if (shared.removeIf(share -> share.ledger.equals(one))) {
      promised -= one.depth();
    }
  }

  /** Tells the shared receive queues that their completions do not come here any more. */
  void close() {
    for (Share share : shared) {
      share.ledger.unusedBy(queue);
    }
  }

  /** The next two places in turn, so that none is used again while completions may name it. */
  private int freePlace() {
    for (int tried = 0; tried < QUEUE_PAIRS; tried++) {
      int place = nextPlace;
      nextPlace = (nextPlace + 2) % (2 * QUEUE_PAIRS);
      if (place >= ledgers.length || ledgers[place] == null) {
        return place;
      }
    }
    throw new IllegalStateException(queue + " has " + QUEUE_PAIRS + " queue pairs");
  }

  /**
   * Hands completions to the queues they are of; those of queues that are gone are dropped.
   *
   * @return how many are left
   */
  int distribute(VerbsCompletions into, int found) {
    int count = found;
    int from = 0;
    while (from < count) {
      long id = into.rawId(from);
      int to = retire(into, from, count, id);
      if (to == from) {
        do {
          to++;
        } while (to < count && areOfOneQueue(into.rawId(to), id));
        count = into.drop(from, to);
      } else {
        from = to;
      }
    }
    return count;
  }

  private int retire(VerbsCompletions into, int from, int to, long id) {
    int place = WorkLedger.placeOf(id);
    if (place == SharedLedger.PLACE) {
      SharedLedger one = shared(id);
      return one == null ? from : one.retire(into, from, to, this);
    }
    WorkLedger ledger = place < ledgers.length ? ledgers[place] : null;
    return ledger == null ? from : ledger.retire(into, from, to);
  }

  private SharedLedger shared(long id) {
    for (int i = 0; i < shared.size(); i++) {
      SharedLedger one = shared.get(i).ledger;
      if (one.isOf(id)) {
        return one;
      }
    }
    return null;
  }

  private static boolean areOfOneQueue(long id, long other) {
    int place = WorkLedger.placeOf(id);
    return place == WorkLedger.placeOf(other)
        && (place != SharedLedger.PLACE || SharedLedger.areOfOne(id, other));
  }

  /** Takes note of a shared request's failure, which is one of the queue pair that used it. */
  void failed(VerbsCompletions completions, int index) {
    int pair = completions.queuePairNumber(index);
    for (WorkLedger ledger : ledgers) {
      if (ledger != null && ledger.isOf(pair)) {
        ledger.failed(completions, index);
        return;
      }
    }
    completions.failed(index, null);
  }

  /** A shared receive queue whose completions may come here. */
  private static final class Share {
    final SharedLedger ledger;

    /** How many queue pairs use it now. */
    int pairs;

    /** Whether one that is gone may have used requests. */
    boolean used;

    Share(SharedLedger ledger) {
      this.ledger = ledger;
    }
  }
}
