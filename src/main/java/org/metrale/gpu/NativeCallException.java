package org.metrale.gpu;

import java.util.Objects;

/**
 * A C function was called and said no.
 *
 * <p>The message always reads {@code call: symbol (code): text [detail]}, for example {@code
 * ncclCommInitRank: ncclSystemError (2): unhandled system error [ranks=4 rank=1]}.
 */
public abstract class NativeCallException extends GpuException {
  private static final long serialVersionUID = 1L;

  /** The C function's name. */
  private final String call;

  /** The code exactly as C gave it. */
  private final int code;

  /** The code's name in the header, or a made-up one that holds the number. */
  private final String symbol;

  /**
   * Records one refused call.
   *
   * @param call the C function's name
   * @param code the code exactly as C gave it
   * @param symbol the code's name in the header, or a text that holds the number
   * @param text the library's own words for it; may be empty
   * @param detail the arguments that matter, as {@code name=value}; may be empty
   */
  protected NativeCallException(String call, int code, String symbol, String text, String detail) {
    super(describe(call, code, symbol, text, detail));
    this.call = Objects.requireNonNull(call, "call");
    this.code = code;
    this.symbol = Objects.requireNonNull(symbol, "symbol");
  }

  /**
   * The C function that failed.
   *
   * @return its name as in the header
   */
  public final String call() {
    return call;
  }

  /**
   * The code that it answered.
   *
   * @return the number exactly as C gave it, known to this build or not
   */
  public final int code() {
    return code;
  }

  /**
   * The name of the code.
   *
   * @return the header's constant, or a text that holds the number when it is unknown
   */
  public final String symbol() {
    return symbol;
  }

  private static String describe(String call, int code, String symbol, String text, String detail) {
    StringBuilder out = new StringBuilder();
    out.append(call).append(": ").append(symbol).append(" (").append(code).append(')');
    if (!text.isEmpty()) {
      out.append(": ").append(text);
    }
    if (!detail.isEmpty()) {
      out.append(" [").append(detail).append(']');
    }
    return out.toString();
  }
}
