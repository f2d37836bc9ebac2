package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What bytecode does not show, because the compiler copies constants. */
final class SourceRulesTest {
  private static final Pattern GENERATED =
      Pattern.compile("import (static )?org\\.metrale\\.global\\.");

  @Test
  void onlyCallsAndResultsImportGeneratedConstants() throws IOException {
    List<String> others = new ArrayList<>();
    for (Path file : sources()) {
      if (file.toString().matches(".*(Calls|Result)\\.java")) {
        continue;
      }
      Files.readString(file)
          .lines()
          .filter(line -> GENERATED.matcher(line).lookingAt())
          .forEach(line -> others.add(file + ": " + line));
    }
    assertEquals(List.of(), others);
  }

  private static List<Path> sources() throws IOException {
    try (Stream<Path> files =
        Files.walk(Fakes.repository().resolve("src/main/java/org/metrale/gpu"))) {
      return files.filter(file -> file.toString().endsWith(".java")).toList();
    }
  }
}
