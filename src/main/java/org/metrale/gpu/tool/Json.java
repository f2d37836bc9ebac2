package org.metrale.gpu.tool;

import java.util.List;
import java.util.Map;

/** Writes maps, lists, texts, numbers, booleans and null as JSON. */
final class Json {
  private Json() {}

  static String write(Object value) {
    StringBuilder out = new StringBuilder();
    write(value, out, 0);
    return out.append('\n').toString();
  }

  private static void write(Object value, StringBuilder out, int depth) {
    if (value instanceof Map<?, ?> map) {
      String separator = "{";
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        out.append(separator).append('\n').append("  ".repeat(depth + 1));
        text(String.valueOf(entry.getKey()), out);
        out.append(": ");
        write(entry.getValue(), out, depth + 1);
        separator = ",";
      }
      close(map.isEmpty(), "{}", "}", out, depth);
    } else if (value instanceof List<?> list) {
      String separator = "[";
      for (Object element : list) {
        out.append(separator).append('\n').append("  ".repeat(depth + 1));
        write(element, out, depth + 1);
        separator = ",";
      }
      close(list.isEmpty(), "[]", "]", out, depth);
    } else if (value == null || value instanceof Number || value instanceof Boolean) {
      out.append(value);
    } else {
      text(value.toString(), out);
    }
  }

  private static void close(
      boolean empty, String whenEmpty, String end, StringBuilder out, int depth) {
    if (empty) {
      out.append(whenEmpty);
    } else {
      out.append('\n').append("  ".repeat(depth)).append(end);
    }
  }

  private static void text(String value, StringBuilder out) {
    out.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c == '\n') {
        out.append("\\n");
      } else if (c < 0x20 || Character.isSurrogate(c)) {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
