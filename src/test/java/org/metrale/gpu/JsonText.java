package org.metrale.gpu;

/** Text in JSON for reports that must be written where there is no library for it. */
public final class JsonText {
  private JsonText() {}

  /**
   * Quotes a text.
   *
   * @param text any text
   * @return it as a JSON string, in ASCII
   */
  public static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < 0x20 || c > 0x7e) {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
