package org.metrale.gpu.nccl;

import java.util.Objects;
import org.metrale.gpu.NativeCallException;

/**
 * A call of NCCL failed, or an operation did, or its deadline passed.
 *
 * <p>The message has the call, the code with its name, NCCL's text for it, and in brackets the
 * rank, what else is known, and the communicator's own last error.
 */
public final class NcclException extends NativeCallException {
  private static final long serialVersionUID = 1L;

  /** NCCL's text for the code. */
  private final String text;

  /** What the communicator itself says. */
  private final String lastError;

  /** Rank, arguments and times, as {@code name=value}. */
  private final String detail;

  NcclException(String call, NcclResult result, String text, String lastError, String detail) {
    super(call, result.code(), result.symbol(), text, detail(detail, lastError));
    this.text = Objects.requireNonNull(text, "text");
    this.lastError = Objects.requireNonNull(lastError, "lastError");
    this.detail = Objects.requireNonNull(detail, "detail");
  }

  /**
   * What NCCL says about the code.
   *
   * @return its text, the same for every failure with this code
   */
  public String text() {
    return text;
  }

  /**
   * What the communicator said last, usually the most useful words there are.
   *
   * @return its text; empty if there is none or the library cannot tell
   */
  public String lastError() {
    return lastError;
  }

  /**
   * Whether a deadline of this layer passed.
   *
   * @return true for code {@code ncclTimeout}
   */
  public boolean isTimeout() {
    return code() == NcclResult.TIMEOUT.code();
  }

  /** The same failure with the stack of the thread that meets it now. */
  NcclException again() {
    NcclException out = new NcclException(call(), new NcclResult(code()), text, lastError, detail);
    out.initCause(this);
    return out;
  }

  private static String detail(String detail, String lastError) {
    if (lastError.isEmpty()) {
      return detail;
    }
    String last = "last error: " + lastError;
    return detail.isEmpty() ? last : detail + " " + last;
  }
}
