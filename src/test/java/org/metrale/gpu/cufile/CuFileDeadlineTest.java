package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.metrale.gpu.cufile.CuFileJvm.fault;
import static org.metrale.gpu.cufile.CuFileJvm.run;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.ForkedJvm;

/** Calls of cuFile that hang or are late, on the software GPU host: none keeps its caller. */
@Tag("emulator")
@Tag("slow")
final class CuFileDeadlineTest {
  @TempDir Path folder;

  private ForkedJvm trouble(String scenario, String fault) {
    return fault(CuFileJvm.of(CuFileDeadlineScenario.class, scenario, folder), fault);
  }

  private static void givenUp(ForkedJvm.Result result, Map<String, String> calls) {
    calls.forEach(
        (key, call) -> {
          String text = result.value(key);
          assertTrue(
              text.startsWith(
                  "CuFileException " + call + ": ETIMEDOUT (110): has not returned in time ["),
              key + ": " + text);
          assertTrue(text.contains("not over after PT0.2S, elapsed=PT"), key + ": " + text);
          assertEquals("true", result.value(key + "Unfinished"), key);
        });
  }

  private static String hanging(String... functions) {
    return "cufile." + String.join(" hang; cufile.", functions) + " hang";
  }

  @Test
  void givesUpAskingAndSetting() throws Exception {
    ForkedJvm.Result result =
        run(
            trouble(
                "facts",
                hanging(
                    "cuFileDriverGetProperties from=2",
                    "cuFileGetParameterSizeT",
                    "cuFileGetParameterBool",
                    "cuFileGetParameterString",
                    "cuFileSetParameterSizeT",
                    "cuFileSetParameterBool",
                    "cuFileSetParameterString",
                    "cuFileSetStatsLevel",
                    "cuFileStatsStop",
                    "cuFileStatsReset",
                    "cuFileGetStatsLevel")));
    givenUp(
        result,
        Map.of(
            "properties", "cuFileDriverGetProperties",
            "size", "cuFileGetParameterSizeT",
            "flag", "cuFileGetParameterBool",
            "text", "cuFileGetParameterString",
            "setSize", "cuFileSetParameterSizeT",
            "setFlag", "cuFileSetParameterBool",
            "setText", "cuFileSetParameterString",
            "level", "cuFileSetStatsLevel",
            "stop", "cuFileStatsStop",
            "reset", "cuFileStatsReset"));
    givenUp(
        result, Map.of("statistics", "cuFileGetStatsL1", "status", "cuFileDriverGetProperties"));
    assertEquals("12", result.value("calls"));
    assertTrue(result.value("close").startsWith("IllegalStateException"), result.output());
  }

  @Test
  void givesUpRegisteringAndKeepsTheMemory() throws Exception {
    ForkedJvm.Result result =
        run(trouble("buffers", hanging("cuFileBufRegister from=2", "cuFileBufDeregister")));
    givenUp(result, Map.of("register", "cuFileBufRegister", "deregister", "cuFileBufDeregister"));
    assertTrue(result.value("register").contains("length=8192 address=0x"), result.output());
    assertTrue(result.value("register").contains(" device=0 "), result.output());
    assertEquals("true", result.value("closed"));
    assertTrue(result.value("closeMemory").contains("has 2 dependents open"), result.output());
    assertEquals("2", result.value("calls"));
  }

  @Test
  void letsGoOfMemoryWhenRegisteringComesBack() throws Exception {
    ForkedJvm.Result result =
        run(
            trouble(
                "lateBuffers",
                "cufile.cuFileBufRegister call=2 block=1500;"
                    + " cufile.cuFileBufDeregister call=3 block=500"));
    givenUp(result, Map.of("register", "cuFileBufRegister", "deregister", "cuFileBufDeregister"));
    assertTrue(result.value("closeMemory").contains("has 1 dependents open"), result.output());
    assertEquals("true", result.value("again"));
    assertEquals("0", result.value("calls"));
  }

  @Test
  void givesUpMakingAndEndingBatches() throws Exception {
    ForkedJvm.Result result =
        run(trouble("batches", hanging("cuFileBatchIOSetUp call=2", "cuFileBatchIODestroy")));
    givenUp(result, Map.of("setUp", "cuFileBatchIOSetUp", "destroy", "cuFileBatchIODestroy"));
    assertEquals("2", result.value("calls"));
  }

  @Test
  void endsABatchThatWasMadeTooLate() throws Exception {
    ForkedJvm.Result result =
        trouble(
                "lateBatch",
                "cufile.cuFileBatchIOSetUp block=1000; cufile.cuFileBatchIODestroy exit=78")
            .run();
    // By the fault of what ends it.
    assertEquals(78, result.exit(), result.output());
    givenUp(result, Map.of("setUp", "cuFileBatchIOSetUp"));
  }

