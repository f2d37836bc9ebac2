package org.metrale.gpu.verbs;

import java.util.BitSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What a shared receive queue has in flight: its credits, the callers' numbers and the regions it
 * holds open.
 *
 * <p>Requests complete in any order and in the completion queue of whichever queue pair used them,
 * so that each has a slot of its own instead of its turn. An id has, from the lowest bits up, 16
 * that say that it is a shared queue's, 16 for which one, 16 for the slot and 16 that count the
 * slot's uses: a completion that comes twice or late is not taken for the slot's next request.
 *
 * <p>Neighbouring requests of one region hold it open together, until the last of them completes.
 */
final class SharedLedger {
  /** What the ids of all shared queues have where others have the place of a queue pair's queue. */
  static final int PLACE = WorkLedger.placeOf(-1);

  private static final int NUMBERS = 1 << 16;
  private static final int SLOT_BITS = 32;
  private static final int SLOT_MASK = 0xFFFF;
  private static final long NEXT_USE = 1L << 48;

  private static final int FREE = -2;
  private static final int WITHOUT_MEMORY = -1;

  private static final long CALL_NANOS = 1_000_000_000;

  /** The numbers of those that are open in this process; 0 is nobody's. */
  private static final BitSet OPEN = new BitSet();

  private static int nextNumber = 1;

  private final CallLock lock = new CallLock();
  private final int number;
  private final int depth;

  /** For each slot the id of its request, or of the next one if it is free. */
  private final long[] ids;

  private final long[] workIds;

  /** For each slot which hold its request is part of. */
  private final int[] holdOf;

  private final int[] freeSlots;
  private int free;

  private final VerbsMemoryRegion[] heldRegions;
  private final int[] heldBy;
  private final int[] freeHolds;
  private int holdsFree;

  /** Where completions may come. */
  private final Set<VerbsCompletionQueue> queues = ConcurrentHashMap.newKeySet();

  private SharedLedger(int number, int depth) {
    this.number = number;
    this.depth = depth;
    this.ids = new long[depth];
    this.workIds = new long[depth];
    this.holdOf = new int[depth];
    this.freeSlots = new int[depth];
    this.heldRegions = new VerbsMemoryRegion[depth];
    this.heldBy = new int[depth];
    this.freeHolds = new int[depth];
    for (int i = 0; i < depth; i++) {
      ids[i] = (long) i << SLOT_BITS | (tag() & 0xFFFF_FFFFL);
      holdOf[i] = FREE;
      freeSlots[i] = depth - 1 - i;
      freeHolds[i] = i;
    }
    free = depth;
    holdsFree = depth;
  }

  /** Makes one with a number of its own, which {@link #abandon()} gives back. */
  static SharedLedger open(int depth) {
    return new SharedLedger(takeNumber(), depth);
  }

  /** The next number in turn, so that none is used again while completions may name it. */
  private static int takeNumber() {
    synchronized (OPEN) {
      for (int tried = 1; tried < NUMBERS; tried++) {
        int taken = nextNumber;
        nextNumber = nextNumber % (NUMBERS - 1) + 1;
        if (!OPEN.get(taken)) {
          OPEN.set(taken);
          return taken;
        }
      }
    }
    throw new IllegalStateException("there are " + (NUMBERS - 1) + " shared receive queues");
  }

  /** Whether two ids of this place are of one shared queue. */
  static boolean areOfOne(long id, long other) {
    return (int) id == (int) other;
  }

  boolean isOf(long id) {
    return (int) id == tag();
  }

  private int tag() {
    return number << Short.SIZE | PLACE;
  }

  int number() {
    return number;
  }

  int depth() {
    return depth;
  }

  int inFlight() {
    boolean inside = lock.enter();
    try {
      return depth - free;
    } finally {
      if (inside) {
        lock.leave();
      }
    }
  }

  /** Notes that completions may come there from now on. */
  void usedBy(VerbsCompletionQueue queue) {
    queues.add(queue);
  }

  /** Notes that a completion queue is closed. */
  void unusedBy(VerbsCompletionQueue queue) {
    queues.remove(queue);
  }

  /** Posts what the credits allow; the number taken, or {@link WorkLedger#ENDED}. */
  int post(long queue, VerbsReceiveBatch batch) {
    if (!lock.enter()) {
      return WorkLedger.ENDED;
    }
    try {
      int count = Math.min(batch.size(), free);
      return count > 0 ? postInside(queue, batch, count) : 0;
    } finally {
      lock.leave();
    }
  }

