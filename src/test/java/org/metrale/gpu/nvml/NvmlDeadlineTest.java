package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.ForkedJvm;

/** A driver that hangs, on the software GPU host: no call keeps its caller, and each says so. */
@Tag("emulator")
class NvmlDeadlineTest {
  @TempDir private Path folder;

  private ForkedJvm.Result run(String part, String... lines) throws Exception {
    ForkedJvm.Result result = NvmlJvm.run(folder, lines, NvmlDeadlineProbe.class, part).succeeded();
    assertEquals("true", result.value("ended"));
    return result;
  }

  private static void givenUp(ForkedJvm.Result result, Map<String, String> calls) {
    calls.forEach(
        (key, call) -> {
          String text = result.value(key);
          assertTrue(
              text.startsWith(
                  "unfinished "
                      + call.substring(0, call.indexOf(' '))
                      + ": NVML_ERROR_TIMEOUT (10): has not returned in time ["),
              key + ": " + text);
          assertTrue(text.contains(call.substring(call.indexOf(' ') + 1)), key + ": " + text);
          assertTrue(text.contains("elapsed=PT"), key + ": " + text);
          assertTrue(text.contains("limit=PT0.1S"), key + ": " + text);
        });
  }

  private static String[] hanging(String... functions) {
    return List.of(functions).stream()
        .map(function -> "fault = nvml." + function + " hang")
        .toArray(String[]::new);
  }

  @Test
  void givesUpStarting() throws Exception {
    givenUp(run("start", hanging("nvmlInit_v2")), Map.of("open", "nvmlInit_v2 elapsed"));
  }

  @Test
  void givesUpEnding() throws Exception {
    ForkedJvm.Result result = run("end", hanging("nvmlShutdown"));
    givenUp(result, Map.of("close", "nvmlShutdown elapsed"));
    assertEquals("true", result.value("closed"));
  }

  @Test
  void givesUpCallsOfASessionAndOpensTheNext() throws Exception {
    ForkedJvm.Result result =
        run(
            "session",
            hanging(
                "nvmlDeviceGetCount_v2 call=1",
                "nvmlDeviceGetHandleByIndex_v2",
                "nvmlDeviceGetHandleByUUID",
                "nvmlDeviceGetHandleByPciBusId_v2",
                "nvmlSystemGetDriverVersion",
                "nvmlSystemGetNVMLVersion",
                "nvmlSystemGetProcessName"));
    givenUp(
        result,
        Map.of(
            "count", "nvmlDeviceGetCount_v2 elapsed",
            "byIndex", "nvmlDeviceGetHandleByIndex_v2 deviceIndex=1",
            "byUuid", "nvmlDeviceGetHandleByUUID uuid=GPU-x",
            "byPci", "nvmlDeviceGetHandleByPciBusId_v2 pciBusId=0000:3b:00.0",
            "driver", "nvmlSystemGetDriverVersion elapsed",
            "nvml", "nvmlSystemGetNVMLVersion elapsed",
            "process", "nvmlSystemGetProcessName processId=1"));
    assertEquals(
        "unfinished nvmlShutdown: NVML_ERROR_TIMEOUT (10): has not returned in time [not called"
            + " yet, elapsed=PT0.1S, calls that have not returned: 7; the last of them does it]",
        result.value("close"));
    assertEquals("7", result.value("calls"));
    assertEquals("1", result.value("sessions"));
    assertEquals("2", result.value("next"));
  }

