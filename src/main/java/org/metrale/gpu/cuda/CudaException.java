package org.metrale.gpu.cuda;

import org.metrale.gpu.NativeCallException;

/** A call of the CUDA driver failed. */
public final class CudaException extends NativeCallException {
  private static final long serialVersionUID = 1L;

  /** The driver's own words. */
  private final String text;

  /** The device's ordinal, or -1. */
  private final int device;

  CudaException(String call, CudaResult result, String text, int device, String detail) {
    super(call, result.code(), result.symbol(), text, detail(device, detail));
    this.text = text;
    this.device = device;
  }

  /**
   * What the driver says about the code.
   *
   * @return its text; empty if it has none
   */
  public String text() {
    return text;
  }

  /**
   * The device that the call was for.
   *
   * @return its ordinal, or -1 if the call was for none
   */
  public int device() {
    return device;
  }

  /**
   * Whether the device's context cannot be used any more.
   *
   * @return true for errors that every later call will repeat, false for those that can be retried
   */
  public boolean contextLost() {
    return new CudaResult(code()).losesContext();
  }

  private static String detail(int device, String detail) {
    String place = device < 0 ? "" : "device=" + device;
    return place.isEmpty() || detail.isEmpty() ? place + detail : place + " " + detail;
  }
}
