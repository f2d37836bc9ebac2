package org.metrale.tools;

import java.util.ArrayList;
import java.util.List;

/** A table of text with columns as wide as they must be; numbers stand to the right. */
final class TextTable {
  private final List<List<String>> rows = new ArrayList<>();
  private final int columns;

  TextTable(String... titles) {
    columns = titles.length;
    row(titles);
  }

  TextTable row(String... cells) {
    if (cells.length != columns) {
      throw new IllegalArgumentException(cells.length + " cells for " + columns + " columns");
    }
    rows.add(List.of(cells));
    return this;
  }

  /** Takes the rows out whose first cell is this, so that a later attempt can stand there. */
  void drop(String first) {
    rows.subList(1, rows.size()).removeIf(row -> row.get(0).equals(first));
  }

  /** The lines, without line ends. */
  List<String> lines() {
    int[] widths = new int[columns];
    for (List<String> row : rows) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    List<String> out = new ArrayList<>();
    for (List<String> row : rows) {
      out.add(line(row, widths));
      if (out.size() == 1) {
        StringBuilder rule = new StringBuilder();
        for (int width : widths) {
          rule.append("-".repeat(width)).append("  ");
        }
        out.add(rule.toString().stripTrailing());
      }
    }
    return out;
  }

  private String line(List<String> row, int[] widths) {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < columns; i++) {
      String pad = " ".repeat(widths[i] - row.get(i).length());
      out.append(isNumeric(i) ? pad + row.get(i) : row.get(i) + pad).append("  ");
    }
    return out.toString().stripTrailing();
  }

  private boolean isNumeric(int column) {
    boolean any = false;
    for (List<String> row : rows.subList(1, rows.size())) {
      String cell = row.get(column);
      if (cell.isEmpty() || cell.equals("-") || TopReadings.isRefusal(cell)) {
        continue;
      }
      if (!Character.isDigit(cell.charAt(0))) {
        return false;
      }
      any = true;
    }
    return any;
  }
}
