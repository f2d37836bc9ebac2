package org.metrale.gpu.cufile;

import com.google.errorprone.annotations.MustBeClosed;
import org.metrale.gpu.NativeResource;

/** Keeps things open while a call or an operation uses them. */
final class CuFileHold extends NativeResource {
  private final String what;

  private CuFileHold(String what, NativeResource... needs) {
    super(needs);
    this.what = what;
  }

  @MustBeClosed
  static CuFileHold open(String what, NativeResource... needs) {
    return new CuFileHold(what, needs);
  }

  @Override
  protected void free() {
    // Nothing of its own.
  }

  @Override
  public String toString() {
    return what;
  }
}
