package org.metrale.gpu.rail;

import java.io.IOException;
import java.util.OptionalInt;

/**
 * A transfer that came to nothing: the first thing that went wrong, with the rail, the peer and the
 * range. What the adapter said is the cause; of a rail whose queue pair failed without a failed
 * request, so that there are only flushed ones, the cause says that.
 */
public final class RailException extends IOException {
  private static final long serialVersionUID = 1L;

  /** Why a transfer came to nothing. */
  public enum Reason {
    /** The peer answered that it may not be done: key, range or right. */
    PEER_REFUSED("the peer refused"),
    /** This side did something wrong; the peer is not to blame. */
    LOCAL_FAULT("this side failed"),
    /** No rail is left, and none comes back. */
    RAILS_LOST("no rail is left"),
    /** The deadline passed. */
    DEADLINE_PASSED("the deadline passed"),
    /** The caller gave it up. */
    CANCELLED("it was given up"),
    /** The rails were closed. */
    CLOSED("the rails were closed");

    private final String words;

    Reason(String words) {
      this.words = words;
    }
  }

  /** Why. */
  private final Reason reason;

  /** On which rail, or -1. */
  private final int rail;

  /** With whom. */
  private final String peer;

  RailException(Reason reason, int rail, String peer, String range, Throwable cause) {
    super(
        peer
            + (rail < 0 ? "" : " rail " + rail)
            + ": "
            + reason.words
            + ": "
            + range
            + (cause == null ? "" : ": " + cause.getMessage()),
        cause);
    this.reason = reason;
    this.rail = rail;
    this.peer = peer;
  }

  /**
   * Why the transfer came to nothing.
   *
   * @return the reason
   */
  public Reason reason() {
    return reason;
  }

  /**
   * The rail on which it was.
   *
   * @return its number from 0, or empty if it was not one rail alone
   */
  public OptionalInt rail() {
    return rail < 0 ? OptionalInt.empty() : OptionalInt.of(rail);
  }

  /**
   * The other side.
   *
   * @return its name
   */
  public String peer() {
    return peer;
  }
}
