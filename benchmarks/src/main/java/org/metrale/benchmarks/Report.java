package org.metrale.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Results as tables; the same text is printed and kept. */
final class Report {
  private final Results results;
  private final List<Verdict> verdicts;
  private final Map<String, String> machine;
  private final StringBuilder out = new StringBuilder();

  private Report(Results results, List<Verdict> verdicts, Map<String, String> machine) {
    this.results = results;
    this.verdicts = verdicts;
    this.machine = machine;
  }

  static String of(
      Results results, List<Verdict> verdicts, Map<String, String> machine, String head) {
    Report report = new Report(results, verdicts, machine);
    report.out.append(head).append("\n\n");
    report.machine();
    report.verdicts();
    report.rows();
    report.list("Remarks", results.remarks());
    report.list("Problems", results.problems());
    return report.out.toString();
  }

  static String bytes(long count) {
    return count >= 1 << 20 ? (count >> 20) + " MiB" : (count >> 10) + " KiB";
  }

  static String bytesPerOperation(double bytes) {
    if (bytes < 0) {
      return "?";
    }
    return bytes < 0.05 ? "0" : String.format(Locale.ROOT, bytes < 10 ? "%.1f" : "%.0f", bytes);
  }

  private void machine() {
    List<List<String>> lines = new ArrayList<>();
    machine.forEach((key, value) -> lines.add(List.of(key, value)));
    table(List.of("machine", ""), lines);
  }

  private void verdicts() {
    long reached = count(Verdict.Outcome.REACHED);
    out.append("\n## Bounds\n\n")
        .append(reached + " reached, " + count(Verdict.Outcome.MISSED) + " missed, ")
        .append(count(Verdict.Outcome.NOT_MEASURED) + " not measured.\n\n");
    List<List<String>> lines = new ArrayList<>();
    for (Verdict verdict : verdicts) {
      lines.add(
          List.of(
              verdict.area(),
              verdict.bound(),
              verdict.java(),
              verdict.measured(),
              verdict.outcome().toString()));
    }
    table(List.of("area", "bound", "Java", "measured", ""), lines);
  }

  private long count(Verdict.Outcome outcome) {
    return verdicts.stream().filter(verdict -> verdict.outcome() == outcome).count();
  }

  private void rows() {
    String area = "";
    List<List<String>> lines = new ArrayList<>();
    for (Row row : results.all()) {
      if (!row.area().equals(area)) {
        flush(lines);
        area = row.area();
        out.append("\n## ").append(area).append("\n\n");
      }
      lines.add(line(row));
    }
    flush(lines);
  }

  private void flush(List<List<String>> lines) {
    if (!lines.isEmpty()) {
      table(
          List.of(
              "work", "by", "Java", "level", "median", "from .. to", "unit", "of C", "B/op", "C"),
          lines);
      lines.clear();
    }
  }

  private List<String> line(Row row) {
    Optional<Row> c = row.subject().equals("c") ? Optional.empty() : results.counterpart(row);
    String share =
        c.filter(other -> other.unit().equals(row.unit()))
            .map(other -> share(Results.pairs(row, other, (a, b) -> a / b)))
            .orElse("");
    return List.of(
        row.work(),
        row.subject(),
        row.java(),
        row.level(),
        number(row.median()),
        number(row.least()) + " .. " + number(row.most()),
        row.unit(),
        share,
        row.bytes() < 0 ? "" : bytesPerOperation(row.bytes()),
        row.source());
  }

  /** The median of the rounds' ratios, and how far they lie apart. */
  private static String share(double... ratios) {
    double least = Double.MAX_VALUE;
    double most = 0;
    for (double ratio : ratios) {
      least = Math.min(least, ratio);
      most = Math.max(most, ratio);
    }
    return String.format(Locale.ROOT, "%.2f (%.2f .. %.2f)", Row.median(ratios), least, most);
  }

  private void list(String head, List<String> texts) {
    if (!texts.isEmpty()) {
      out.append("\n## ").append(head).append("\n\n");
      texts.forEach(text -> out.append("- ").append(text.replace("\n", " ")).append('\n'));
    }
  }

  /** Columns as wide as they must be, so that it is a table on a terminal too. */
  private void table(List<String> heads, List<List<String>> lines) {
    int[] widths = new int[heads.size()];
    List<List<String>> all = new ArrayList<>();
    all.add(heads);
    all.addAll(lines);
    for (List<String> line : all) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    line(heads, widths);
    out.append('|');
    for (int width : widths) {
      out.append(" ").append("-".repeat(Math.max(3, width))).append(" |");
    }
    out.append('\n');
    lines.forEach(line -> line(line, widths));
  }

  private void line(List<String> cells, int... widths) {
    out.append('|');
    for (int i = 0; i < widths.length; i++) {
      String cell = cells.get(i);
      out.append(' ')
          .append(cell)
          .append(" ".repeat(Math.max(3, widths[i]) - cell.length()))
          .append(" |");
    }
    out.append('\n');
  }

  static String number(double value) {
    double size = Math.abs(value);
    if (size >= 1e6) {
      return String.format(Locale.ROOT, "%.4g", value).replace("e+0", "e");
    }
    return String.format(Locale.ROOT, size >= 1000 ? "%.0f" : size >= 100 ? "%.1f" : "%.2f", value);
  }
}