  @Test
  void givesUpReadingsOfADevice() throws Exception {
    ForkedJvm.Result result =
        run(
            "device",
            hanging(
                "nvmlDeviceGetPowerUsage",
                "nvmlDeviceGetUUID",
                "nvmlDeviceGetMemoryInfo_v2",
                "nvmlDeviceGetComputeRunningProcesses_v3",
                "nvmlDeviceGetSupportedMemoryClocks",
                "nvmlDeviceGetSupportedGraphicsClocks",
                "nvmlDeviceGetGpuFabricInfo_v4",
                "nvmlDeviceGetFieldValues",
                "nvmlDeviceGetMaxMigDeviceCount",
                "nvmlDeviceIsMigDeviceHandle"));
    givenUp(
        result,
        Map.of(
            "query", "nvmlDeviceGetPowerUsage deviceIndex=0",
            "text", "nvmlDeviceGetUUID deviceIndex=0",
            "memory", "nvmlDeviceGetMemoryInfo_v2 deviceIndex=0",
            "processes", "nvmlDeviceGetComputeRunningProcesses_v3 deviceIndex=0",
            "clocks", "nvmlDeviceGetSupportedMemoryClocks deviceIndex=0",
            "graphicsClocks", "nvmlDeviceGetSupportedGraphicsClocks deviceIndex=0",
            "fabric", "nvmlDeviceGetGpuFabricInfo_v4 deviceIndex=0",
            "fields", "nvmlDeviceGetFieldValues deviceIndex=0",
            "migs", "nvmlDeviceGetMaxMigDeviceCount deviceIndex=0",
            "parent", "nvmlDeviceIsMigDeviceHandle deviceIndex=0"));
    assertEquals("10", result.value("calls"));
  }

  @Test
  void givesUpCallsOfEventSetsAndMonitors() throws Exception {
    ForkedJvm.Result result =
        run(
            "objects",
            hanging(
                "nvmlEventSetCreate call=2",
                "nvmlDeviceRegisterEvents",
                "nvmlEventSetWait_v2",
                "nvmlEventSetFree",
                "nvmlGpmSampleAlloc call=3",
                "nvmlGpmSampleGet",
                "nvmlGpmSampleFree"));
    givenUp(
        result,
        Map.of(
            "create", "nvmlEventSetCreate elapsed",
            "register", "nvmlDeviceRegisterEvents deviceIndex=0",
            "wait", "nvmlEventSetWait_v2 elapsed",
            "free", "nvmlEventSetFree elapsed",
            "gpm", "nvmlGpmSampleAlloc deviceIndex=0",
            "take", "nvmlGpmSampleGet deviceIndex=0",
            "freeGpm", "nvmlGpmSampleFree deviceIndex=0"));
    assertEquals("NVML event set has 2 calls running", result.value("closeSet"));
    assertTrue(
        result.value("takeAgain").contains("not called: the last call has not returned"),
        result.output());
  }

  @Test
  void leavesNoMoreThreadsBehindThanItSays() throws Exception {
    ForkedJvm.Result result = run("many", hanging("nvmlDeviceGetPowerUsage"));
    List<String> all = result.values("power");
    assertEquals(18, all.size());
    for (int i = 0; i < all.size(); i++) {
      String text = all.get(i);
      assertTrue(text.startsWith("unfinished nvmlDeviceGetPowerUsage: "), text);
      assertEquals(i >= 16, text.contains("not called: 16 earlier calls have not returned"), text);
    }
    assertEquals("16", result.value("calls"));
  }

  @Test
  void takesNothingFromACallThatComesBackLate() throws Exception {
    ForkedJvm.Result result =
        run(
            "late",
            "fault = nvml.nvmlDeviceGetPowerUsage call=1 block=1000",
            "nvml.gpu0.energy = 424242");
    givenUp(result, Map.of("power", "nvmlDeviceGetPowerUsage deviceIndex=0"));
    assertEquals("424242", result.value("energy"));
    assertTrue(result.value("close").startsWith("unfinished nvmlShutdown: "), result.output());
    assertEquals("1", result.value("calls"));
    assertEquals("1", result.value("sessions"));
    assertEquals("IllegalStateException NVML session is closed", result.value("afterwards"));
    assertEquals("118734", result.value("next"));
  }

