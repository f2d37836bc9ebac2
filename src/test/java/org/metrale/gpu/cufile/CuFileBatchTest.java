package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.metrale.gpu.cufile.CuFileJvm.fault;
import static org.metrale.gpu.cufile.CuFileJvm.run;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.ForkedJvm;

/** Batches on the software GPU host, also where calls of cuFile hang, are late or refuse. */
@Tag("emulator")
@Tag("slow")
final class CuFileBatchTest {
  @TempDir Path folder;

  private ForkedJvm trouble(String scenario, String fault) {
    return fault(CuFileJvm.of(CuFileBatchScenario.class, scenario, folder), fault);
  }

  @Test
  void batches() throws Exception {
    ForkedJvm.Result result = run(CuFileJvm.of(CuFileScenario.class, "batch", folder));
    assertEquals(Integer.toString(2 * 4096 + 5), result.value("total"));
    assertEquals("true", result.value("right"));
  }

  @Test
  void submitsEachContextByItself() throws Exception {
    ForkedJvm.Result result = run(trouble("contexts", ""));
    assertEquals(
        java.util.List.of("0 CUFILE_COMPLETE ", "0 CUFILE_COMPLETE ", "4096 CUFILE_COMPLETE "),
        result.values("event").stream().sorted().toList());
    assertEquals("Count[succeeded=2, failed=0]", result.value("submissions"));
  }

  @Test
  void saysWhichPartOfABatchWasRefused() throws Exception {
    ForkedJvm.Result result =
        run(trouble("contexts", "cufile.cuFileBatchIOSubmit call=2 code=5022"));
    assertEquals(
        2,
        result.values("event").stream().filter("0 CUFILE_COMPLETE "::equals).count(),
        result.output());
    assertTrue(
        result.values("event").stream()
            .anyMatch(event -> event.startsWith("4096 CUFILE_FAILED cuFileBatchIOSubmit: ")),
        result.output());
  }

  @Test
  void losesNoEventWhenInterrupted() throws Exception {
    ForkedJvm.Result result =
        run(trouble("pollInterrupted", "cufile.cuFileBatchIOGetStatus call=1 block=1500"));
    assertTrue(result.value("poll").startsWith("InterruptedException"), result.output());
    assertEquals("1", result.value("open"));
    assertEquals("CUFILE_COMPLETE", result.value("later"));
  }

  @Test
  void givesUpOnBatchCallsThatDoNotReturn() throws Exception {
    ForkedJvm.Result poll = run(trouble("pollHang", "cufile.cuFileBatchIOGetStatus hang"));
    assertEquals("true", poll.value("pollUnfinished"));
    assertTrue(poll.value("close").startsWith("IllegalStateException"), poll.output());
    ForkedJvm.Result submit = run(trouble("submitHang", "cufile.cuFileBatchIOSubmit hang"));
    assertEquals("true", submit.value("submitUnfinished"));
    assertTrue(submit.value("poll").contains("has not returned yet"), submit.output());
    assertTrue(submit.value("again").contains("has not returned yet"), submit.output());
    assertTrue(submit.value("closeBuffer").startsWith("IllegalStateException"), submit.output());
  }

  @Test
  void tellsWhatABatchDidNotBeginBehindACallThatDoesNotReturn() throws Exception {
    ForkedJvm.Result result = run(trouble("submitApart", "cufile.cuFileBatchIOSubmit call=1 hang"));
    assertEquals("true", result.value("submitUnfinished"));
    assertEquals("3", result.value("open"));
    assertNotBegun(result);
    assertEquals(2, result.values("event").size(), result.output());
    assertTrue(result.value("poll").contains("has not returned yet"), result.output());
    assertEquals("true", result.value("closedOthers"));
    assertTrue(result.value("closeBuffer").startsWith("IllegalStateException"), result.output());
  }

  @ParameterizedTest
  @CsvSource({"'', CUFILE_COMPLETE", "' code=5022', CUFILE_FAILED"})
  void endsABatchThatWasSubmittedLate(String code, String first) throws Exception {
    ForkedJvm.Result result =
        run(trouble("submitLate", "cufile.cuFileBatchIOSubmit call=1 block=1500" + code));
    assertEquals("true", result.value("submitUnfinished"));
    assertNotBegun(result);
    assertEquals(3, result.values("event").size(), result.output());
    assertTrue(
        result.values("event").stream().anyMatch(event -> event.startsWith("0 " + first + " ")),
        result.output());
    assertEquals("true", result.value("closed"));
  }

  private static void assertNotBegun(ForkedJvm.Result result) {
    for (String offset : new String[] {"4096", "8192"}) {
      String start = offset + " CUFILE_FAILED cuFileBatchIOSubmit: ETIMEDOUT";
      assertTrue(
          result.values("event").stream().anyMatch(event -> event.startsWith(start)),
          result.output());
    }
  }

  @Test
  void keepsWhatCuFileWasGivenOpenWhenTheRestOfABatchBreaks() throws Exception {
    ForkedJvm.Result result = run(trouble("batchBroken", ""));
    assertTrue(result.value("submit").startsWith("IllegalStateException"), result.output());
    assertEquals("2", result.value("open"));
    assertTrue(result.value("closeBuffer").startsWith("IllegalStateException"), result.output());
    assertEquals(
        java.util.List.of("0 CUFILE_COMPLETE ", "8192 CUFILE_FAILED "),
        result.values("event").stream().sorted().toList());
    assertEquals("true", result.value("closed"));
  }
}
