package org.metrale.gpu.verbs;

import java.util.Objects;

/**
 * What kind of asynchronous event it is, known to this build or not.
 *
 * @param code the number of {@code ibv_event_type}
 * @param text the library's words for it; not part of what makes two types equal
 */
public record VerbsEventType(int code, String text) {
  /** A completion queue has overrun. */
  public static final VerbsEventType COMPLETION_QUEUE_ERROR = new VerbsEventType(0, "CQ error");

  /** A queue pair has failed. */
  public static final VerbsEventType QUEUE_PAIR_FATAL = new VerbsEventType(1, "QP fatal");

  /** The peer asked for what it may not have. */
  public static final VerbsEventType QUEUE_PAIR_REQUEST_ERROR = new VerbsEventType(2, "request");

  /** The peer asked for memory that it may not touch. */
  public static final VerbsEventType QUEUE_PAIR_ACCESS_ERROR = new VerbsEventType(3, "access");

  /** The device is lost. */
  public static final VerbsEventType DEVICE_FATAL = new VerbsEventType(8, "device fatal");

  /** A port came up. */
  public static final VerbsEventType PORT_ACTIVE = new VerbsEventType(9, "port active");

  /** A port went down. */
  public static final VerbsEventType PORT_ERROR = new VerbsEventType(10, "port error");

  /** A shared receive queue has failed: its requests may never complete. */
  public static final VerbsEventType SHARED_RECEIVE_QUEUE_ERROR =
      new VerbsEventType(14, "SRQ catastrophic error");

  /** A shared receive queue has fewer requests left than its limit, which counts no more then. */
  public static final VerbsEventType SHARED_RECEIVE_QUEUE_LIMIT_REACHED =
      new VerbsEventType(15, "SRQ limit reached");

  /**
   * A queue pair that has failed takes no more requests from its shared receive queue, and those
   * that it has taken are completed. Soft-RoCE of Linux 6.1 does not tell.
   */
  public static final VerbsEventType QUEUE_PAIR_LAST_RECEIVE_REACHED =
      new VerbsEventType(16, "last WQE reached");

  /** The table of addresses changed. */
  public static final VerbsEventType GID_CHANGE = new VerbsEventType(18, "GID table change");

  /**
   * Refuses null.
   *
   * @param code the number of {@code ibv_event_type}
   * @param text the library's words for it
   */
  public VerbsEventType {
    Objects.requireNonNull(text, "text");
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof VerbsEventType type && type.code == code;
  }

  @Override
  public int hashCode() {
    return code;
  }

  @Override
  public String toString() {
    return text + " (" + code + ")";
  }
}
