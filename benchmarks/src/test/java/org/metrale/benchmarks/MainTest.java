package org.metrale.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the command answers before it measures, and what it leaves if it is ended. */
class MainTest {
  private static final long LIMIT_SECONDS = 60;

  @TempDir Path folder;

  @BeforeEach
  void folders() throws IOException {
    Files.createDirectories(folder.resolve("native"));
    Files.createDirectories(folder.resolve("benchmarks"));
  }

  private ProcessBuilder bench(String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Dmetrale.benchmarks.base=" + folder);
    command.add("-Dmetrale.benchmarks.native=" + folder.resolve("native"));
    command.add("-Dmetrale.benchmarks.platform=linux-x86_64");
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command)
        .redirectOutput(folder.resolve("out").toFile())
        .redirectError(folder.resolve("err").toFile());
  }

  private int code(Process process) throws InterruptedException {
    try {
      assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "it goes on");
      return process.exitValue();
    } finally {
      process.destroyForcibly();
    }
  }

  private String errors() throws IOException {
    return Files.readString(folder.resolve("err"), StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @CsvSource({
    "ncll, no area ncll",
    "--fast, no option --fast",
    "--json, --json needs a file",
    "-h, no option -h",
  })
  void wrongArgumentsAreNamed(String argument, String message) throws Exception {
    assertEquals(2, code(bench("raw", argument).start()));
    assertTrue(errors().startsWith("bench: " + message + "\nusage: bench "), errors());
  }

  /** Nothing is left out without a word. */
  @ParameterizedTest
  @CsvSource({
    "wire, no profile of wire",
    "--quick, --profile takes areas alone",
    "--smoke, --profile takes areas alone",
    "--json=, --profile takes areas alone",
  })
  void whatAProfileHasNotIsNamed(String argument, String message) throws Exception {
    List<String> arguments = new ArrayList<>(List.of("--profile", "raw"));
    if (argument.equals("--json=")) {
      arguments.addAll(List.of("--json", folder.resolve("out.json").toString()));
    } else {
      arguments.add(argument);
    }
    assertEquals(2, code(bench(arguments.toArray(String[]::new)).start()));
    assertTrue(errors().startsWith("bench: " + message + "\nusage: bench "), errors());
  }

  @ParameterizedTest
  @CsvSource({
    "missing/out.json, there is no folder",
    "benchmarks, it is a folder",
    "/proc/out.json, no file can be made in /proc",
  })
  void aFileThatCannotBeWrittenIsFoundBeforeAnythingIsMeasured(String file, String message)
      throws Exception {
    Path path = folder.resolve(file);
    assertEquals(2, code(bench("--json", path.toString(), "raw").start()));
    assertTrue(errors().startsWith("bench: cannot write " + path + ": " + message), errors());
  }

  @Test
  void aProgramThatIsMissingIsAProblemAndNoStackTrace() throws Exception {
    assertEquals(1, code(bench("--smoke", "handshake").start()));
    String all = Files.readString(folder.resolve("out"), StandardCharsets.UTF_8) + errors();
    assertTrue(all.contains("loop_pingpong"), all);
    assertFalse(all.contains("\tat "), all);
  }

  @Test
  void whatItStartedEndsWithItAndNoFileIsLeft() throws Exception {
    Path loop = folder.resolve("native/loop_pingpong");
    Path child = folder.resolve("child");
    Path json = folder.resolve("out.json");
    Files.writeString(
        loop,
        "#!/bin/sh\necho $$ > "
            + child
            + ".part\nmv "
            + child
            + ".part "
            + child
            + "\nexec sleep 600\n");
    Files.setPosixFilePermissions(loop, PosixFilePermissions.fromString("rwx------"));
    Process process = bench("--json", json.toString(), "handshake").start();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (!Files.exists(child)) {
      assertTrue(process.isAlive() && System.nanoTime() < end, this::said);
      Thread.sleep(20);
    }
    Optional<ProcessHandle> started =
        ProcessHandle.of(Long.parseLong(Files.readString(child).strip()));
    process.destroy();
    assertEquals(143, code(process));
    started.ifPresent(handle -> handle.onExit().orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS).join());
    assertFalse(Files.exists(json));
    assertTrue(
        errors().contains("bench: ended before everything was measured; no file was written"),
        errors());
  }

  private String said() {
    try {
      return errors();
    } catch (IOException e) {
      return e.toString();
    }
  }

  @Test
  void aFileIsReplacedAsAWhole() throws Exception {
    Path file = folder.resolve("file");
    Files.writeString(file, "old");
    Output.write(file, "new");
    assertEquals("new", Files.readString(file));
    try (var all = Files.list(folder)) {
      assertEquals(3, all.count());
    }
  }
}
