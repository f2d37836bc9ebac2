package org.metrale.gpu.rail;

import org.metrale.gpu.verbs.VerbsEventType;
import org.metrale.gpu.verbs.VerbsWorkException;

/**
 * A queue pair went into its error state though no request of it had failed and this side had not
 * asked for it: all that is seen of it is a request that was given up, which is the cause here but
 * not the reason. The device may tell of that by an event, a moment before or after.
 */
final class SilentFailure extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  private static final String SAID_TO_BE_DONE =
      ", and the one before it was said to be done, which Soft-RoCE says of one at which it fails,"
          + " as when the peer's device had no room for the first packet of an answer (send_err"
          + " among the hw_counters there)";

  /** What was seen. */
  private final String what;

  /** Null while the device tells of nothing. */
  private transient volatile VerbsEventType told;

  /**
   * A failure of which no event was told yet.
   *
   * @param doubtful whether the device may say of the request at which it fails that it was done
   */
  SilentFailure(int queuePair, VerbsWorkException flushed, boolean doubtful) {
    super(flushed);
    this.what =
        "queue pair "
            + queuePair
            + " went into its error state, and no request of it had failed: one was flushed"
            + (doubtful ? SAID_TO_BE_DONE : "");
  }

  /** The device told why. */
  void tell(VerbsEventType why) {
    told = why;
  }

  @Override
  public String getMessage() {
    VerbsEventType why = told;
    return what + "; its device told of " + (why == null ? "nothing" : why.toString());
  }
}
