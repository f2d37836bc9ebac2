package org.metrale.gpu.verbs;

import org.metrale.gpu.NativeCallException;

/** A verbs call failed with an errno, or has not returned in time. */
public final class VerbsException extends NativeCallException {
  private static final long serialVersionUID = 1L;

  /** The call has not returned. */
  private final boolean unfinished;

  VerbsException(String call, int errno, String symbol, String text, String detail) {
    this(call, errno, symbol, text, detail, false);
  }

  private VerbsException(
      String call, int errno, String symbol, String text, String detail, boolean unfinished) {
    super(call, errno, symbol, text, detail);
    this.unfinished = unfinished;
  }

  /** A call that has not returned in time. */
  static VerbsException unfinished(String call, int errno, String symbol, String detail) {
    return new VerbsException(call, errno, symbol, "has not returned in time", detail, true);
  }

  /**
   * Whether the call still runs, or was not made because too many do: it was only given up waiting
   * for.
   *
   * @return true if the device itself did not answer; the code is {@code ETIMEDOUT} then
   */
  public boolean isUnfinished() {
    return unfinished;
  }
}
