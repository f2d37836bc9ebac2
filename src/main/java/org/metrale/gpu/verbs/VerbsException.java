package org.metrale.gpu.verbs;

import org.metrale.gpu.NativeCallException;

/** A verbs call failed with an errno. */
public final class VerbsException extends NativeCallException {
  private static final long serialVersionUID = 1L;

  VerbsException(String call, int errno, String symbol, String text, String detail) {
    super(call, errno, symbol, text, detail);
  }
}
