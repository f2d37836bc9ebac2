package org.metrale.gpu.nvtx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.ForkedJvm;

/** What a profiler sees: a tool of ours is injected into a JVM of its own. */
@Tag("native")
final class NvtxRecordTest {
  @TempDir Path folder;

  private static Path tool() {
    return Path.of(
            System.getProperty("metrale.basedir", ""),
            "cppbuild",
            System.getProperty("metrale.platform", "linux-x86_64"),
            "src/test/c/nvtx/libmetrale_nvtx_recorder.so")
        .toAbsolutePath();
  }

  private ForkedJvm attached(String scenario) {
    return ForkedJvm.running(NvtxScenario.class, scenario)
        .environment("NVTX_INJECTION64_PATH", tool());
  }

  private List<String> recorded(ForkedJvm jvm) throws Exception {
    Path record = folder.resolve("record");
    ForkedJvm.Result result = jvm.environment("METRALE_NVTX_RECORD", record).run().succeeded();
    assertEquals("true", result.value("attached"));
    return Files.readAllLines(record);
  }

  private static void assertSeen(List<String> lines, String pattern) {
    assertTrue(
        lines.stream().anyMatch(line -> Pattern.matches("\\d+ " + pattern, line)),
        () -> pattern + " is not in\n" + String.join("\n", lines));
  }

  @Test
  void showsRangesSpansMarksAndNames() throws Exception {
    List<String> lines = recorded(attached("all"));
    String decode = "registered \"decode\" category=1 colour=1:ff00ff80 ";
    assertSeen(lines, "domain \\[metrale test\\] ");
    assertSeen(lines, "category \\[metrale test\\] 1=serving");
    assertSeen(lines, "register \\[metrale test\\] decode");
    assertSeen(lines, "thread \\[-\\] \\d+=main of the test");
    assertSeen(
        lines,
        "push \\[metrale test\\] registered \"admit\" category=0 colour=0:00000000 payload=- id=0");
    assertSeen(lines, "push \\[metrale test\\] " + decode + "payload=42 id=1");
    assertSeen(lines, "mark \\[metrale test\\] registered \"in between\" .*");
    assertSeen(lines, "push \\[metrale test\\] " + decode + "payload=2.500 id=0");
    assertSeen(lines, "mark \\[metrale test\\] " + decode + "payload=7 id=0");
    assertSeen(lines, "push \\[metrale test\\] registered \"lambda\" .*");
    assertSeen(lines, "push \\[metrale test\\] registered \"callable\" .*");
    assertSeen(lines, "push \\[-\\] registered \"by default\" .*");
    assertSeen(lines, "start \\[metrale test\\] registered \"first\" .* id=1");
    assertSeen(lines, "start \\[metrale test\\] " + decode + "payload=9 id=2");
    assertEquals(6, lines.stream().filter(line -> line.contains(" pop ")).count());
    assertEquals(2, lines.stream().filter(line -> line.contains(" end ")).count());
  }

  @Test
  void endsSpanOnAnotherThread() throws Exception {
    List<String> lines = recorded(attached("all"));
    String start =
        lines.stream().filter(l -> l.contains(" start ") && l.endsWith("id=2")).findFirst().get();
    String end =
        lines.stream().filter(l -> l.contains(" end ") && l.endsWith("id=2")).findFirst().get();
    assertFalse(end.split(" ")[0].equals(start.split(" ")[0]));
  }

  @Test
  void passesNamesAsUtf8WithNulAndLoneSurrogateReplaced() throws Exception {
    List<String> lines = recorded(attached("names"));
    assertSeen(lines, "push .*registered \"a\u2400b \uFFFD caf\u00E9 \uD83D\uDE80\" .*");
  }

  @Test
  void boundsRegisteredNames() throws Exception {
    Path record = folder.resolve("record");
    ForkedJvm.Result result =
        attached("names")
            .property("org.metrale.nvtx.names", 8)
            .environment("METRALE_NVTX_RECORD", record)
            .run()
            .succeeded();
    List<String> lines = Files.readAllLines(record);
    assertEquals("8", result.value("registered"));
    assertEquals("true", result.value("same"));
    assertEquals("false", result.value("late"));
    assertEquals(8, lines.stream().filter(line -> line.contains(" register ")).count());
    assertSeen(lines, "push .*text \"name 19\" .*");
  }

  @Test
  void showsColoursAndCategoriesHoweverManyThereAre() throws Exception {
    List<String> lines = recorded(attached("colours").property("org.metrale.nvtx.names", 8));
    for (int i = 1; i <= 20; i++) {
      assertSeen(
          lines,
          String.format("push .*registered \"many\" category=1 colour=1:ff%06x payload=- id=0", i));
    }
    assertSeen(lines, "push .*registered \"decode\" category=1 colour=1:ff00ff80 payload=- id=0");
  }

