package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The ledger of bound functions, coverage.txt, is what the staged headers say. */
@Tag("native")
final class CoverageTest {
  /** Library, and how the functions of its header look to somebody who reads it. */
  private static final Map<String, String> HEADERS =
      Map.of(
          "nccl", "\\b(p?nccl[A-Z]\\w+)\\s*\\(",
          "nvml", "\\b(nvml[A-Z]\\w+)\\s*\\(",
          "cufile", "\\b(cuFile[A-Z]\\w+|cufileop_status_error)\\s*\\(");

  @Test
  void bindsEveryPublicFunction() throws Exception {
    List<String> ledger = new ArrayList<>();
    for (String library : List.of("nccl", "nvml", "cufile")) {
      Set<String> declared = declared(library);
      Set<String> callable = callable(library);
      long bound = declared.stream().filter(callable::contains).count();
      ledger.add(
          String.format(
              "%s.h: %d of %d functions, %d %%",
              library, bound, declared.size(), 100 * bound / declared.size()));
      declared.forEach(name -> ledger.add((callable.contains(name) ? "  " : "- ") + name));
    }
    Path found = Fakes.repository().resolve("target/coverage.txt");
    Files.write(found, ledger);
    assertEquals(
        String.join("\n", committed()),
        String.join("\n", ledger),
        "src/test/resources/org/metrale/gpu/coverage.txt differs from " + found);
    assertEquals(List.of(), ledger.stream().filter(line -> line.startsWith("- ")).toList());
  }

  /** Read with other means than the ones that made the bindings. */
  private static Set<String> declared(String library) throws IOException {
    String header =
        Files.readString(
            Fakes.repository().resolve("cppbuild/include/" + library + ".h"),
            StandardCharsets.ISO_8859_1);
    String code =
        header
            .replaceAll("(?s)/\\*.*?\\*/", " ")
            .replaceAll("//[^\n]*", "")
            .replaceAll("\\\\\n", " ")
            .replaceAll("(?m)^\\s*#.*$", "")
            .replaceAll("\\{[^{}]*\\}", " ");
    Set<String> out = new TreeSet<>();
    Matcher found = Pattern.compile(HEADERS.get(library)).matcher(code);
    while (found.find()) {
      out.add(found.group(1));
    }
    return out;
  }

  /** The names of the generated methods, less those of constants and of our table. */
  private static Set<String> callable(String library) throws ClassNotFoundException {
    Class<?> generated =
        Class.forName("org.metrale.global." + library, false, CoverageTest.class.getClassLoader());
    return Stream.of(generated.getMethods())
        .map(method -> method.getName())
        .collect(Collectors.toSet());
  }

  private static List<String> committed() throws IOException {
    try (var in = CoverageTest.class.getResourceAsStream("coverage.txt")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
  }
}
