package org.metrale.gpu.nccl;

import org.bytedeco.javacpp.BytePointer;

/** Writes one number as an element of any type. */
final class Scalars {
  private static final int HALF_EXPONENT = 5;
  private static final int HALF_MANTISSA = 10;

  private Scalars() {}

  /** One element in native memory; close it. */
  static BytePointer encode(NcclDataType type, double value) {
    BytePointer out = new BytePointer(Long.BYTES);
    switch (type) {
      case INT8, UINT8 -> out.put(0, (byte) (long) value);
      case INT32, UINT32 -> out.putInt(0, (int) (long) value);
      case INT64, UINT64 -> out.putLong(0, (long) value);
      case FLOAT32 -> out.putFloat(0, (float) value);
      case FLOAT64 -> out.putDouble(0, value);
      case FLOAT16 -> out.putShort(0, (short) small(value, HALF_EXPONENT, HALF_MANTISSA, true));
      case BFLOAT16 -> out.putShort(0, (short) small(value, 8, 7, true));
      case FLOAT8_E4M3 -> out.put(0, (byte) small(value, 4, 3, false));
      case FLOAT8_E5M2 -> out.put(0, (byte) small(value, 5, 2, true));
    }
    return out;
  }

  /**
   * The bits of a small binary floating-point number, rounded to the nearest, ties to even.
   *
   * @param exponent how many bits the exponent has
   * @param mantissa how many bits the fraction has
   * @param infinite whether the greatest exponent means infinity; if not, it holds numbers too, and
   *     what is too great becomes the greatest number
   */
  static int small(double value, int exponent, int mantissa, boolean infinite) {
    int sign = Double.doubleToRawLongBits(value) < 0 ? 1 << (exponent + mantissa) : 0;
    int highest = (1 << exponent) - 1;
    if (Double.isNaN(value)) {
      return sign | (highest << mantissa) | ((1 << mantissa) - 1);
    }
    int bias = highest >> 1;
    double magnitude = Math.abs(value);
    int top = infinite ? highest << mantissa : (highest << mantissa) | ((1 << mantissa) - 2);
    if (Double.isInfinite(value)) {
      return sign | top;
    }
    int power = Math.max(Math.getExponent(magnitude), 1 - bias);
    double scaled = Math.rint(Math.scalb(magnitude, mantissa - power));
    long bits = (long) scaled + ((long) (power + bias - 1) << mantissa);
    return sign | (int) Math.min(bits, top);
  }
}
