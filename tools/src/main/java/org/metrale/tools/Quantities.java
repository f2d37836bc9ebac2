package org.metrale.tools;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Bytes, times and rates as people read them, and sizes as they write them. */
final class Quantities {
  private static final String[] BINARY = {"B", "KiB", "MiB", "GiB", "TiB"};
  private static final Pattern SIZE =
      Pattern.compile("([0-9]{1,15})\\s*([KMGT]?)(?:i?B)?", Pattern.CASE_INSENSITIVE);

  private Quantities() {}

  /** Reads a size: a number, with K, M, G or T (powers of 1024) if wanted. */
  static long parseBytes(String text) {
    Matcher found = SIZE.matcher(text.strip());
    if (!found.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is no size: expected a number of bytes, or one with K, M, G or T");
    }
    int power = " KMGT".indexOf(found.group(2).toUpperCase(Locale.ROOT));
    long factor = found.group(2).isEmpty() ? 1 : 1L << (10 * power);
    try {
      return Math.multiplyExact(Long.parseLong(found.group(1)), factor);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException("'" + text + "' is too large a size", e);
    }
  }

  static String bytes(long bytes) {
    double value = bytes;
    int unit = 0;
    while (value >= 1024 && unit < BINARY.length - 1) {
      value /= 1024;
      unit++;
    }
    String format = unit == 0 || value == Math.rint(value) ? "%.0f %s" : "%.1f %s";
    return String.format(Locale.ROOT, format, value, BINARY[unit]);
  }

  static String nanos(long nanos) {
    if (nanos < 1_000_000) {
      return String.format(Locale.ROOT, "%.1f us", nanos / 1e3);
    }
    return nanos < 1_000_000_000
        ? String.format(Locale.ROOT, "%.2f ms", nanos / 1e6)
        : String.format(Locale.ROOT, "%.2f s", nanos / 1e9);
  }

  /** Decimal units, as bandwidths are given. */
  static String bandwidth(double bytesPerSecond) {
    return bytesPerSecond >= 1e9
        ? String.format(Locale.ROOT, "%.2f GB/s", bytesPerSecond / 1e9)
        : String.format(Locale.ROOT, "%.1f MB/s", bytesPerSecond / 1e6);
  }
}
