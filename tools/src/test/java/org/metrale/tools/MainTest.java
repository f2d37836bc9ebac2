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
    "top --interval=-1, --interval -1.0: expected 0.05 to 86400 seconds",
    "top --interval=NaN, --interval NaN: expected 0.05 to 86400 seconds",
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
    "demo --only=nothing, expected one of [COLLECTIVES, RAILS]",
    "rail, 'a command is missing: serve, get, put or bench'",
    "rail sing, Unmatched argument",
    "rail serve, (--file=FILE | --arena=SIZE)",
    "rail serve --file=a --arena=1K, mutually exclusive",
    "rail serve --file=missing.bin, missing.bin does not exist",
    "rail serve --file=missing.bin --writable, --writable is for --arena",
    "rail serve --arena=0, --arena 0: expected at least 1 byte",
    "rail serve --arena=1K --port=65536, --port 65536: expected 0 to 65535",
    "rail serve --arena=1K --bind=no.such.host.invalid, there is no such address",
    "rail serve --arena=1K --allow=everybody, --allow:",
    "rail serve --arena=1K --rails=9, --rails 9: expected 1 to 8",
    "rail serve --arena=1K --depth=257, --depth 257: expected 1 to 256",
    "rail serve --arena=1K --device=a:256, --device a:256: expected NAME or NAME:GID",
    "rail serve --arena=1K --connections=0, --connections 0: expected at least 1",
    "rail serve --arena=1K --timeout=0, --timeout 0: expected at least 1 second",
    "rail serve --arena=1K --for=0, --for 0: expected at least 1 second",
    "rail get, Missing required parameters",
    "rail get host file, 'host' is no peer: expected HOST:PORT",
    "rail get host:1 no/such/folder/file, there is no folder",
    "rail get host:1 file --length=0, --length 0: expected at least 1",
    "rail get host:1 file --timeout=0, --timeout 0: expected at least 1 second",
    "rail get host:1 file --writable, --writable needs --length",
    "rail get rail://host:1/m file --writable --length=1, --writable takes no name",
    "rail put missing.bin host:1, missing.bin does not exist",
    "rail put / host:1, / is not a regular file",
    "rail put missing.bin rail://host:1/m, an arena has no names",
    "rail bench host:1 --op=sing, expected one of [READ, WRITE]",
    "rail bench host:1 --size=2G, --size 2147483648: expected 1 to",
    "rail bench host:1 --iterations=0, --iterations 0: expected 1 to",
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
