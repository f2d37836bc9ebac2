package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/** Measurements that need a JVM of their own: how they are started, and how they answer. */
final class Probe {
  private static final String MARK = "ROW\t";

  private Probe() {}

  /** Answers a row from within a probe. */
  static void say(String work, String subject, String level, String unit, double... values) {
    String numbers =
        DoubleStream.of(values)
            .mapToObj(v -> String.format(Locale.ROOT, "%.6g", v))
            .collect(Collectors.joining(","));
    System.out.println(MARK + String.join("\t", work, subject, level, unit, numbers));
  }

  /** Runs a probe and takes its rows. */
  static void run(
      Setting setting,
      Results results,
      String area,
      String java,
      Path library,
      Map<String, String> variables,
      Class<?> main,
      String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(setting.javas().get(java).toString());
    command.addAll(setting.jvmArguments(library));
    command.add("-Dorg.bytedeco.javacpp.maxPhysicalBytes=0");
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(arguments));
    Child child = Child.run(command, variables);
    if (child.code() != 0) {
      results.problem(
          area
              + ": "
              + main.getSimpleName()
              + " "
              + Arrays.toString(arguments)
              + " on Java "
              + java
              + " ended with "
              + child.code()
              + ": "
              + child.errors());
    }
    if (child.code() == 0 && !child.errors().isEmpty()) {
      child.errors().lines().forEach(line -> results.remark(area + ": " + line));
    }
    for (String line : child.lines()) {
      if (line.startsWith(MARK)) {
        String[] words = line.split("\t", -1);
        List<Double> values = new ArrayList<>();
        for (String number : words[5].split(",", -1)) {
          values.add(Double.valueOf(number));
        }
        results.add(Row.of(area, words[1], words[2], java, words[3], words[4]), values, -1);
      }
    }
  }
}
