package org.metrale.gpu.nvtx;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Java text as NVTX wants it: UTF-8 that ends in a NUL. */
final class NvtxText {
  /** Shown in the place of a NUL, which would end the text. */
  private static final char SYMBOL_FOR_NULL = '\u2400';

  private static final char REPLACEMENT = '\uFFFD';

  private NvtxText() {}

  static byte[] bytes(String text) {
    byte[] encoded = clean(text).getBytes(StandardCharsets.UTF_8);
    return Arrays.copyOf(encoded, encoded.length + 1);
  }

  private static String clean(String text) {
    StringBuilder out = null;
    for (int at = 0; at < text.length(); at++) {
      char c = text.charAt(at);
      char wanted = c;
      if (c == 0) {
        wanted = SYMBOL_FOR_NULL;
      } else if (Character.isHighSurrogate(c)
          && at + 1 < text.length()
          && Character.isLowSurrogate(text.charAt(at + 1))) {
        at++; // a pair
      } else if (Character.isSurrogate(c)) {
        wanted = REPLACEMENT;
      }
      if (wanted != c) {
        out = out == null ? new StringBuilder(text) : out;
        out.setCharAt(at, wanted);
      }
    }
    return out == null ? text : out.toString();
  }
}
