package org.metrale.gpu.nccl;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.DoubleBinaryOperator;

/** What the operations must give, computed in plain Java, element by element. */
final class Reference {
  private Reference() {}

  /** Small whole numbers, exact in every type and so are their sums and products. */
  static double value(NcclDataType type, int rank, int index, NcclRedOp op) {
    if (type.bytes() == 1 && !isWhole(type) && op != NcclRedOp.PROD) {
      // Eight of these still have an exact sum with two bits of fraction.
      return (rank + index) % 2;
    }
    if (op == NcclRedOp.PROD) {
      return 1 + (rank + index) % 2;
    }
    return (rank * 3 + index) % 5;
  }

  static byte[] elements(
      NcclDataType type, int count, java.util.function.IntToDoubleFunction value) {
    ByteBuffer out = ByteBuffer.allocate(count * type.bytes()).order(ByteOrder.nativeOrder());
    for (int i = 0; i < count; i++) {
      put(out, type, value.applyAsDouble(i));
    }
    return out.array();
  }

  /** One element of a reduction over ranks. */
  static double reduce(NcclDataType type, NcclRedOp op, int ranks, int index) {
    double out = value(type, 0, index, op);
    for (int rank = 1; rank < ranks; rank++) {
      double next = value(type, rank, index, op);
      out = combine(op).applyAsDouble(out, next);
    }
    if (op == NcclRedOp.AVG) {
      out /= ranks;
      return isWhole(type) ? Math.floor(out) : out;
    }
    return out;
  }

  static boolean isWhole(NcclDataType type) {
    return switch (type) {
      case INT8, UINT8, INT32, UINT32, INT64, UINT64 -> true;
      default -> false;
    };
  }

  private static DoubleBinaryOperator combine(NcclRedOp op) {
    if (op == NcclRedOp.PROD) {
      return (a, b) -> a * b;
    }
    if (op == NcclRedOp.MAX) {
      return Math::max;
    }
    return op == NcclRedOp.MIN ? Math::min : Double::sum;
  }

  static void put(ByteBuffer out, NcclDataType type, double value) {
    switch (type) {
      case INT8, UINT8 -> out.put((byte) value);
      case INT32, UINT32 -> out.putInt((int) value);
      case INT64, UINT64 -> out.putLong((long) value);
      case FLOAT32 -> out.putFloat((float) value);
      case FLOAT64 -> out.putDouble(value);
      case FLOAT16 -> out.putShort((short) narrow(value, 5, 10));
      case BFLOAT16 -> out.putShort((short) narrow(value, 8, 7));
      case FLOAT8_E4M3 -> out.put((byte) narrow(value, 4, 3));
      case FLOAT8_E5M2 -> out.put((byte) narrow(value, 5, 2));
    }
  }

  /**
   * A value of a small float: by trying all its bit patterns, so by no arithmetic of the product.
   */
  static int narrow(double value, int exponentBits, int fractionBits) {
    int best = 0;
    double distance = Double.MAX_VALUE;
    int patterns = 1 << (exponentBits + fractionBits);
    int from = value == 0 ? 0 : Math.max(0, guess(value, exponentBits, fractionBits) - 4);
    for (int bits = from; bits < Math.min(patterns, from + 9); bits++) {
      double there = widen(bits, exponentBits, fractionBits);
      double away = Math.abs(there - value);
      if (away < distance || (away == distance && (bits & 1) == 0)) {
        best = bits;
        distance = away;
      }
    }
    return best;
  }

  private static int guess(double value, int exponentBits, int fractionBits) {
    int bias = (1 << (exponentBits - 1)) - 1;
    int exponent = Math.getExponent(value) + bias;
    return exponent <= 0
        ? 4
        : exponent << fractionBits
            | (int) ((value / Math.scalb(1.0, Math.getExponent(value)) - 1) * (1 << fractionBits));
  }

  static double widen(int bits, int exponentBits, int fractionBits) {
    int bias = (1 << (exponentBits - 1)) - 1;
    int exponent = bits >> fractionBits;
    double fraction = (bits & ((1 << fractionBits) - 1)) / (double) (1 << fractionBits);
    return exponent == 0
        ? Math.scalb(fraction, 1 - bias)
        : Math.scalb(1 + fraction, exponent - bias);
  }
}