  @Test
  void givesUpClosingAFile() throws Exception {
    ForkedJvm.Result result = run(trouble("closeFile", hanging("cuFileHandleDeregister")));
    givenUp(result, Map.of("close", "cuFileHandleDeregister"));
    assertEquals("true", result.value("closed"));
    assertTrue(result.value("closeDriver").startsWith("IllegalStateException"), result.output());
  }

  @Test
  void givesUpOnOpeningThatDoesNotReturn() throws Exception {
    ForkedJvm.Result result =
        run(
            fault(
                CuFileJvm.of(CuFileScenario.class, "open", folder),
                "cufile.cuFileDriverOpen hang"));
    assertEquals("false", result.value("open"));
    assertTrue(result.value("cause").contains("has not returned in PT10S"), result.output());
  }

  @Test
  void givesUpOnTransferThatDoesNotReturn() throws Exception {
    ForkedJvm.Result result = run(trouble("hang", "cufile.cuFileRead hang"));
    for (String call : new String[] {"timed", "usual", "plain"}) {
      String message = result.value(call);
      assertTrue(
          message.startsWith("CuFileException cuFileRead: ETIMEDOUT (110): has not returned"),
          message);
      assertTrue(message.contains("not over after PT0.2S"), message);
      assertEquals("true", result.value(call + "Unfinished"));
    }
    assertEquals("true", result.value("quick"));
    for (String thing : new String[] {"close", "closeBuffer", "closeMemory"}) {
      assertTrue(result.value(thing).startsWith("IllegalStateException"), result.output());
    }
  }

  @Test
  void goesOnAfterTransferThatReturnedLate() throws Exception {
    ForkedJvm.Result result = run(trouble("late", "cufile.cuFileRead call=1 block=1500"));
    assertEquals("true", result.value("firstUnfinished"));
    assertTrue(result.value("close").startsWith("IllegalStateException"), result.output());
    assertEquals("4096", result.value("second"));
    assertEquals("true", result.value("closedLater"));
  }

  @Test
  void callsInTheCallersThreadWhereACallMayTakeForEver() throws Exception {
    ForkedJvm.Result forever =
        run(
            trouble(
                "forever",
                "cufile.cuFileRead block=500; cufile.cuFileBufRegister call=2 block=500"));
    assertEquals("4096", forever.value("bytes"));
    assertEquals("true", forever.value("inside"));
    assertEquals("true", forever.value("insideRegister"));
  }

  @Test
  void endsWaitThatHasATimeOfItsOwnWhenInterrupted() throws Exception {
    ForkedJvm.Result result = run(trouble("interrupt", "cufile.cuFileRead call=1 block=500"));
    assertTrue(result.value("timed").startsWith("InterruptedException"), result.output());
    assertEquals("false", result.value("flagAfterTimed"));
    assertEquals("4096", result.value("usual"));
    assertEquals("true", result.value("flagAfterUsual"));
  }

  @Test
  void givesUpOnFileThatCannotBeRegistered() throws Exception {
    ForkedJvm.Result result = run(trouble("openHang", "cufile.cuFileHandleRegister hang"));
    assertEquals("true", result.value("openUnfinished"));
    assertTrue(result.value("close").startsWith("IllegalStateException"), result.output());
  }

  @Test
  void givesUpOnClosingThatDoesNotReturn() throws Exception {
    ForkedJvm.Result result = run(trouble("closeHang", "cufile.cuFileDriverClose_v2 hang"));
    assertEquals("true", result.value("open"));
    assertTrue(result.value("close").contains("has not returned in PT0.2S"), result.output());
    assertTrue(result.value("again").startsWith("cuFileDriverClose: "), result.output());
  }

  @Test
  void closesAnOlderLibraryByTheNameThatItHas() throws Exception {
    ForkedJvm.Result result =
        run(
            trouble("closeHang", "cufile.cuFileDriverClose hang")
                .environment("METRALE_EMULATOR_ABSENT", "cuFileDriverClose_v2"));
    assertTrue(result.value("close").contains("has not returned in PT0.2S"), result.output());
  }

  @Test
  void givesUpOnQueueingThatDoesNotReturn() throws Exception {
    ForkedJvm.Result result = run(trouble("asyncHang", "cufile.cuFileReadAsync hang"));
    assertEquals("true", result.value("readUnfinished"));
    assertEquals("1", result.value("abandoned"));
    assertEquals("1", result.value("calls"));
    assertTrue(result.value("closeBuffer").startsWith("IllegalStateException"), result.output());
  }

  @ParameterizedTest
  @CsvSource({"''", "' code=5022'"})
  void keepsNothingForQueueingThatReturnedLate(String code) throws Exception {
    ForkedJvm.Result result =
        run(trouble("asyncLate", "cufile.cuFileReadAsync call=1 block=1500" + code));
    assertEquals("true", result.value("readUnfinished"));
    assertEquals("1", result.value("abandoned"));
    assertEquals("0", result.value("abandonedLater"));
    assertEquals("true", result.value("closedLater"));
  }
}
