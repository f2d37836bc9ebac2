package org.metrale.gpu.nccl;

import java.time.Duration;
import org.metrale.gpu.Backoff;

/**
 * The watchdog's look at one communicator: what is done, what is overdue, what NCCL reports. Only
 * the watchdog's thread is here.
 */
final class Oversight {
  /** After so many looks without progress, or so many in all, the communicator is asked itself. */
  private static final int STALLED_TICKS = 4;

  private static final int ASK_EVERY_TICKS = 100;

  private final RankState rank;
  private final long timeoutNanos;
  private long busyWith = -1;
  private long busySince;
  private long seen = -1;
  private int stalled;
  private int sinceAsked;
  private boolean troubled;

  Oversight(RankState rank) {
    this.rank = rank;
    this.timeoutNanos = Backoff.nanos(rank.config.operationTimeout());
  }

  /** The watchdog's look; whether there is anything left to watch. */
  boolean tick(long now) {
    if (rank.failure() != null || rank.isOver()) {
      return false;
    }
    Throwable problem = tryPoll();
    long last = rank.progress.issued();
    long done = rank.progress.completed();
    // Its time is that of a look before it was issued, so it must not count from there.
    long overdue = now - rank.ring.issuedNanos(done + 1) - NcclWatchdog.LONGEST_TICK_NANOS;
    if (done < last && overdue > timeoutNanos) {
      late(rank.ring.kind(done + 1), done + 1, overdue);
      return false;
    }
    if (wantsAsking(done) && !rank.gate.isShut()) {
      ask(now, last, done);
    }
    if (problem != null && !troubled) {
      troubled = true;
      NcclWatchdog.report(
          "looking what is done of " + rank + " failed; its deadline holds", problem);
    }
    return rank.hasOpenWork();
  }

  /** Whether something ended between the watchdog's last two looks. */
  boolean isMoving() {
    return stalled == 0;
  }

  /** What goes wrong here must not keep anybody from looking at the deadline. */
  private Throwable tryPoll() {
    try {
      rank.progress.poll();
      return null;
    } catch (RuntimeException | Error e) {
      return e;
    }
  }

  /**
   * Whether NCCL is asked for errors this time. For that the communicator is taken away from its
   * owner, so not every millisecond where there is progress.
   */
  private boolean wantsAsking(long done) {
    stalled = done == seen ? stalled + 1 : 0;
    seen = done;
    sinceAsked++;
    if (stalled < STALLED_TICKS && sinceAsked < ASK_EVERY_TICKS) {
      return false;
    }
    sinceAsked = 0;
    return true;
  }

  private void ask(long now, long last, long done) {
    if (rank.gate.tryEnter()) {
      try {
        lookForErrors(last, done);
      } finally {
        rank.gate.leave();
      }
      busyWith = -1;
    } else if (busyWith != last + 1) {
      busyWith = last + 1;
      busySince = now;
    } else if (now - busySince > 2 * timeoutNanos && timeoutNanos < Long.MAX_VALUE / 4) {
      rank.failLate("a call of NCCL that never came back", now - busySince, rank.detail());
    }
  }

  private void lookForErrors(long last, long done) {
    if (done >= last || rank.handle() == 0) {
      return;
    }
    long answer = NcclCalls.ncclCommGetAsyncError(rank.handle());
    int state = (int) answer;
    if (answer >> 32 == 0 && state != NcclCalls.SUCCESS && state != NcclCalls.IN_PROGRESS) {
      NcclOperationKind kind = rank.ring.kind(done + 1);
      rank.fail(
          NcclCalls.failed(
              kind.call(), state, rank.handle(), rank.detail() + " sequence=" + (done + 1)));
    }
  }

  private void late(NcclOperationKind kind, long sequence, long nanos) {
    rank.fail(
        new NcclException(
            kind.call(),
            NcclResult.TIMEOUT,
            "not done after " + Duration.ofNanos(nanos).toMillis() + " ms",
            NcclCalls.lastError(rank.handle()),
            rank.detail() + " sequence=" + sequence));
  }
}