  private int postInside(long queue, VerbsReceiveBatch batch, int count) {
    take(batch, count);
    batch.writeOut(count);
    int code = batch.callShared(queue, count);
    if (code == count) {
      batch.taken(count);
      return count;
    }
    int taken = batch.accepted();
    giveBack(count - taken);
    batch.taken(taken);
    if (code < 0 && !VerbsWorkCalls.isQueueFull(code)) {
      VerbsCalls.check("ibv_post_srq_recv", code, "requests=" + count + " taken=" + taken);
    }
    return taken;
  }

  /** Gives the next requests slots and ids, and holds their regions; all of them or none. */
  private void take(VerbsReceiveBatch batch, int count) {
    int done = 0;
    try {
      for (int run = batch.firstRun(); done < count; run++) {
        int hold = hold(batch.runRegion(run));
        for (int end = batch.runEnd(run, count); done < end; done++) {
          int slot = freeSlots[--free];
          holdOf[slot] = hold;
          if (hold >= 0) {
            heldBy[hold]++;
          }
          workIds[slot] = batch.workId(done);
          batch.identify(done, ids[slot]);
        }
      }
    } catch (IllegalStateException closed) {
      giveBack(done);
      throw closed;
    }
  }

  private int hold(VerbsMemoryRegion region) {
    if (region == null) {
      return WITHOUT_MEMORY;
    }
    region.pin();
    int hold = freeHolds[--holdsFree];
    heldRegions[hold] = region;
    return hold;
  }

  /** The last slots that were taken are free again, in the order that they were taken in. */
  private void giveBack(int count) {
    for (int i = 0; i < count; i++) {
      release(freeSlots[free]);
      free++;
    }
  }

  /** Ends a request. */
  private void release(int slot) {
    int hold = holdOf[slot];
    holdOf[slot] = FREE;
    ids[slot] += NEXT_USE;
    if (hold >= 0 && --heldBy[hold] == 0) {
      VerbsMemoryRegion region = heldRegions[hold];
      heldRegions[hold] = null;
      freeHolds[holdsFree++] = hold;
      region.unpin();
    }
  }

  /**
   * Takes note of this queue's completions from {@code from} on, up to the first of another queue.
   *
   * @param table what the completion queue knows of the queue pairs that they came by
   * @return where it stopped; {@code from} if this queue is closed
   * @throws IllegalStateException if one is of a request that is not in flight
   */
  int retire(VerbsCompletions completions, int from, int to, LedgerTable table) {
    if (!lock.enter()) {
      return from;
    }
    try {
      int at = from;
      for (; at < to && isOf(completions.rawId(at)); at++) {
        int slot = inFlightSlot(completions, at);
        completions.name(at, workIds, slot, 1);
        release(slot);
        freeSlots[free++] = slot;
        if (completions.status(at) != VerbsWorkCalls.SUCCESS) {
          table.failed(completions, at);
        }
      }
      return at;
    } finally {
      lock.leave();
    }
  }

  private int inFlightSlot(VerbsCompletions completions, int at) {
    long id = completions.rawId(at);
    int slot = (int) (id >>> SLOT_BITS) & SLOT_MASK;
    if (slot >= depth || holdOf[slot] == FREE || ids[slot] != id) {
      throw new IllegalStateException(
          "queue pair "
              + completions.queuePairNumber(at)
              + " completed request "
              + (id >>> SLOT_BITS)
              + " of shared receive queue "
              + number
              + " with status "
              + completions.status(at)
              + ", which is not in flight: nothing that it completes can be trusted; close it");
    }
    return slot;
  }

  /** Whether no call is inside, or ends in time. */
  boolean awaitIdle() {
    return lock.awaitFree(CALL_NANOS);
  }

  /** Ends posts and completions; false if a call does not end in time. */
  boolean end() {
    return lock.close(CALL_NANOS);
  }

  /** No completion comes any more: the queue is destroyed, or nobody knows what became of it. */
  void leaveQueues() {
    for (VerbsCompletionQueue queue : queues) {
      queue.forget(this);
    }
    queues.clear();
  }

  /** Gives everything back: the queue is destroyed, nothing of it can be in flight. */
  void abandon() {
    for (int slot = 0; slot < depth; slot++) {
      if (holdOf[slot] != FREE) {
        release(slot);
      }
    }
    free = depth;
    synchronized (OPEN) {
      OPEN.clear(number);
    }
  }
}
