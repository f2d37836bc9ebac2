package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringTokenizer;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A command run to its end in a process of its own, since a process opens each library only once.
 *
 * @param exitCode how it ended
 * @param out what it wrote to standard output
 * @param err what it wrote to standard error
 */
record ToolProcess(int exitCode, String out, String err) {
  private static final long SECONDS = 180;

  /**
   * Runs a command on the software GPU host: of its jar, or of the folder that a property names.
   */
  static ToolProcess emulated(String... arguments) throws IOException, InterruptedException {
    return run(onEmulator(arguments));
  }

  /** The same arguments and those that choose the software GPU host. */
  static String[] onEmulator(String... arguments) {
    List<String> all = new ArrayList<>(List.of(arguments));
    String folder = System.getProperty("metrale.emulator.folder");
    all.add(folder == null ? "--emulated" : "--emulator-folder=" + folder);
    return all.toArray(String[]::new);
  }

  static ToolProcess run(String... arguments) throws IOException, InterruptedException {
    return run(Map.of(), arguments);
  }

  static ToolProcess run(Map<String, String> environment, String... arguments)
      throws IOException, InterruptedException {
    ProcessBuilder builder = builder(arguments);
    builder.environment().putAll(environment);
    return run(builder);
  }

  /** Runs what was prepared to its end. */
  static ToolProcess run(ProcessBuilder builder) throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("metrale-tool-");
    Path out = folder.resolve("out");
    Path err = folder.resolve("err");
    Process process = builder.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
    try {
      assertTrue(process.waitFor(SECONDS, TimeUnit.SECONDS), "did not end: " + builder.command());
      return new ToolProcess(process.exitValue(), Files.readString(out), Files.readString(err));
    } finally {
      process.destroyForcibly();
      Files.deleteIfExists(out);
      Files.deleteIfExists(err);
      Files.delete(folder);
    }
  }

  /**
   * Runs a command on a terminal of its own; what it wrote there, to either output, is the output.
   */
  static ToolProcess onTerminal(ProcessBuilder builder) throws IOException, InterruptedException {
    String command =
        builder.command().stream()
            .map(word -> "'" + word.replace("'", "'\\''") + "'")
            .collect(Collectors.joining(" "));
    Path screen = Files.createTempFile("metrale-tool-", ".screen");
    try {
      ToolProcess script =
          run(
              builder.command(
                  "script", "--quiet", "--return", "--command", command, screen.toString()));
      return new ToolProcess(script.exitCode, Files.readString(screen), script.err);
    } finally {
      Files.delete(screen);
    }
  }

  /** A command that is about to be started. */
  static ProcessBuilder builder(String... arguments) throws IOException {
    return builder(Main.class, arguments);
  }

  /** Another program with the commands' class path. */
  static ProcessBuilder builder(Class<?> main, String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // What that says goes into logs of their own, which the build looks at when all tests are over.
    Path logs = Files.createDirectories(Path.of("target", "vm").toAbsolutePath());
    command.addAll(
        List.of(
            "-Xcheck:jni",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+LogVMOutput",
            "-XX:-DisplayVMOutput",
            "-XX:LogFile=" + logs.resolve("%t-%p.log")));
    command.add("-Dorg.bytedeco.javacpp.maxPhysicalBytes=0");
    // For slow machines: see src/test/vm/tests.sh.
    StringTokenizer options = new StringTokenizer(System.getProperty("metrale.tool.options", ""));
    while (options.hasMoreTokens()) {
      command.add(options.nextToken());
    }
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(main.getName());
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command);
  }
}