  /** The faults of what ends them would end the process if it were not called as often. */
  @Test
  void endsWhatWasMadeTooLate() throws Exception {
    ForkedJvm.Result result =
        run(
            "lateObjects",
            "fault = nvml.nvmlEventSetCreate block=500",
            "fault = nvml.nvmlEventSetFree code=999",
            "fault = nvml.nvmlGpmSampleAlloc call=1 block=500",
            "fault = nvml.nvmlGpmSampleFree call=2 code=999",
            "fault = nvml.nvmlInit_v2 call=2 block=500",
            "fault = nvml.nvmlShutdown call=2 code=999");
    givenUp(
        result,
        Map.of(
            "create", "nvmlEventSetCreate elapsed",
            "gpm", "nvmlGpmSampleAlloc deviceIndex=0",
            "open", "nvmlInit_v2 elapsed"));
    for (String end : List.of("nvmlEventSetFree", "nvmlGpmSampleFree", "nvmlShutdown")) {
      // The log of a call that nobody waits for: it was made.
      assertTrue(result.output().contains(end + ": NVML_ERROR_UNKNOWN (999)"), result.output());
    }
  }

  @Test
  void losesNoEventOfAWaitThatCameBackLate() throws Exception {
    ForkedJvm.Result result =
        run(
            "lateEvent",
            "fault = nvml.nvmlEventSetWait_v2 call=1 block=500",
            "nvml.gpu0.events = xid:79@0");
    assertTrue(result.value("wait").startsWith("unfinished nvmlEventSetWait_v2: "));
    assertEquals("79", result.value("event"));
  }

  @Test
  void callsInTheCallersThreadWhereCallsMayTakeForEver() throws Exception {
    ForkedJvm.Result result = run("forever", "fault = nvml.nvmlDeviceGetPowerUsage block=500");
    assertEquals("118734", result.value("power"));
    assertEquals("true", result.value("inside"));
  }

  @Test
  void aSamplerWhoseCallDoesNotReturnSaysSoAndCloses() throws Exception {
    ForkedJvm.Result result =
        run("sampler", "fault = nvml.nvmlDeviceGetPowerUsage call=3 block=4000");
    assertEquals("true", result.value("overdue"));
    assertEquals("118734", result.value("power"));
    assertTrue(
        result.value("close").startsWith("unfinished nvmlDeviceGetPowerUsage: "), result.output());
    assertTrue(result.value("close").contains("NVML sampler stuck elapsed=PT1.1S"));
    assertEquals("CLOSED", result.value("state"));
    assertTrue(result.value("closeSession").startsWith("unfinished nvmlShutdown: "));
    assertEquals("1", result.value("sessions"));
    assertEquals("true", result.value("next"));
    assertEquals("null", result.value("told"));
    assertEquals("0", result.value("published"));
  }

  @Test
  void aSlowMetricThatDoesNotReturnLeavesTheOthersAlone() throws Exception {
    ForkedJvm.Result result = run("slowSampler", hanging("nvmlDeviceGetPcieThroughput"));
    assertEquals("Failed 10", result.value("sent"));
    assertEquals("Failed 10", result.value("processes"));
    assertEquals("118734", result.value("power"));
    assertEquals("16", result.value("calls"));
  }

  @Test
  void everyQueryNamesAFunctionOfTheLibrary() throws Exception {
    List<String> functions = NvmlHeader.functions();
    for (NvmlQuery query : NvmlQuery.values()) {
      assertTrue(functions.contains(query.call()), query.call());
    }
    for (NvmlTextQuery query : NvmlTextQuery.values()) {
      assertTrue(functions.contains(query.call()), query.call());
    }
    for (NvmlProcessKind kind : NvmlProcessKind.values()) {
      assertTrue(functions.contains(kind.call()), kind.call());
    }
  }

  @Test
  void refusesTimesThatAreNone() {
    assertEquals(Duration.ofSeconds(5), NvmlOptions.defaults().callTimeout());
    assertFalse(NvmlOptions.defaults().sessionTimeout().isZero());
    assertThrows(
        IllegalArgumentException.class,
        () -> new NvmlOptions(Duration.ZERO, Duration.ofSeconds(1)));
    assertThrows(
        IllegalArgumentException.class,
        () -> NvmlOptions.defaults().withCallTimeout(Duration.ofNanos(-1)));
  }
}