  @Test
  void givesAVirtualThreadASpanAndNoName() throws Exception {
    Path newer = ForkedJvm.newerJdk();
    assumeTrue(Files.exists(newer), "no Java 24 or later here: run cppbuild.sh java25");
    Path record = folder.resolve("record");
    ForkedJvm.Result result =
        attached("virtual")
            .home(newer)
            .options("--enable-native-access=ALL-UNNAMED")
            .environment("METRALE_NVTX_RECORD", record)
            .run()
            .succeeded();
    List<String> lines = Files.readAllLines(record);
    assertEquals("false", result.value("named"));
    assertSeen(lines, "start \\[metrale test\\] registered \"decode\" .* id=1");
    assertSeen(lines, "end \\[metrale test\\] id=1");
    assertTrue(lines.stream().noneMatch(line -> line.contains(" push ")), lines.toString());
    assertTrue(lines.stream().noneMatch(line -> line.contains(" thread ")), lines.toString());
  }

  @Test
  void allocatesNothingForARangeThatAToolTakes() throws Exception {
    ForkedJvm.Result result =
        attached("attached").options("-XX:TieredStopAtLevel=4").run().succeeded();
    assertEquals("true", result.value("attached"));
    assertEquals("0", result.value("bytesPerRange"), result.output());
  }

  @Test
  void noticesRangesClosedOutOfOrder() throws Exception {
    ForkedJvm.Result result = attached("order").run().succeeded();
    assertEquals("1", result.value("afterOutOfOrder"));
    assertEquals("1", result.value("afterOtherDomain"));
    assertEquals("2", result.value("afterTwice"));
    assertEquals("3", result.value("afterStranger"));
    assertEquals(1, result.output().lines().filter(line -> line.contains("NVTX range")).count());
    assertTrue(result.output().contains("NVTX range one was closed while 1 inside it were open"));
  }

  @Test
  void popsAsOftenAsItPushed() throws Exception {
    List<String> lines = recorded(attached("order"));
    assertEquals(
        lines.stream().filter(line -> line.contains(" push ")).count(),
        lines.stream().filter(line -> line.contains(" pop ")).count());
  }

  @Test
  void checksNestingWithoutToolWhenAsked() throws Exception {
    ForkedJvm.Result result =
        ForkedJvm.running(NvtxScenario.class, "order")
            .property("org.metrale.nvtx.check", true)
            .run()
            .succeeded();
    assertEquals("false", result.value("attached"));
    assertEquals("3", result.value("misplaced"));
  }

  @Test
  void checksNothingWithoutTool() throws Exception {
    ForkedJvm.Result result = ForkedJvm.running(NvtxScenario.class, "order").run().succeeded();
    assertEquals("false", result.value("attached"));
    assertEquals("0", result.value("misplaced"));
  }

  @Test
  void allocatesNothingWithoutTool() throws Exception {
    ForkedJvm.Result result =
        ForkedJvm.running(NvtxScenario.class, "cost")
            .options("-XX:TieredStopAtLevel=4")
            .run()
            .succeeded();
    assertEquals("0", result.value("bytesPerRange"));
    // What it costs in time is a benchmark's.
  }

  @Test
  void survivesToolThatCannotBeLoaded() throws Exception {
    ForkedJvm.Result result =
        ForkedJvm.running(NvtxScenario.class, "all")
            .environment("NVTX_INJECTION64_PATH", folder.resolve("absent.so"))
            .run()
            .succeeded();
    assertEquals("false", result.value("attached"));
  }

  @Test
  void recordsRangesInFlightRecording() throws Exception {
    Path recording = folder.resolve("nvtx.jfr");
    ForkedJvm.running(NvtxScenario.class, "all")
        .property("org.metrale.nvtx.jfr", true)
        .options("-XX:StartFlightRecording=filename=" + recording)
        .run()
        .succeeded();
    List<String> ranges =
        jdk.jfr.consumer.RecordingFile.readAllEvents(recording).stream()
            .filter(event -> event.getEventType().getName().equals("org.metrale.NvtxRange"))
            .map(event -> event.getString("domain") + "/" + event.getString("range"))
            .sorted()
            .toList();
    assertEquals(
        List.of(
            "/by default",
            "metrale test/admit",
            "metrale test/callable",
            "metrale test/decode",
            "metrale test/decode",
            "metrale test/decode",
            "metrale test/first",
            "metrale test/lambda"),
        ranges);
  }
}
