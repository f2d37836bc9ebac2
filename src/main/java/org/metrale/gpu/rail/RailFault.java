package org.metrale.gpu.rail;

import org.metrale.gpu.verbs.VerbsEventType;
import org.metrale.gpu.verbs.VerbsWorkException;
import org.metrale.gpu.verbs.VerbsWorkStatus;

/**
 * Why one rail failed, as far as requests and device tell. Written with the engine's lock held.
 *
 * <p>A queue pair may go into its error state though no request of it has failed and this side has
 * not asked for it. All that is seen of it is a request that was given up, which is a cause, but
 * not the reason. The device may tell of that by an event, a moment before or after.
 */
final class RailFault {
  private static final String SAID_TO_BE_DONE =
      ", and the one before it was said to be done, which Soft-RoCE says of one at which it fails,"
          + " as when the peer's device had no room for the first packet of an answer (send_err"
          + " among the hw_counters there)";

  private final RailEnd end;
  private volatile Throwable reason;

  /** The request that was given up, if none had failed. */
  private VerbsWorkException flushed;

  /** What the device told; null if nothing. */
  private VerbsEventType told;

  RailFault(RailEnd end) {
    this.end = end;
  }

  /** The reason, as far as it is known by now; null while there is none. */
  Throwable reason() {
    return reason;
  }

  /** The rail has failed by this; a request that was flushed is not a reason. */
  void failed(Throwable cause) {
    if (cause instanceof VerbsWorkException work && work.status().equals(VerbsWorkStatus.FLUSHED)) {
      flushed = work;
      reason = silent();
    } else {
      reason = cause;
    }
  }

  /** The device told of an error of a queue pair: this one's, or one's that was here before. */
  void told(int pair, VerbsEventType why) {
    if (pair != queuePair()) {
      return;
    }
    told = why;
    if (flushed != null) {
      reason = silent();
    }
  }

  private IllegalStateException silent() {
    return new IllegalStateException(
        "queue pair "
            + queuePair()
            + " went into its error state, and no request of it had failed: one was flushed"
            + (end.isDoubtful() ? SAID_TO_BE_DONE : "")
            + "; its device told of "
            + (told == null ? "nothing" : told.toString()),
        flushed);
  }

  /**
   * Whether the device may still tell why: what it has to tell of a queue pair is lost with it.
   * Soft-RoCE tells of nothing.
   */
  boolean mayBeTold() {
    return flushed != null && told == null && !end.isDoubtful();
  }

  int queuePair() {
    return end.local().qpn();
  }
}
