package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A process that has ended.
 *
 * @param code its exit code
 * @param lines what it printed
 * @param errors what it complained of, shortened
 * @param nanos how long it took from start to end
 */
record Child(int code, List<String> lines, String errors, long nanos) {
  private static final int SHORT = 1500;
  private static final long LIMIT_SECONDS = 180;

  /** Runs a command to its end; one that takes far too long is ended. */
  static Child run(List<String> command, Map<String, String> variables)
      throws IOException, InterruptedException {
    Path out = Files.createTempFile("benchmark", ".out");
    Path err = Files.createTempFile("benchmark", ".err");
    // If somebody ends this process meanwhile.
    out.toFile().deleteOnExit();
    err.toFile().deleteOnExit();
    try {
      ProcessBuilder builder = new ProcessBuilder(command);
      builder.environment().keySet().removeIf(name -> name.startsWith("METRALE_"));
      builder.environment().remove("LD_LIBRARY_PATH");
      builder.environment().putAll(variables);
      builder.redirectOutput(out.toFile()).redirectError(err.toFile());
      long begin = System.nanoTime();
      Process process;
      try {
        process = builder.start();
      } catch (IOException e) {
        return new Child(-1, List.of(), e.getMessage(), 0);
      }
      boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
      long nanos = System.nanoTime() - begin;
      if (!ended) {
        process.destroyForcibly().waitFor();
      }
      String errors = Files.readString(err, StandardCharsets.UTF_8).strip();
      return new Child(
          ended ? process.exitValue() : -1,
          Files.readAllLines(out),
          errors.length() > SHORT ? errors.substring(0, SHORT) + "..." : errors,
          nanos);
    } finally {
      Files.delete(out);
      Files.delete(err);
    }
  }
}
