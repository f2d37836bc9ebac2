package org.metrale.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.DoubleBinaryOperator;

/** Everything that was measured, in the order in which it was first measured. */
final class Results {
  private final Map<String, Row> rows = new LinkedHashMap<>();
  private final List<String> problems = new ArrayList<>();
  private final List<String> remarks = new ArrayList<>();

  /** Adds a round to a row, which is made if it is new. */
  void add(Row row, List<Double> values, double bytes) {
    String key = row.area() + '\t' + row.work() + '\t' + row.subject() + '\t' + row.java();
    Row known = rows.getOrDefault(key + '\t' + row.level(), row);
    rows.put(key + '\t' + row.level(), known.withNote(row.note()).with(values, bytes));
  }

  /** Something that should have been measured and was not. */
  void problem(String text) {
    if (!problems.contains(text)) {
      problems.add(text);
    }
  }

  /** Something that a reader should know, such as what was left out and why. */
  void remark(String text) {
    if (!remarks.contains(text)) {
      remarks.add(text);
    }
  }

  List<String> remarks() {
    return remarks;
  }

  List<Row> all() {
    return List.copyOf(rows.values());
  }

  List<String> problems() {
    return problems;
  }

  /** The row of that name, of any level. */
  Optional<Row> find(String area, String work, String subject, String java) {
    return rows.values().stream()
        .filter(row -> row.is(area, work, subject) && row.java().equals(java))
        .findFirst();
  }

  /** The counterpart in C, at the same level if there is one. */
  Optional<Row> counterpart(Row row) {
    return rows.values().stream()
        .filter(other -> other.is(row.area(), row.work(), "c"))
        .filter(other -> other.level().equals(row.level()) || row.level().equals(Level.NONE))
        .findFirst();
  }

  /** One number a round from two rows: each round's numbers were taken close to each other. */
  static double[] pairs(Row one, Row other, DoubleBinaryOperator combine) {
    double[] a = one.medians();
    double[] b = other.medians();
    double[] out = new double[Math.min(a.length, b.length)];
    for (int i = 0; i < out.length; i++) {
      out[i] = combine.applyAsDouble(a[i], b[i]);
    }
    return out;
  }
}
