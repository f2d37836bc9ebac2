package org.metrale.gpu.nvml;

import java.nio.ByteBuffer;
import java.util.function.Function;

/** What one query answered: the code, and up to six values that mean something if it is success. */
final class NvmlAnswer {
  /** Layout of {@code struct metrale_nvml_answer}. */
  static final int BYTES = 56;

  static final int CODE_OFFSET = 0;
  static final int VALUES_OFFSET = 8;
  private static final int VALUES = 6;

  private final NvmlResult result;
  private final long[] values = new long[VALUES];

  NvmlAnswer(ByteBuffer in) {
    result = new NvmlResult(in.getInt(CODE_OFFSET));
    for (int i = 0; i < VALUES; i++) {
      values[i] = in.getLong(VALUES_OFFSET + i * Long.BYTES);
    }
  }

  NvmlResult result() {
    return result;
  }

  long value(int position) {
    return values[position];
  }

  boolean isTrue() {
    return values[0] != 0;
  }

  <T> NvmlReading<T> reading(Function<NvmlAnswer, T> make) {
    return NvmlReading.of(result, () -> make.apply(this));
  }
}
