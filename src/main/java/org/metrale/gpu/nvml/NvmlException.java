package org.metrale.gpu.nvml;

import org.metrale.gpu.NativeCallException;

/**
 * A call of NVML failed, or has not returned in time. What a sensor refuses is no exception but an
 * {@link NvmlReading}.
 */
public final class NvmlException extends NativeCallException {
  private static final long serialVersionUID = 1L;

  /** The call has not returned. */
  private final boolean unfinished;

  NvmlException(String call, NvmlResult result, String text, String detail) {
    this(call, result, text, detail, false);
  }

  private NvmlException(
      String call, NvmlResult result, String text, String detail, boolean unfinished) {
    super(call, result.code(), result.symbol(), text, detail);
    this.unfinished = unfinished;
  }

  /** A call that has not returned in time; NVML itself is not asked for the text. */
  static NvmlException unfinished(String call, String detail) {
    return new NvmlException(call, NvmlResult.TIMEOUT, "has not returned in time", detail, true);
  }

  /**
   * The code that NVML gave.
   *
   * @return the code as a value
   */
  public NvmlResult result() {
    return new NvmlResult(code());
  }

  /**
   * Whether the call still runs, or was not made because too many do: it was only given up waiting
   * for.
   *
   * @return true if NVML itself did not answer
   */
  public boolean isUnfinished() {
    return unfinished;
  }
}
