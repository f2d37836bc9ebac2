package org.metrale.gpu.verbs;

import org.metrale.gpu.NativeCallException;

/**
 * A posted request failed, or was flushed because one before it failed.
 *
 * <p>The code is the completion's status. For a flushed request the cause is the first real error
 * of its queue pair, if there was one.
 */
public final class VerbsWorkException extends NativeCallException {
  private static final long serialVersionUID = 1L;

  /** The caller's number of the request. */
  private final long workId;

  /** What the vendor says. */
  private final int vendorCode;

  VerbsWorkException(VerbsWorkStatus status, long workId, int vendorCode, int pair) {
    super(
        "work request",
        status.code(),
        status.symbol(),
        status.text(),
        "workId=" + workId + " vendorCode=" + vendorCode + " queuePair=" + pair);
    this.workId = workId;
    this.vendorCode = vendorCode;
  }

  /**
   * The request that failed.
   *
   * @return the number that the caller gave it
   */
  public long workId() {
    return workId;
  }

  /**
   * The vendor's own code.
   *
   * @return a number that the adapter's maker can explain
   */
  public int vendorCode() {
    return vendorCode;
  }

  /**
   * The status.
   *
   * @return what became of the request
   */
  public VerbsWorkStatus status() {
    return VerbsWorkStatus.of(code());
  }
}
