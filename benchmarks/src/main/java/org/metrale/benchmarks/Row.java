package org.metrale.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What one subject did of one work.
 *
 * @param area the part of the project
 * @param work what was done
 * @param subject by whom: {@code c}, a layer of ours, or another binding
 * @param java the Java's major version, or {@code -}
 * @param level what stood for the vendor's library
 * @param unit of the numbers
 * @param rounds the numbers, one list for each time that everything was run
 * @param bytes allocated for each operation, negative if not known
 * @param source the file of the counterpart in C, or empty
 * @param note what else is to be known, or empty
 */
record Row(
    String area,
    String work,
    String subject,
    String java,
    String level,
    String unit,
    List<List<Double>> rounds,
    double bytes,
    String source,
    String note) {
  /** Of nothing at all. */
  static final String NO_JAVA = "-";

  static Row of(String area, String work, String subject, String java, String level, String unit) {
    return new Row(area, work, subject, java, level, unit, new ArrayList<>(), -1, "", "");
  }

  Row withSource(String file) {
    return new Row(area, work, subject, java, level, unit, rounds, bytes, file, note);
  }

  Row withNote(String text) {
    return new Row(area, work, subject, java, level, unit, rounds, bytes, source, text);
  }

  /** The same with another round; the most bytes of any. */
  Row with(List<Double> values, double moreBytes) {
    List<List<Double>> all = new ArrayList<>(rounds);
    all.add(List.copyOf(values));
    return new Row(
        area, work, subject, java, level, unit, all, Math.max(bytes, moreBytes), source, note);
  }

  boolean isEmpty() {
    return rounds.isEmpty();
  }

  boolean is(String wantedArea, String wantedWork, String wantedSubject) {
    return area.equals(wantedArea) && work.equals(wantedWork) && subject.equals(wantedSubject);
  }

  /** Each round's median. */
  double[] medians() {
    return rounds.stream().mapToDouble(Row::median).toArray();
  }

  double median() {
    return median(medians());
  }

  double least() {
    return rounds.stream().flatMap(List::stream).mapToDouble(d -> d).min().orElse(Double.NaN);
  }

  double most() {
    return rounds.stream().flatMap(List::stream).mapToDouble(d -> d).max().orElse(Double.NaN);
  }

  static double median(List<Double> values) {
    return median(values.stream().mapToDouble(d -> d).toArray());
  }

  static double median(double... values) {
    if (values.length == 0) {
      return Double.NaN;
    }
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
