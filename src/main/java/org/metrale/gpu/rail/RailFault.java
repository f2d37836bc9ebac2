package org.metrale.gpu.rail;

import org.metrale.gpu.verbs.VerbsEventType;
import org.metrale.gpu.verbs.VerbsWorkException;
import org.metrale.gpu.verbs.VerbsWorkStatus;

/** Why one rail failed, as far as requests and device tell. Guarded by the engine's lock. */
final class RailFault {
  private final RailEnd end;
  private Throwable reason;

  /** The reason, if no request had failed. */
  private SilentFailure silent;

  /** What the device told; null if nothing. */
  private VerbsEventType told;

  RailFault(RailEnd end) {
    this.end = end;
  }

  /** The reason; null while there is none. */
  Throwable reason() {
    return reason;
  }

  /** The rail has failed by this; a request that was flushed is not a reason. */
  void failed(Throwable cause) {
    reason = cause;
    if (cause instanceof VerbsWorkException work && work.status().equals(VerbsWorkStatus.FLUSHED)) {
      silent = new SilentFailure(queuePair(), work, end.isDoubtful());
      silent.tell(told);
      reason = silent;
    }
  }

  /** The device told of an error of a queue pair: this one's, or one's that was here before. */
  void told(int pair, VerbsEventType why) {
    if (pair != queuePair()) {
      return;
    }
    told = why;
    if (silent != null) {
      silent.tell(why);
    }
  }

  /**
   * Whether the device may still tell why: what it has to tell of a queue pair is lost with it.
   * Soft-RoCE tells of nothing.
   */
  boolean mayBeTold() {
    return silent != null && told == null && !end.isDoubtful();
  }

  int queuePair() {
    return end.local().qpn();
  }
}
