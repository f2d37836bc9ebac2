package org.metrale.benchmarks;

import org.metrale.gpu.NativeLibrary;

/** What stood for a vendor's library while something was measured. */
final class Level {
  static final String NO_OP = "no-op library";
  static final String EMULATED = "EMULATED";

  /** A vendor's. */
  static final String REAL = "real library";

  /** No library is part of the work. */
  static final String NONE = "no library";

  private Level() {}

  /** As the library in this process tells. */
  static String of(NativeLibrary library) {
    library.require();
    if (library.isEmulated()) {
      return EMULATED;
    }
    if (NoOp.has(library.file().orElseThrow())) {
      return NO_OP;
    }
    return REAL;
  }
}
