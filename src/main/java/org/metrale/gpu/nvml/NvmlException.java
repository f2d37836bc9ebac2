package org.metrale.gpu.nvml;

import org.metrale.gpu.NativeCallException;

/** A call of NVML failed. What a sensor refuses is no exception but an {@link NvmlReading}. */
public final class NvmlException extends NativeCallException {
  private static final long serialVersionUID = 1L;

  NvmlException(String call, NvmlResult result, String text, String detail) {
    super(call, result.code(), result.symbol(), text, detail);
  }

  /**
   * The code that NVML gave.
   *
   * @return the code as a value
   */
  public NvmlResult result() {
    return new NvmlResult(code());
  }
}
