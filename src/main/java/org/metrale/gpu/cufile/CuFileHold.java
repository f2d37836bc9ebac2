package org.metrale.gpu.cufile;

import org.metrale.gpu.NativeResource;

/** Keeps things open while a call or an operation uses them. */
final class CuFileHold extends NativeResource {
  private final String what;

  CuFileHold(String what, NativeResource... needs) {
    super(needs);
    this.what = what;
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
