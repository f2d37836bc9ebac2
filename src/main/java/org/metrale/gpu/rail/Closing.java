package org.metrale.gpu.rail;

import java.util.List;

/** Closing several things: the last first, the first error thrown, the others kept with it. */
final class Closing {
  private Closing() {}

  static void all(List<? extends AutoCloseable> resources) {
    RuntimeException first = null;
    for (int i = resources.size() - 1; i >= 0; i--) {
      try {
        resources.get(i).close();
      } catch (RuntimeException e) {
        first = keep(first, e);
      } catch (Exception | OutOfMemoryError e) {
        first = keep(first, new IllegalStateException(e));
      }
    }
    if (first != null) {
      throw first;
    }
  }

  /** Closes because of a failure that is about to be thrown. */
  static void afterFailure(Throwable failure, List<? extends AutoCloseable> resources) {
    try {
      all(resources);
    } catch (RuntimeException e) {
      failure.addSuppressed(e);
    }
  }

  private static RuntimeException keep(RuntimeException first, RuntimeException next) {
    if (first == null) {
      return next;
    }
    first.addSuppressed(next);
    return first;
  }
}
