package org.metrale.gpu.tool;

import java.util.List;
import java.util.Map;

/** Writes findings as indented lines for a person. */
final class DoctorText {
  private static final int LONG_LIST = 12;
  private static final int LINE_LENGTH = 100;

  private DoctorText() {}

  static String write(Map<String, Object> report) {
    StringBuilder out = new StringBuilder();
    report.forEach((name, value) -> entry(name, value, out, 0));
    return out.toString();
  }

  private static void entry(String name, Object value, StringBuilder out, int depth) {
    String indent = "  ".repeat(depth);
    if (value instanceof Map<?, ?> map && !map.isEmpty()) {
      out.append(indent).append(name).append('\n');
      map.forEach((key, inner) -> entry(String.valueOf(key), inner, out, depth + 1));
    } else if (value instanceof List<?> list && list.size() > LONG_LIST) {
      out.append(indent).append(name).append('\n');
      wrap(list, indent + "  ", out);
    } else if (value instanceof List<?> list && !list.isEmpty()) {
      out.append(indent).append(name).append('\n');
      for (Object element : list) {
        element(element, out, depth + 1);
      }
    } else {
      String text = plain(value);
      String lines = text.replace("\n", "\n" + indent + "    ");
      out.append(indent).append(name).append(": ").append(lines).append('\n');
    }
  }

  /** Many short texts: as many a line as fit. */
  private static void wrap(List<?> list, String indent, StringBuilder out) {
    StringBuilder line = new StringBuilder(indent);
    for (Object element : list) {
      String text = plain(element) + " ";
      if (line.length() + text.length() > LINE_LENGTH && line.length() > indent.length()) {
        out.append(line.toString().stripTrailing()).append('\n');
        line = new StringBuilder(indent);
      }
      line.append(text);
    }
    out.append(line.toString().stripTrailing()).append('\n');
  }

  private static void element(Object element, StringBuilder out, int depth) {
    if (element instanceof Map<?, ?> map) {
      String mark = "- ";
      for (Map.Entry<?, ?> pair : map.entrySet()) {
        StringBuilder line = new StringBuilder();
        entry(String.valueOf(pair.getKey()), pair.getValue(), line, depth + 1);
        out.append("  ".repeat(depth)).append(mark).append(line.substring(2 * (depth + 1)));
        mark = "  ";
      }
    } else {
      out.append("  ".repeat(depth)).append("- ").append(plain(element)).append('\n');
    }
  }

  private static String plain(Object value) {
    if (value instanceof Boolean yes) {
      return yes ? "yes" : "no";
    }
    if (value instanceof List<?> || value instanceof Map<?, ?>) {
      return "none";
    }
    return value == null ? "unknown" : value.toString();
  }
}
