package org.metrale.tools;

import java.util.function.Supplier;
import org.metrale.gpu.nvml.NvmlException;
import org.metrale.gpu.nvml.NvmlReading;
import org.metrale.gpu.nvml.NvmlResult;

/**
 * Asks one GPU for one sample. Once it has not answered in time it is not asked again, and what is
 * missing has failed: a GPU that hangs must not keep the table from the others.
 */
final class TopPatience {
  private boolean lost;

  /** A reading, or that it has failed in time. */
  <T> NvmlReading<T> ask(Supplier<NvmlReading<T>> reading) {
    if (!lost) {
      try {
        return reading.get();
      } catch (NvmlException e) {
        if (!e.isUnfinished()) {
          throw e;
        }
        lost = true;
      }
    }
    return new NvmlReading.Failed<>(NvmlResult.TIMEOUT);
  }
}
