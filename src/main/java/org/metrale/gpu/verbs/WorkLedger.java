package org.metrale.gpu.verbs;

/**
 * What one send queue has in flight: its credits, the callers' numbers, the regions it holds open
 * and its first error.
 *
 * <p>Requests are numbered in the order in which they are posted, and completions come in that
 * order, each exactly once. A completion's id has the queue pair's place among those of its
 * completion queue in its upper 16 bits and the number's lower 48 bits below.
 *
 * <p>Neighbouring requests of one region hold it open together: one counter step for all of them.
 */
final class WorkLedger {
  private static final int NUMBER_BITS = 48;
  private static final long NUMBER_MASK = (1L << NUMBER_BITS) - 1;

  private final int depth;
  private final int mask;
  private final long[] workIds;
  private final VerbsMemoryRegion[] heldRegions;
  private final long[] heldUntil;

  /** Where this is among its completion queue's; set when it is added there. */
  private long place;

  private long posted;
  private long retired;
  private long holdsBegun;
  private long holdsEnded;
  private VerbsWorkException firstError;

  WorkLedger(int depth) {
    this.depth = depth;
    int ring = Integer.highestOneBit(Math.max(1, depth - 1)) << 1;
    this.mask = ring - 1;
    this.workIds = new long[ring];
    this.heldRegions = new VerbsMemoryRegion[ring];
    this.heldUntil = new long[ring];
  }

  void placeAt(int newPlace) {
    place = (long) newPlace << NUMBER_BITS;
  }

  static int placeOf(long id) {
    return (int) (id >>> NUMBER_BITS);
  }

  int depth() {
    return depth;
  }

  synchronized int inFlight() {
    return (int) (posted - retired);
  }

  synchronized VerbsWorkException firstError() {
    return firstError;
  }

  /** Posts what the credits allow; the number taken. */
  synchronized int post(long pair, VerbsWorkBatch batch) {
    int count = Math.min(batch.size(), depth - (int) (posted - retired));
    if (count <= 0) {
      return 0;
    }
    int first = batch.first();
    batch.number(count, place, posted & NUMBER_MASK, NUMBER_MASK);
    int at = (int) posted & mask;
    int untilEnd = Math.min(count, workIds.length - at);
    batch.copyWorkIds(0, workIds, at, untilEnd);
    batch.copyWorkIds(untilEnd, workIds, 0, count - untilEnd);
    hold(batch, count);
    int code = VerbsWorkCalls.post(pair, batch.addressOf(first), count, batch.acceptedAddress());
    if (code == count) {
      posted += count;
      batch.taken(count);
      return count;
    }
    return partial(batch, count, code);
  }

  /** The library took less than the credits allow: what it took stands, the rest is given back. */
  private int partial(VerbsWorkBatch batch, int count, int code) {
    int taken = batch.accepted();
    posted += taken;
    trimHolds();
    batch.taken(taken);
    if (code < 0 && !VerbsWorkCalls.isQueueFull(code)) {
      VerbsCalls.check("ibv_post_send", code, "requests=" + count + " taken=" + taken);
    }
    return taken;
  }

  private void hold(VerbsWorkBatch batch, int count) {
    int begun = 0;
    try {
      int done = 0;
      for (int run = batch.firstRun(); done < count; run++) {
        VerbsMemoryRegion region = batch.runRegion(run);
        region.pin();
        done = batch.runEnd(run, count);
        int at = (int) (holdsBegun + begun) & mask;
        heldRegions[at] = region;
        heldUntil[at] = posted + done - 1;
        begun++;
      }
    } catch (IllegalStateException closed) {
      for (int i = 0; i < begun; i++) {
        heldRegions[(int) (holdsBegun + i) & mask].unpin();
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
      heldRegions[at].unpin();
      holdsBegun--;
    }
  }

  /**
   * Takes note of this queue's completions from {@code from} on, up to the first of another queue.
   *
   * <p>Every request asks for its completion, so the next one has to be that of the oldest request
   * in flight. Any other would be taken for a request that may not be done at all.
   *
   * @return where it stopped, at {@code to} at the latest
   * @throws IllegalStateException if it is another one
   */
  synchronized int retire(VerbsCompletions completions, int from, int to) {
    long over = retired;
    long end = posted;
    long[] ids = workIds;
    int at = from;
    for (; at < to; at++) {
      if (over == end || completions.rawId(at) != (place | (over & NUMBER_MASK))) {
        if (placeOf(completions.rawId(at)) != placeOf(place)) {
          break;
        }
        throw new IllegalStateException(unexpected(completions, at, over));
      }
      completions.name(at, ids[(int) over & mask]);
      over++;
      if (completions.status(at) != VerbsWorkCalls.SUCCESS) {
        failed(completions, at);
      }
    }
    retired = over;
    release();
    return at;
  }

  private String unexpected(VerbsCompletions completions, int index, long expected) {
    String due =
        expected == posted
            ? "nothing is in flight"
            : "request " + (expected & NUMBER_MASK) + " is the next of " + (posted - expected);
    return "queue pair "
        + completions.queuePairNumber(index)
        + " completed request "
        + (completions.rawId(index) & NUMBER_MASK)
        + " with status "
        + completions.status(index)
        + ", but "
        + due
        + ": nothing that it completes can be trusted; close it";
  }

  private void failed(VerbsCompletions completions, int index) {
    if (firstError == null && completions.status(index) != VerbsWorkCalls.FLUSHED) {
      firstError = completions.rawFailure(index);
    }
    completions.failed(index, firstError);
  }

  private void release() {
    while (holdsEnded < holdsBegun && heldUntil[(int) holdsEnded & mask] < retired) {
      heldRegions[(int) holdsEnded & mask].unpin();
      holdsEnded++;
    }
  }

  /** Gives everything back: the queue pair is destroyed, nothing of it can be in flight. */
  synchronized void abandon() {
    retired = posted;
    release();
  }
}
