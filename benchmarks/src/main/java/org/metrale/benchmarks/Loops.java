package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Runs the counterparts in C. */
final class Loops {
  private Loops() {}

  /** The numbers of one program by the names of its works; empty with a problem if it fails. */
  static Map<String, List<Double>> run(
      Setting setting,
      Results results,
      String program,
      Map<String, String> variables,
      String... more)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(setting.native_().resolve("loop_" + program).toString());
    command.add(String.valueOf(setting.pace().repeats()));
    command.add(String.valueOf(setting.pace().choose(1, 50, 100)));
    command.addAll(List.of(more));
    Child child = Child.run(command, variables);
    Map<String, List<Double>> out = new LinkedHashMap<>();
    if (child.code() != 0) {
      results.problem(
          "loops/" + program + ".c: ended with " + child.code() + ": " + child.errors());
      return out;
    }
    for (String line : child.lines()) {
      String[] words = line.split(" ", -1);
      List<Double> values = new ArrayList<>();
      for (int i = 1; i < words.length; i++) {
        values.add(Double.valueOf(words[i]));
      }
      out.put(words[0], values);
    }
    return out;
  }

  static String source(String program) {
    return "loops/" + program + ".c";
  }

  static Path file(Setting setting, String program) {
    return setting.base().resolve("benchmarks/src/main/c/loops/" + program + ".c");
  }
}
