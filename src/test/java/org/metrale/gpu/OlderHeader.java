package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A header of a row of the table of versions: what {@code metrale regenerate} makes of it must
 * compile, the Java and the glue, and hold against libraries that are not of the header's version.
 */
final class OlderHeader {
  private static final Pattern FUNCTION = Pattern.compile("METRALE_FUNCTION\\(\\d+, ");

  /** RCCL's header declares NCCL's functions, and takes the place of NCCL's. */
  private static final String RCCL = "rccl";

  private static final List<String> LIBRARIES = List.of("nccl", "nvml", "cufile", RCCL);

  private OlderHeader() {}

  /** The rows of each library, in the order of the table. */
  static Map<String, List<MatrixRow>> rows() throws IOException {
    Map<String, List<MatrixRow>> out = new LinkedHashMap<>();
    for (MatrixRow row : MatrixRow.of("header")) {
      out.computeIfAbsent(headerName(row), key -> new ArrayList<>()).add(row);
    }
    assertEquals(LIBRARIES, List.copyOf(out.keySet()));
    return out;
  }

  private static String headerName(MatrixRow row) {
    return LIBRARIES.stream().filter(row.name()::contains).findFirst().orElseThrow();
  }

  /** Regenerates from the row's header in a folder, compiles what comes of it, and calls it. */
  static void check(MatrixRow row, Path folder, Map<String, String> facts) throws Exception {
    String library = headerName(row).equals(RCCL) ? "nccl" : headerName(row);
    Path staged = row.stage();
    facts.put("package", row.stagedVersion(staged));
    Path header = staged.resolve(headerName(row) + ".h");
    assertTrue(Files.exists(header), header + " was not staged");
    RegenerateTree tree = RegenerateTree.in(folder);
    RegenerateTree.Outcome made = tree.regenerate("--" + library, header.toString());
    assertEquals(0, made.status(), made.text());
    String list = tree.generated().get("include/metrale_" + library + "_functions.h");
    Matcher function = FUNCTION.matcher(list);
    int functions = (int) function.results().count();
    facts.put("functions", String.valueOf(functions));
    Path classes = compileJava(tree, folder);
    facts.put("Java", "compiles");
    if (headerName(row).equals(RCCL)) {
      facts.put("glue", lacking(made.text()));
      return;
    }
    assertFalse(made.text().contains("does not compile"), made.text());
    HeaderSkew skew = new HeaderSkew(tree, library, folder, classes);
    skew.compileGlue(alone(header, folder));
    facts.put("glue", "compiles");
    skew.prove(functions, facts);
  }

  /**
   * What {@code metrale regenerate} names that the handwritten glue wants and the header has not;
   * it must say where that can be declared.
   */
  private static String lacking(String said) {
    Matcher name =
        Pattern.compile(
                "^  src/main/resources/\\S+:\\d+: .*'([A-Za-z_]\\w*)'.*$", Pattern.MULTILINE)
            .matcher(said);
    List<String> names = name.results().map(one -> one.group(1)).distinct().sorted().toList();
    assertTrue(
        names.isEmpty() != said.contains("can be declared in src/main/resources/org/metrale"),
        said);
    return names.isEmpty() ? "compiles" : "wants, and is told so: " + String.join(", ", names);
  }

  private static Path compileJava(RegenerateTree tree, Path folder) throws Exception {
    Path classes = Files.createDirectories(folder.resolve("classes"));
    List<String> command = new ArrayList<>();
    // Recipes and the root package as sources too: classes of the newest header must not be found.
    command.addAll(List.of(tool("javac"), "-nowarn", "-Xlint:none", "-proc:none"));
    command.addAll(List.of("-cp", RegenerateTree.libraries(), "-d", classes.toString()));
    for (String part : List.of("src/gen/java", "src/main/java/org/metrale/presets")) {
      sources(tree.root().resolve(part), Integer.MAX_VALUE).forEach(command::add);
    }
    sources(tree.root().resolve("src/main/java/org/metrale/gpu"), 1).forEach(command::add);
    tree.succeed(command);
    return classes;
  }

  /** A folder with nothing but the header, which is found before the staged one. */
  private static Path alone(Path header, Path folder) throws IOException {
    Path out = Files.createDirectories(folder.resolve("older"));
    Files.copy(header, out.resolve(header.getFileName()));
    return out;
  }

  private static List<String> sources(Path folder, int depth) throws IOException {
    try (Stream<Path> files = Files.walk(folder, depth)) {
      return files.map(Path::toString).filter(name -> name.endsWith(".java")).toList();
    }
  }

  /** A program of the Java that runs this. */
  static String tool(String name) {
    return Path.of(System.getProperty("java.home"), "bin", name).toString();
  }
}
