package org.metrale.gpu;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A copy of what {@code metrale regenerate} reads and writes. */
final class RegenerateTree {
  private final Path folder;
  private final Path root;

  /** How a program ended, and what it said. */
  record Outcome(int status, String text) {}

  private RegenerateTree(Path folder) {
    this.folder = folder;
    this.root = folder.resolve("tree");
  }

  /** Copies it into a folder, which is used for logs too. */
  static RegenerateTree in(Path folder) throws IOException {
    RegenerateTree out = new RegenerateTree(folder);
    out.copy(
        "metrale",
        "pom.xml",
        "src/build",
        "src/gen",
        "src/main/c/ibverbs.functions",
        "src/main/java",
        "src/main/resources",
        "src/test/resources/org/metrale/gpu/coverage.txt");
    Files.createSymbolicLink(out.root.resolve("cppbuild"), Fakes.repository().resolve("cppbuild"));
    return out;
  }

  Path root() {
    return root;
  }

  /** The classes that the recipes are among. */
  static Path recipes() {
    return Fakes.repository().resolve("target/classes");
  }

  /** The jars that recipes and generated code need. */
  static String libraries() {
    return String.join(
        File.pathSeparator,
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> entry.endsWith(".jar"))
            .toList());
  }

  Outcome regenerate(String... options) throws Exception {
    List<String> command = new ArrayList<>();
    command.add("bash");
    command.add(root.resolve("src/build/regenerate.sh").toString());
    command.add(recipes() + File.pathSeparator + libraries());
    command.addAll(Arrays.asList(options));
    return start(command.toArray(new String[0]));
  }

  /** Runs a program in the copy, for ten minutes at most. */
  Outcome start(String... command) throws Exception {
    Path log = folder.resolve("log");
    Process process =
        new ProcessBuilder(command)
            .directory(root.toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    if (!process.waitFor(10, TimeUnit.MINUTES)) {
      process.destroy();
      return new Outcome(-1, Files.readString(log));
    }
    return new Outcome(process.exitValue(), Files.readString(log));
  }

  /** Runs a program in the copy that must not fail. */
  void succeed(List<String> command) throws Exception {
    Outcome outcome = start(command.toArray(String[]::new));
    if (outcome.status() != 0) {
      throw new AssertionError(command.get(0) + ": " + outcome.status() + "\n" + outcome.text());
    }
  }

  /** The generated files by their names. */
  Map<String, String> generated() throws IOException {
    Map<String, String> out = new TreeMap<>();
    Path gen = root.resolve("src/gen");
    try (Stream<Path> files = Files.walk(gen)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.put(
            gen.relativize(file).toString(), Files.readString(file, StandardCharsets.ISO_8859_1));
      }
    }
    return out;
  }

  /** Copies more of the repository, files or folders, to their places. */
  void copy(String... parts) throws IOException {
    for (String part : parts) {
      Path from = Fakes.repository().resolve(part);
      Path to = root.resolve(part);
      Files.createDirectories(to.getParent());
      try (Stream<Path> files = Files.walk(from)) {
        for (Path file : files.toList()) {
          Files.copy(
              file,
              to.resolve(from.relativize(file).toString()),
              StandardCopyOption.COPY_ATTRIBUTES);
        }
      }
    }
  }
}
