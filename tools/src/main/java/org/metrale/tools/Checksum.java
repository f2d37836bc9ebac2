package org.metrale.tools;

import java.util.Optional;
import java.util.regex.Pattern;

/** CRC-32C (Castagnoli) as text: eight hexadecimal digits. */
final class Checksum {
  private static final Pattern TEXT = Pattern.compile("[0-9a-f]{8}");

  private Checksum() {}

  static String text(int crc32c) {
    return String.format("%08x", crc32c);
  }

  static Optional<Integer> parse(String text) {
    return TEXT.matcher(text).matches()
        ? Optional.of(Integer.parseUnsignedInt(text, 16))
        : Optional.empty();
  }
}
