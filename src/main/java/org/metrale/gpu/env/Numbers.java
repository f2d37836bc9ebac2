package org.metrale.gpu.env;

import java.util.OptionalLong;

/** The one reading of a number that all look-ups share. */
final class Numbers {
  /** The greatest unsigned 32-bit number. */
  static final long MAX_U32 = 0xFFFF_FFFFL;

  private Numbers() {}

  /** The number in {@code text}, or nothing if it is not an unsigned 32-bit decimal number. */
  static OptionalLong u32(String text) {
    int at = text.startsWith("+") ? 1 : 0;
    if (at == text.length()) {
      return OptionalLong.empty();
    }
    long value = 0;
    for (; at < text.length(); at++) {
      char digit = text.charAt(at);
      if (digit < '0' || digit > '9') {
        return OptionalLong.empty();
      }
      value = value * 10 + (digit - '0');
      if (value > MAX_U32) {
        return OptionalLong.empty();
      }
    }
    return OptionalLong.of(value);
  }

  static void requireU32(String what, long value) {
    if (value < 0 || value > MAX_U32) {
      throw new IllegalArgumentException(what + ": wanted 0 to " + MAX_U32 + ", got " + value);
    }
  }
}
