package org.metrale.gpu.nvml;

/** A driver's version as numbers; parts that are no numbers count as 0. */
record NvmlDriverVersion(String text, int major, int minor) {
  static NvmlDriverVersion parse(String text) {
    String[] parts = text.split("\\.", -1);
    return new NvmlDriverVersion(text, number(parts, 0), number(parts, 1));
  }

  /** Whether it is that version or a later one. */
  boolean isAtLeast(int wantedMajor, int wantedMinor) {
    return major != wantedMajor ? major > wantedMajor : minor >= wantedMinor;
  }

  private static int number(String[] parts, int position) {
    if (position >= parts.length || !parts[position].matches("[0-9]{1,6}")) {
      return 0;
    }
    return Integer.parseInt(parts[position]);
  }
}
