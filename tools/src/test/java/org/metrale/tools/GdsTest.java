package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GdsTest {
  private static final int FIRST = 33;
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path folder;

  private Path file(int bytes) throws Exception {
    byte[] content = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      content[i] = (byte) (i * 31 + i / 251);
    }
    return Files.write(folder.resolve("data"), content);
  }

  private static JsonNode result(JsonNode report, String way, String pattern) {
    for (JsonNode one : report.get("results")) {
      if (one.get("way").asText().equals(way) && one.get("pattern").asText().equals(pattern)) {
        return one;
      }
    }
    throw new AssertionError("no " + way + " " + pattern + " in " + report);
  }

  @Test
  @Tag("native")
  void readsAFileOfOneByteWithoutAnyLibrary() throws Exception {
    ToolProcess gds = ToolProcess.run("gds", "--json", file(1).toString());
    assertEquals(0, gds.exitCode(), gds.err());
    JsonNode report = JSON.readTree(gds.out());
    JsonNode buffered = result(report, "POSIX buffered", "sequential");
    assertTrue(buffered.get("bytes_per_second").asLong() > 0, gds.out());
    assertTrue(
        result(report, "POSIX buffered", "random").get("problem").asText().contains("shorter"));
    assertTrue(report.get("advice").get("random").get("way").isNull());
    // Nothing of it can pass by the page cache, if the file system offers that at all.
    JsonNode direct = result(report, "POSIX direct", "sequential");
    assertTrue(
        direct.has("problem") || direct.get("route").asText().equals("page cache"), gds.out());
  }

  @Test
  @Tag("native")
  void leavesCuFileOutOfTheAdviceWhereThereIsNone() throws Exception {
    ToolProcess gds = ToolProcess.run("gds", file(300_001).toString());
    assertEquals(0, gds.exitCode(), gds.err());
    if (gds.out().contains("no GPU:")) { // a machine with GPUs may have cuFile
      assertTrue(gds.out().contains("not measured: cuFile, sequential: "), gds.out());
      assertFalse(gds.out().contains("use cuFile"), gds.out());
    }
  }

  @Test
  @Tag("emulator")
  void readsByCuFileIntoAGpu() throws Exception {
    ToolProcess gds = ToolProcess.emulated("gds", "--json", file(1_000_003).toString());
    assertEquals(0, gds.exitCode(), gds.err());
    JsonNode report = JSON.readTree(gds.out());
    assertTrue(report.get("emulated").asBoolean());
    assertEquals("memory of NVIDIA H200", report.get("target").asText());
    assertEquals("", gds.err()); // the bar is for a terminal
    for (String pattern : new String[] {"sequential", "random"}) {
      assertTrue(result(report, "cuFile", pattern).get("bytes_per_second").asLong() > 0, gds.out());
      assertFalse(report.get("advice").get(pattern).get("way").isNull(), gds.out());
    }
  }

  @Test
  @Tag("emulator")
  void leavesOutAWayThatFails() throws Exception {
    ToolProcess gds =
        ToolProcess.emulated(
            "gds",
            "--json",
            file(500_000).toString(),
            "--emulator-set=fault=cufile.cuFileRead code=-5027");
    assertEquals(0, gds.exitCode(), gds.err());
    JsonNode report = JSON.readTree(gds.out());
    assertTrue(
        result(report, "cuFile", "sequential").get("problem").asText().contains("5027"), gds.out());
    String way = report.get("advice").get("sequential").get("way").asText();
    assertTrue(way.startsWith("POSIX"), gds.out());
  }

  @Test
  @Tag("native")
  void makesTheFileItIsAskedFor() throws Exception {
    Path made = folder.resolve("made");
    ToolProcess gds = ToolProcess.run("gds", "--create=1500000", "--json", made.toString());
    assertEquals(0, gds.exitCode(), gds.err());
    assertEquals(1_500_000, Files.size(made));
  }

  /** A limit of the process stands for a disk that is full. */
  @Test
  @Tag("native")
  void leavesNothingOfAFileThatCouldNotBeMade() throws Exception {
    Path made = folder.resolve("made");
    ProcessBuilder builder = ToolProcess.builder("gds", "--create=64M", made.toString());
    builder.command().addAll(0, List.of("prlimit", "--fsize=8000000"));
    Process gds = builder.redirectErrorStream(true).start();
    String said = new String(gds.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(1, gds.waitFor(), said);
    assertTrue(said.contains(made + " cannot be made: "), said);
    assertFalse(Files.exists(made));
  }

  @Test
  @Tag("native")
  void saysInALineWhatIsWrongWithTheArguments() throws Exception {
    Path empty = Files.createFile(folder.resolve("empty"));
    String nowhere = folder.resolve("nowhere").resolve("x").toString();
    for (String[] arguments :
        new String[][] {
          {"gds", nowhere},
          {"gds", folder.toString()},
          {"gds", empty.toString()},
          {"gds", "--block=0", file(100).toString()},
          {"gds", "--block=12Q", file(100).toString()},
          {"gds", "--create=1M", empty.toString()}
        }) {
      ToolProcess gds = ToolProcess.run(arguments);
      assertEquals(2, gds.exitCode(), gds.err());
      assertEquals("", gds.out());
    }
    ToolProcess gds = ToolProcess.run("gds", "--create=1M", nowhere);
    assertEquals(1, gds.exitCode(), gds.err());
    assertTrue(gds.err().endsWith("cannot be made: there is no such file or folder\n"), gds.err());
  }

  /** The software GPU host ends the process in the call that comes first. */
  @Test
  @Tag("emulator")
  void opensCuFileInAContextAndClosesItThere() throws Exception {
    String[] first = endingIn("cuda.cuDevicePrimaryCtxRetain", "cufile.cuFileDriverOpen");
    assertEquals(FIRST, ToolProcess.emulated(first).exitCode());
    String[] last = endingIn("cufile.cuFileDriverClose_v2", "cuda.cuDevicePrimaryCtxRelease_v2");
    assertEquals(FIRST, ToolProcess.emulated(last).exitCode());
    String[] buffer = endingIn("cufile.cuFileBufDeregister", "cuda.cuMemFree_v2");
    assertEquals(FIRST, ToolProcess.emulated(buffer).exitCode());
  }

  private String[] endingIn(String expected, String other) throws Exception {
    return new String[] {
      "gds",
      file(500_000).toString(),
      "--emulator-set=fault=" + expected + " exit=" + FIRST,
      "--emulator-set=fault=" + other + " exit=" + (FIRST + 1)
    };
  }

  @Test
  @Tag("emulator")
  void usesItsBufferAgainOnlyWhenItsCopyIsDone() throws Exception {
    ToolProcess scenario =
        ToolProcess.run(
            ToolProcess.builder(GdsTargetScenario.class, ToolProcess.onEmulator()));
    assertEquals("same=true\n", scenario.out(), scenario.err());
    assertEquals(0, scenario.exitCode(), scenario.err());
  }

  @Test
  @Tag("emulator")
  void drawsABarOnATerminal() throws Exception {
    String[] command = ToolProcess.onEmulator("gds", file(1_000_003).toString());
    ToolProcess seen = ToolProcess.onTerminal(ToolProcess.builder(command));
    assertEquals(0, seen.exitCode(), seen.out());
    String screen = seen.out();
    assertTrue(screen.contains("\rreads "), screen);
    assertTrue(screen.contains("100% ["), screen);
    assertTrue(screen.contains("memory of NVIDIA H200"), screen);
  }
}
