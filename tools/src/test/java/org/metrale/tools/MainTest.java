package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class MainTest {
  @TempDir private Path folder;

  private record Outcome(int exitCode, String err) {}

  private static Outcome run(String... arguments) {
    StringWriter err = new StringWriter();
    CommandLine line = Main.commandLine();
    line.setErr(new PrintWriter(err));
    return new Outcome(line.execute(arguments), err.toString());
  }

  private static void refuses(String message, String... arguments) {
    Outcome outcome = run(arguments);
    assertEquals(2, outcome.exitCode, outcome.err);
    assertTrue(outcome.err.contains(message), outcome.err);
  }

  @ParameterizedTest
  @CsvSource({
    "top --frobnicate, Unknown option: '--frobnicate'",
    "top --interval=-1, --interval -1.0: expected at least",
    "top --interval=NaN, --interval NaN: expected at least",
    "top --interval=soon, 'soon' is not a double",
    "top --count=0, --count 0: expected at least 1",
    "top --json --csv, mutually exclusive",
    "top --plot=chart.svg, expected a name that ends in .png",
    "top --from=run.csv, --from is for --plot",
    "top --plot=a.png --from=missing.csv, there is no such file",
    "demo --bytes=7, expected a multiple of 1 KiB",
    "demo --bytes=4Q, '4Q' is no size",
    "demo --iterations=0, expected at least 1",
    "demo --deadline=0, expected at least 1 second",
    "gds, Missing required parameter: 'FILE'",
    "gds missing.bin, missing.bin does not exist",
    "gds --block=0 missing.bin, --block 0: expected 1 to",
    "gds --gpu=-1 missing.bin, --gpu -1: expected 0 or more",
    "sing, Unmatched argument",
    "'', a command is missing"
  })
  void refusesWrongArguments(String arguments, String message) {
    refuses(message, arguments.isEmpty() ? new String[0] : arguments.split(" "));
  }

  @Test
  void refusesFilesThatCannotBeRead() throws Exception {
    Path empty = Files.createFile(folder.resolve("empty"));
    refuses("is empty", "gds", empty.toString());
    refuses("is not a regular file", "gds", folder.toString());
    refuses("exists already", "gds", "--create=1K", empty.toString());
  }

  @Test
  void saysWhatIsWrongWithARecording() throws Exception {
    Path file = Files.writeString(folder.resolve("notes.csv"), "hello\n");
    Path chart = folder.resolve("chart.png");
    Outcome outcome = run("top", "--plot=" + chart, "--from=" + file);
    assertEquals(1, outcome.exitCode);
    assertTrue(outcome.err.contains("is no recording"), outcome.err);
  }
}
