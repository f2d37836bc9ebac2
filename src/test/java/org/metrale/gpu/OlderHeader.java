package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
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
 * An older header of a row of the table of versions: what {@code metrale regenerate} makes of it
 * must compile, the Java and the glue.
 */
final class OlderHeader {
  private static final Pattern FUNCTION = Pattern.compile("METRALE_FUNCTION\\(\\d+, ");
  private static final List<String> LIBRARIES = List.of("nccl", "nvml", "cufile");

  private OlderHeader() {}

  /** The rows of each library, in the order of the table. */
  static Map<String, List<MatrixRow>> rows() throws IOException {
    Map<String, List<MatrixRow>> out = new LinkedHashMap<>();
    for (MatrixRow row : MatrixRow.of("header")) {
      out.computeIfAbsent(library(row), key -> new ArrayList<>()).add(row);
    }
    assertEquals(LIBRARIES, List.copyOf(out.keySet()));
    return out;
  }

  private static String library(MatrixRow row) {
    return LIBRARIES.stream().filter(row.name()::contains).findFirst().orElseThrow();
  }

  /** Regenerates from the row's header in a folder, and compiles what comes of it. */
  static void check(MatrixRow row, Path folder, Map<String, String> facts) throws Exception {
    String library = library(row);
    Path staged = row.stage();
    facts.put("package", row.stagedVersion(staged));
    Path header = staged.resolve(library + ".h");
    assertTrue(Files.exists(header), header + " was not staged");
    RegenerateTree tree = RegenerateTree.in(folder);
    RegenerateTree.Outcome made = tree.regenerate("--" + library, header.toString());
    assertEquals(0, made.status(), made.text());
    assertFalse(made.text().contains("does not compile"), made.text());
    String list = tree.generated().get("include/metrale_" + library + "_functions.h");
    Matcher function = FUNCTION.matcher(list);
    facts.put("functions", String.valueOf(function.results().count()));
    Path classes = compileJava(tree, folder);
    facts.put("Java", "compiles");
    compileGlue(tree, library, header, classes, folder);
    facts.put("glue", "compiles");
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
    succeed(tree, command);
    return classes;
  }

  /** As the build does, but for one platform and without making a library of it. */
  private static void compileGlue(
      RegenerateTree tree, String library, Path header, Path classes, Path folder)
      throws Exception {
    Path glue = Files.createDirectories(folder.resolve("glue"));
    succeed(
        tree,
        List.of(
            tool("java"),
            "-cp",
            classes + File.pathSeparator + RegenerateTree.libraries(),
            "org.bytedeco.javacpp.tools.Builder",
            "-classpath",
            classes.toString(),
            "-properties",
            "linux-x86_64",
            "-nocompile",
            "-nodelete",
            "-d",
            glue.toString(),
            "org.metrale.global." + library,
            "org.metrale." + library + ".*"));
    Path jdk = Path.of(System.getProperty("java.home"), "include");
    List<String> command = new ArrayList<>();
    command.add(tree.root().resolve("cppbuild/bin/c++-linux-x86_64").toString());
    // The options of the recipes.
    command.addAll(List.of("-std=c++17", "-O0", "-w", "-c"));
    command.addAll(List.of("-DNVML_NO_UNVERSIONED_FUNC_DEFS", "-DNCCL_OS_LINUX"));
    for (Path include :
        List.of(
            alone(header, folder),
            tree.root().resolve("cppbuild/include"),
            tree.root().resolve("src/main/resources/org/metrale/include"),
            tree.root().resolve("src/gen/include"),
            jdk,
            jdk.resolve("linux"))) {
      command.add("-I" + include);
    }
    command.addAll(List.of("-o", glue.resolve("glue.o").toString()));
    command.add(glue.resolve("jnimetrale" + library + ".cpp").toString());
    succeed(tree, command);
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

  private static String tool(String name) {
    return Path.of(System.getProperty("java.home"), "bin", name).toString();
  }

  private static void succeed(RegenerateTree tree, List<String> command) throws Exception {
    RegenerateTree.Outcome outcome = tree.start(command.toArray(String[]::new));
    assertEquals(0, outcome.status(), outcome.text());
  }
}
