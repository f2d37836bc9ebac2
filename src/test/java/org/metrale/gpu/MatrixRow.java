package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * One line of the table of versions: what it names can be staged, and what comes of trying it is
 * kept, whether it works or not.
 */
record MatrixRow(String kind, String name, String version, String from, String sha256) {
  private static final Path TABLE = Fakes.repository().resolve("src/build/matrix/versions.txt");
  private static final Path RESULTS = Fakes.repository().resolve("target/matrix");
  private static final long STAGING_MINUTES = 15;

  /** What is tried; writes down what it finds. */
  interface Trial {
    void run(Map<String, String> facts) throws Exception;
  }

  /** What is tried with each row of a kind. */
  interface Check {
    void run(MatrixRow row, Map<String, String> facts) throws Exception;
  }

  /** A test for each row of a kind; none if other kinds were asked for. */
  static Stream<DynamicTest> tests(String kind, Check check) throws IOException {
    String asked = System.getProperty("metrale.matrix.kinds", "");
    List<DynamicTest> out = new ArrayList<>();
    for (MatrixRow row :
        asked.isEmpty() || List.of(asked.split(",")).contains(kind)
            ? of(kind)
            : List.<MatrixRow>of()) {
      out.add(
          DynamicTest.dynamicTest(row.label(), () -> row.tried(facts -> check.run(row, facts))));
    }
    return out.stream();
  }

  /** The rows of a kind in the order of the table. */
  static List<MatrixRow> of(String kind) throws IOException {
    List<MatrixRow> out = new ArrayList<>();
    for (String line : Files.readAllLines(TABLE)) {
      String[] parts = line.split(" +");
      if (parts[0].equals(kind)) {
        assertEquals(5, parts.length, line);
        out.add(new MatrixRow(parts[0], parts[1], parts[2], parts[3], parts[4]));
      }
    }
    if (out.isEmpty()) {
      throw new IllegalStateException("no row of " + TABLE + " is of the kind " + kind);
    }
    return out;
  }

  /** Fetches what the row names, if it is not there, and says where it lies. */
  Path stage() throws IOException, InterruptedException {
    Path out = Files.createTempFile("stage", ".txt");
    Path log = Files.createTempFile("stage", ".log");
    Process process =
        new ProcessBuilder(
                Fakes.repository().resolve("src/build/matrix/stage.sh").toString(),
                kind,
                name,
                version,
                from,
                sha256)
            .redirectOutput(out.toFile())
            .redirectError(log.toFile())
            .start();
    if (!process.waitFor(STAGING_MINUTES, TimeUnit.MINUTES)) {
      process.destroyForcibly();
      throw new IllegalStateException(this + " was not staged in time: " + Files.readString(log));
    }
    if (process.exitValue() != 0) {
      throw new IllegalStateException(this + " cannot be staged: " + Files.readString(log));
    }
    return Path.of(Files.readString(out).trim());
  }

  /** The version that was staged, where the row leaves it to the release. */
  String stagedVersion(Path folder) throws IOException {
    return "-".equals(version) ? Files.readString(folder.resolve("version")).trim() : version;
  }

  String label() {
    return String.join(" ", kind, name, version, from);
  }

  private void tried(Trial trial) throws Exception {
    Map<String, String> facts = new LinkedHashMap<>();
    String problem = "";
    try {
      trial.run(facts);
    } catch (Exception | AssertionError e) {
      problem = e.toString();
      throw e;
    } finally {
      write(facts, problem);
    }
  }

  private void write(Map<String, String> facts, String problem) throws IOException {
    StringBuilder out = new StringBuilder("{");
    append(out, "kind", kind).append(", ");
    append(out, "name", name).append(", ");
    append(out, "version", version).append(", ");
    append(out, "from", from).append(", ");
    append(out, "problem", problem).append(", \"facts\": {");
    String separator = "";
    for (Map.Entry<String, String> fact : facts.entrySet()) {
      out.append(separator);
      append(out, fact.getKey(), fact.getValue());
      separator = ", ";
    }
    out.append("}}\n");
    Files.createDirectories(RESULTS);
    Files.writeString(RESULTS.resolve(label().replaceAll("[^A-Za-z0-9.-]+", "_") + ".json"), out);
  }

  private static StringBuilder append(StringBuilder out, String key, String value) {
    return out.append(JsonText.quoted(key)).append(": ").append(JsonText.quoted(value));
  }
}
