package org.metrale.gpu.verbs;

import java.util.concurrent.atomic.AtomicReference;

/**
 * What one queue of a queue pair has in flight: its credits, the callers' numbers and the regions
 * it holds open.
 *
 * <p>Requests are numbered in the order in which they are posted, and completions come in that
 * order, each exactly once. A completion's id has the number's lower 48 bits above, so that ids
 * count up in steps and wrap by themselves, and below them the 16 bits of the queue's place among
 * those of its completion queue: even for a send queue, odd for a receive queue.
 *
 * <p>Neighbouring requests of one region hold it open together: one counter step for all of them.
 */
final class WorkLedger {
  private static final int PLACE_BITS = 16;

  /** From one request's id to the next one's. */
  static final long STEP = 1L << PLACE_BITS;

  /** What a post answers once the queue pair is closed. */
  static final int ENDED = -1;

  private static final long CALL_NANOS = 1_000_000_000;

  private final CallLock lock = new CallLock();

  /** What failed first in the queue pair, whose two queues share it. */
  private final AtomicReference<VerbsWorkException> firstError;

  private final int depth;
  private final int mask;
  private final long[] workIds;
  private final VerbsMemoryRegion[] heldRegions;
  private final long[] heldUntil;

  /** Where this is among its completion queue's; set when it is added there. */
  private int place;

  /** The how manieth it is there, if those that are gone count too. */
  private long turn;

  /** The queue pair's number, once it has one. */
  private volatile int pair;

  private long posted;
  private long retired;
  private long holdsBegun;
  private long holdsEnded;

  WorkLedger(int depth, AtomicReference<VerbsWorkException> firstError) {
    this.depth = depth;
    this.firstError = firstError;
    int ring = Integer.highestOneBit(Math.max(1, depth - 1)) << 1;
    this.mask = ring - 1;
    this.workIds = new long[ring];
    this.heldRegions = new VerbsMemoryRegion[ring];
    this.heldUntil = new long[ring];
  }

  void placeAt(int newPlace, long newTurn) {
    place = newPlace;
    turn = newTurn;
  }

  void pairNumber(int number) {
    pair = number;
  }

  /** Whether it is of the queue pair that had a number when so many had come. */
  boolean isOf(int pairNumber, long turns) {
    return pair == pairNumber && turn <= turns;
  }

  static int placeOf(long id) {
    return (int) (id & (STEP - 1));
  }

  /** Whether an id is that of a receive request. */
  static boolean isReceive(long id) {
    return (id & 1) != 0;
  }

  private long idOf(long number) {
    return number << PLACE_BITS | place;
  }

  int depth() {
    return depth;
  }

  int inFlight() {
    boolean inside = lock.enter();
    try {
      return (int) (posted - retired);
    } finally {
      leave(inside);
    }
  }

  private void leave(boolean inside) {
    if (inside) {
      lock.leave();
    }
  }

  /** Posts what the credits allow; the number taken, or {@link #ENDED}. */
  int post(long queue, VerbsRequests batch) {
    if (!lock.enter()) {
      return ENDED;
    }
    try {
      int count = Math.min(batch.size(), depth - (int) (posted - retired));
      return count > 0 ? postInside(queue, batch, count) : 0;
    } finally {
      lock.leave();
    }
  }

  private int postInside(long queue, VerbsRequests batch, int count) {
    batch.writeOut(count);
    int at = (int) posted & mask;
    int untilEnd = Math.min(count, workIds.length - at);
    batch.copyWorkIds(0, workIds, at, untilEnd);
    if (untilEnd < count) {
      batch.copyWorkIds(untilEnd, workIds, 0, count - untilEnd);
    }
    hold(batch, count);
    int code = batch.call(queue, count, idOf(posted));
    if (code == count) {
      posted += count;
      batch.taken(count);
      return count;
    }
    return partial(batch, count, code);
  }

  /** The library took less than the credits allow: what it took stands, the rest is given back. */
  private int partial(VerbsRequests batch, int count, int code) {
    int taken = batch.accepted();
    posted += taken;
    trimHolds();
    batch.taken(taken);
    if (code < 0 && !VerbsWorkCalls.isQueueFull(code)) {
      VerbsCalls.check(batch.callName(), code, "requests=" + count + " taken=" + taken);
    }
    return taken;
  }

