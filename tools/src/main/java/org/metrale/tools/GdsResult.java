package org.metrale.tools;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How fast one way was in one pattern, or why there is no number. A number that is missing is never
 * 0.
 *
 * @param way for example {@code cuFile}
 * @param route what the bytes really took
 * @param cold whether the page cache cannot have helped
 * @param bytesPerSecond only if {@code problem} is empty
 * @param problem why it was not measured
 */
record GdsResult(
    String way,
    String pattern,
    String route,
    boolean cold,
    double bytesPerSecond,
    long medianNanos,
    long slowestNanos,
    String problem) {
  static GdsResult missing(String way, String pattern, String problem) {
    return new GdsResult(way, pattern, "-", false, 0, 0, 0, problem);
  }

  boolean isMeasured() {
    return problem.isEmpty();
  }

  Map<String, Object> toJson() {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("way", way);
    out.put("pattern", pattern);
    if (isMeasured()) {
      out.put("route", route);
      out.put("cold", cold);
      out.put("bytes_per_second", Math.round(bytesPerSecond));
      out.put("median_nanos", medianNanos);
      out.put("slowest_nanos", slowestNanos);
    } else {
      out.put("problem", problem);
    }
    return out;
  }
}