  private void hold(VerbsRequests batch, int count) {
    int begun = 0;
    try {
      int done = 0;
      for (int run = batch.firstRun(); done < count; run++) {
        VerbsMemoryRegion region = batch.runRegion(run);
        if (region != null) {
          region.pin();
        }
        done = batch.runEnd(run, count);
        int at = (int) (holdsBegun + begun) & mask;
        heldRegions[at] = region;
        heldUntil[at] = posted + done - 1;
        begun++;
      }
    } catch (IllegalStateException closed) {
      for (int i = 0; i < begun; i++) {
        letGo((int) (holdsBegun + i) & mask);
      }
      throw closed;
    }
    holdsBegun += begun;
  }

  /**
   * Ends the holds that lie wholly after what was posted, and shortens the one that reaches over.
   */
  private void trimHolds() {
    while (holdsBegun > holdsEnded) {
      int at = (int) (holdsBegun - 1) & mask;
      long begin =
          holdsBegun - 1 > holdsEnded ? heldUntil[(int) (holdsBegun - 2) & mask] + 1 : retired;
      if (begin < posted) {
        heldUntil[at] = Math.min(heldUntil[at], posted - 1);
        return;
      }
      letGo(at);
      holdsBegun--;
    }
  }

  /**
   * Takes note of this queue's completions from {@code from} on, up to the first of another queue.
   *
   * <p>Every request asks for its completion, so the next one has to be that of the oldest request
   * in flight. Any other would be taken for a request that may not be done at all.
   *
   * @return where it stopped, at {@code to} at the latest; {@code from} if the queue pair is closed
   * @throws IllegalStateException if it is another one
   */
  int retire(VerbsCompletions completions, int from, int to) {
    if (!lock.enter()) {
      return from;
    }
    try {
      int due = (int) Math.min(to - from, posted - retired);
      int done = completions.countDone(from, from + due, idOf(retired), STEP);
      int at = (int) retired & mask;
      int untilEnd = Math.min(done, workIds.length - at);
      completions.name(from, workIds, at, untilEnd);
      if (untilEnd < done) {
        completions.name(from + untilEnd, workIds, 0, done - untilEnd);
      }
      int end = from + done < to ? nameEach(completions, from + done, to, retired + done) : to;
      retired += end - from;
      release();
      return end;
    } finally {
      lock.leave();
    }
  }

  /** Names one after the other, since some may have failed or be another queue's; where it ends. */
  private int nameEach(VerbsCompletions completions, int from, int to, long first) {
    long over = first;
    for (int at = from; at < to; at++) {
      long id = completions.rawId(at);
      if (over == posted || id != idOf(over)) {
        if (placeOf(id) != place) {
          return at;
        }
        throw new IllegalStateException(unexpected(completions, at, over));
      }
      completions.name(at, workIds, (int) over & mask, 1);
      over++;
      if (completions.status(at) != VerbsWorkCalls.SUCCESS) {
        failed(completions, at);
      }
    }
    return to;
  }

  private String unexpected(VerbsCompletions completions, int index, long expected) {
    String due =
        expected == posted
            ? "nothing is in flight"
            : "request "
                + (idOf(expected) >>> PLACE_BITS)
                + " is the next of "
                + (posted - expected);
    return "queue pair "
        + completions.queuePairNumber(index)
        + " completed request "
        + (completions.rawId(index) >>> PLACE_BITS)
        + " with status "
        + completions.status(index)
        + ", but "
        + due
        + ": nothing that it completes can be trusted; close it";
  }

  /** Takes note of a request that was not done. */
  void failed(VerbsCompletions completions, int index) {
    if (firstError.get() == null && completions.status(index) != VerbsWorkCalls.FLUSHED) {
      firstError.set(completions.rawFailure(index));
      completions.failed(index, null);
    } else {
      completions.failed(index, firstError.get());
    }
  }

  private void release() {
    while (holdsEnded < holdsBegun && heldUntil[(int) holdsEnded & mask] < retired) {
      letGo((int) holdsEnded & mask);
      holdsEnded++;
    }
  }

  /** Ends a hold; those of requests without memory hold nothing. */
  private void letGo(int at) {
    VerbsMemoryRegion region = heldRegions[at];
    if (region != null) {
      region.unpin();
    }
  }

  /** Whether no call is inside, or ends in time. */
  boolean awaitIdle() {
    return lock.awaitFree(CALL_NANOS);
  }

  /** Ends posts and completions; false if a call does not end in time. */
  boolean end() {
    return lock.close(CALL_NANOS);
  }

  /** Gives everything back: the queue pair is destroyed, nothing of it can be in flight. */
  void abandon() {
    retired = posted;
    release();
  }
}
