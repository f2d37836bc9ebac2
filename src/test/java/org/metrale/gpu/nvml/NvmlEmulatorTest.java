package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.ForkedJvm;

@Tag("emulator")
class NvmlEmulatorTest {
  private static final List<String> MACHINES =
      List.of(
          "h200-470",
          "h200-535",
          "h200-550",
          "h200-580",
          "h200-610",
          "gb10-580",
          "gb200-610",
          "a100-mig-550",
          "unusual-580");
  private static final Set<String> DEFAULTS = Set.of("0", "false", "[]", "");

  /** What every emulated part answers alike, and no value stands behind. */
  private static final Set<String> NEVER_SET = Set.of();

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "h200-470",
        "h200-535",
        "h200-550",
        "h200-580",
        "h200-610",
        "gb10-580",
        "gb200-610",
        "a100-mig-550",
        "unusual-580"
      })
  void readsWhatTheMachineHas(String machine) throws Exception {
    ForkedJvm.Result result =
        NvmlJvm.run(folder, resource(machine + ".conf").split("\n"), NvmlProbe.class).succeeded();
    assertEquals(resource(machine + ".txt"), result.output());
  }

  @Test
  void everyPublicReadingHasAValueOfItsOwnOnSomeMachine() throws Exception {
    Set<String> seen = new TreeSet<>();
    Set<String> set = new TreeSet<>();
    for (String machine : MACHINES) {
      for (String line : resource(machine + ".txt").split("\n")) {
        String reading =
            line.substring(0, line.indexOf('='))
                .replaceAll("\\(.*", "")
                .replaceFirst(
                    "^mig\\.(?=\\w+\\.|(bar1|events|fabric|field|gpm|memory|processes|unified|uuid)$)",
                    "");
        String value = line.substring(line.indexOf('=') + 1);
        seen.add(reading);
        if (!DEFAULTS.contains(value) && !value.matches("(Absent|Denied|Failed) \\d+")) {
          set.add(reading);
        }
      }
    }
    for (Class<?> group :
        List.of(
            NvmlIdentity.class,
            NvmlPower.class,
            NvmlClocks.class,
            NvmlThermals.class,
            NvmlUtilization.class,
            NvmlEcc.class,
            NvmlPcie.class,
            NvmlNvLinks.class,
            NvmlMig.class)) {
      for (java.lang.reflect.Method method : NvmlProbe.sorted(group)) {
        if (method.getReturnType() == NvmlReading.class) {
          assertTrue(
              seen.stream().anyMatch(name -> name.endsWith("." + method.getName())),
              method.toString());
        }
      }
    }
    seen.removeAll(set);
    assertEquals(NEVER_SET, seen);
  }

  @Test
  void sessionsAreCountedAndClosedOnce() throws Exception {
    ForkedJvm.Result result = behave("session", "fault = nvml.nvmlShutdown call=4 exit=78");
    assertTrue(result.value("closeWithDependent").startsWith("IllegalStateException"));
    assertEquals("2", result.value("stillUsable"));
    assertEquals("IllegalStateException NVML event set is closed", result.value("closedSet"));
    assertEquals("IllegalStateException NVML session is closed", result.value("afterClose"));
    assertEquals("IllegalStateException NVML session is closed", result.value("deviceAfterClose"));
    assertEquals("IllegalStateException NVML session is closed", result.value("samplerAfterClose"));
    assertEquals("IllegalStateException NVML session is closed", result.value("setAfterClose"));
    assertEquals("2", result.value("otherSession"));
    assertEquals("2", result.value("openedAgain"));
  }

  @Test
  void closingWaitsForCallsInFlight() throws Exception {
    ForkedJvm.Result result = behave("drain", "nvml.pcie.cost_ms = 1200");
    assertEquals("51200", result.value("answer"));
    assertEquals("IllegalStateException NVML session is closed", result.value("afterwards"));
  }

  @Test
  void anyThreadMayReadWhileSessionsAreOpenedAndClosed() throws Exception {
    ForkedJvm.Result result = behave("threads", "fault = nvml.nvmlShutdown call=101 exit=78");
    assertEquals("[]", result.value("wrong"));
    assertEquals("true", result.value("enough"));
    assertEquals("true", result.value("met closed sessions"));
  }

  @Test
  void aSessionThatDoesNotStartIsNeverShutDown() throws Exception {
    ForkedJvm.Result result =
        behave("failure", "nvml.init = error:9", "fault = nvml.nvmlShutdown exit=78");
    String message = "nvmlInit_v2: NVML_ERROR_DRIVER_NOT_LOADED (9): Driver Not Loaded";
    assertEquals(List.of(message, message), result.values("failed"));
    assertEquals(message, result.value("cause"));
    assertEquals("true", result.value("available"));
    assertEquals("true", result.value("version"));
    assertEquals("true", result.value("supports"));
  }

  @Test
  void aMachineWithoutGpusDoesNotStart() throws Exception {
    ForkedJvm.Result result = behave("failure", "gpus = 0");
    assertTrue(result.value("cause").contains("(9)"), result.output());
  }

  @Test
  void waitsForEvents() throws Exception {
    ForkedJvm.Result result =
        behave(
            "events",
            "nvml.gpu0.events = xid:79@20;clock@60;pstate@10",
            "nvml.gpu1.events = power@120");
    assertEquals("Optional.empty", result.value("nothing"));
    assertEquals(List.of("0 XID 79", "0 CLOCK 0", "1 POWER_SOURCE 0"), result.values("event"));
    assertEquals("Optional.empty", result.value("late"));
    assertEquals("true", result.value("waited"));
    assertTrue(result.value("unsupported").contains("NVML_ERROR_NOT_SUPPORTED (3)"));
    assertTrue(result.value("negative").startsWith("IllegalArgumentException"));
    assertTrue(result.value("closeWhileWaiting").startsWith("IllegalStateException"));
    assertEquals("interrupted", result.value("waiter"));
  }

  @Test
  void waitsForEventsWithTheOldestCall() throws Exception {
    ForkedJvm.Result result =
        behave(
            "events",
            "absent = nvmlEventSetWait_v2",
            "nvml.gpu0.events = xid:79@20;clock@60;pstate@10",
            "nvml.gpu1.events = power@120");
    assertEquals(List.of("0 XID 79", "0 CLOCK 0", "1 POWER_SOURCE 0"), result.values("event"));
  }

  @Test
  void monitorsWhatPartsOfAGpuDo() throws Exception {
    ForkedJvm.Result result =
        behave("gpm", "nvml.gpu0.gpm.4 = 8.5", "nvml.gpu0.gpm.2 = 33.25,34.5,35.75,36.0");
    String rest =
        "graphicsPercent 36.5; smPercent %s; smOccupancyPercent 18.75; integerPercent 8.5; "
            + "tensorPercent 22.125; dramBandwidthPercent 19.5; fp64Percent 0.5; "
            + "fp32Percent 6.25; fp16Percent 2.75; pcieSentMebibytesPerSecond 52.5; "
            + "pcieReceivedMebibytesPerSecond 63.5; nvLinkReceivedMebibytesPerSecond 310.5; "
            + "nvLinkSentMebibytesPerSecond 420.5; videoDecoder3Percent Absent 3; ";
    assertEquals("Absent 3", result.value("first"));
    assertEquals(
        List.of(
            String.format(rest, "34.5"), String.format(rest, "35.75"), String.format(rest, "36.0")),
        result.values("take"));
    assertTrue(result.value("none").startsWith("IllegalArgumentException"));
  }

  @Test
  void aDeviceLostBetweenTwoSamplesFailsEveryMetricAndComesBack() throws Exception {
    ForkedJvm.Result result = behave("lost", "nvml.pcie.cost_ms = 1");
    assertEquals("118734", result.value("power"));
    List<String> lost = result.values("lost");
    assertEquals(NvmlMetric.values().length, lost.size());
    for (String line : lost) {
      assertTrue(line.endsWith("Failed 15"), line);
    }
    assertEquals("true", result.value("counted"));
    assertEquals("true", result.value("reading"));
    assertEquals("118734", result.value("back"));
    assertEquals("true", result.value("energyGoesOn"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"h200-610", "h200-470", "gb10-580", "gb200-610"})
  void samplesWhatTheReadingsSay(String machine) throws Exception {
    ForkedJvm.Result result = behave("sampler", resource(machine + ".conf").split("\n"));
    List<String> golden = List.of(resource(machine + ".txt").split("\n"));
    same(golden, "power.usageMilliwatts()", result, NvmlMetric.POWER_MILLIWATTS);
    same(golden, "power.energyMillijoules()", result, NvmlMetric.ENERGY_MILLIJOULES);
    same(golden, "clocks.megahertz(GRAPHICS)", result, NvmlMetric.GRAPHICS_CLOCK_MEGAHERTZ);
    same(golden, "clocks.megahertz(SM)", result, NvmlMetric.SM_CLOCK_MEGAHERTZ);
    same(golden, "clocks.megahertz(MEMORY)", result, NvmlMetric.MEMORY_CLOCK_MEGAHERTZ);
    same(golden, "clocks.megahertz(VIDEO)", result, NvmlMetric.VIDEO_CLOCK_MEGAHERTZ);
    same(golden, "thermals.celsius()", result, NvmlMetric.TEMPERATURE_CELSIUS);
    same(golden, "clocks.performanceState()", result, NvmlMetric.PERFORMANCE_STATE);
    same(
        golden, "pcie.sentKilobytesPerSecond()", result, NvmlMetric.PCIE_SENT_KILOBYTES_PER_SECOND);
    same(
        golden,
        "pcie.receivedKilobytesPerSecond()",
        result,
        NvmlMetric.PCIE_RECEIVED_KILOBYTES_PER_SECOND);
    contains(golden, "utilization.rates()", "gpuPercent", result, NvmlMetric.GPU_PERCENT);
    contains(golden, "utilization.rates()", "memoryPercent", result, NvmlMetric.MEMORY_PERCENT);
    contains(golden, "utilization.encoder()", "percent", result, NvmlMetric.ENCODER_PERCENT);
    contains(golden, "utilization.decoder()", "percent", result, NvmlMetric.DECODER_PERCENT);
    contains(golden, "nvLinks.count()", "active", result, NvmlMetric.ACTIVE_NVLINKS);
    long reasons = Long.parseLong(result.value("CLOCK_EVENT_REASONS"));
    assertTrue(value(golden, "clocks.eventReasons()").startsWith("0x" + Long.toHexString(reasons)));
    assertEquals("1", result.value("COMPUTE_PROCESSES"));
    if (machine.startsWith("gb10")) {
      assertEquals("OPERATING_SYSTEM", result.value("source"));
      assertTrue(Long.parseLong(result.value("MEMORY_TOTAL_BYTES")) > 0);
      assertEquals("Absent 3", result.value("MEMORY_RESERVED_BYTES"));
    } else {
      assertEquals("NVML", result.value("source"));
      contains(golden, "memory", "totalBytes", result, NvmlMetric.MEMORY_TOTAL_BYTES);
      contains(golden, "memory", "usedBytes", result, NvmlMetric.MEMORY_USED_BYTES);
      contains(golden, "memory", "freeBytes", result, NvmlMetric.MEMORY_FREE_BYTES);
      assertEquals(
          machine.endsWith("470")
              ? "Absent 13"
              : number(value(golden, "memory"), "OptionalLong\\["),
          result.value("MEMORY_RESERVED_BYTES"));
    }
    assertTrue(result.value("closeSession").startsWith("IllegalStateException"));
  }

  @Test
  void aFactoryFreesWhatItMadeForASessionThatWasClosedMeanwhile() throws Exception {
    ForkedJvm.Result result =
        behave(
            "closing",
            "fault = nvml.nvmlEventSetCreate block=1500",
            "fault = nvml.nvmlEventSetFree code=999",
            "fault = nvml.nvmlGpmSampleAlloc call=2 block=1500",
            "fault = nvml.nvmlGpmSampleFree code=999");
    assertTrue(
        result
            .value("events")
            .startsWith("NVML session is closed [org.metrale.gpu.nvml.NvmlException: "),
        result.output());
    assertEquals(1, result.value("events").split("nvmlEventSetFree", -1).length - 1);
    assertTrue(result.value("gpm").startsWith("NVML session is closed ["), result.output());
    assertEquals(2, result.value("gpm").split("nvmlGpmSampleFree", -1).length - 1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetComputeRunningProcesses_v3,nvmlDeviceGetComputeRunningProcesses_v2"
      })
  void aLibraryThatClaimsMoreThanThereIsRoomForIsNotBelieved(String absent) throws Exception {
    for (String claimed : List.of("64", "100000", "4294967290")) {
      ForkedJvm.Result result =
          behave(
              "claimed",
              "nvml.processes.claimed = " + claimed,
              absent.isEmpty() ? "" : "absent = " + absent);
      assertEquals(
          "Failed[result=NVML_ERROR_INSUFFICIENT_SIZE (7)]",
          result.value("processes"),
          result.output());
      assertEquals("true", result.value("goesOn"));
    }
  }

  @Test
  void memorySaysWhoTold() throws Exception {
    ForkedJvm.Result nvml = behave("memory", "gpu.kind = h200");
    assertEquals("NVML", nvml.value("alone"));
    assertTrue(nvml.value("withCuda").contains("source=NVML"), nvml.output());
    ForkedJvm.Result cuda = behave("memory", "gpu.kind = h200", "nvml.gpu0.memory.total = N/A");
    assertEquals("Absent 3", cuda.value("alone"));
    assertTrue(
        cuda.value("withCuda")
            .contains(
                "source=CUDA, isUnified=false, totalBytes=3221225472,"
                    + " reservedBytes=OptionalLong.empty, usedBytes=2147483648,"
                    + " freeBytes=1073741824"),
        cuda.output());
    // CUDA counts the page cache as used there, so the operating system is asked instead.
    ForkedJvm.Result unified = behave("memory", "gpu.kind = gb10");
    assertEquals("OPERATING_SYSTEM", unified.value("alone"));
    assertTrue(
        unified.value("withCuda").contains("source=OPERATING_SYSTEM, isUnified=true"),
        unified.output());
  }

  @Test
  void findsTheDevicesThatCudaHas() throws Exception {
    assertEquals(
        List.of("true false", "true false"), behave("cuda", "gpu.kind = gb200").values("cuda"));
    assertEquals(
        List.of("true true", "true true"), behave("cuda", "gpu.kind = a100-mig").values("cuda"));
  }

  @Test
  void samplingAllocatesNothing() throws Exception {
    ForkedJvm.Result result = behave("allocation", "gpu.kind = h200");
    assertEquals("0", result.value("bytes"));
    assertEquals("118734", result.value("read"));
    assertEquals("true", result.value("told"));
  }

  @Test
  void aLibraryThatLacksEverythingLeavesEverythingAbsent() throws Exception {
    String absent =
        NvmlHeader.functions().stream()
            .filter(
                name -> !Set.of("nvmlInit_v2", "nvmlShutdown", "nvmlErrorString").contains(name))
            .collect(Collectors.joining(","));
    ForkedJvm.Result result = behave("absent", "absent = " + absent);
    assertTrue(result.value("count").contains("NVML_ERROR_FUNCTION_NOT_FOUND (13)"));
    assertTrue(result.value("driver").contains("NVML_ERROR_FUNCTION_NOT_FOUND (13)"));
    assertEquals("true", result.value("queries"));
    assertEquals(11, result.values("text").stream().filter("Absent 13"::equals).count());
    for (String key : List.of("processes", "clocks", "fabric", "memory", "power")) {
      assertEquals("Absent 13", result.value(key), key);
    }
    assertTrue(result.value("events").contains("nvmlEventSetCreate"));
    assertTrue(result.value("gpm").contains("nvmlGpmSampleAlloc"));
    assertEquals("0", result.value("errors"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "_v3", "_v3,nvmlDeviceGetComputeRunningProcesses_v2"})
  void takesTheStructureThatBelongsToTheCall(String lacking) throws Exception {
    String processes =
        java.util.stream.IntStream.rangeClosed(1, 300)
            .mapToObj(i -> (70_000 + i) + ":" + (1L << 33) + i)
            .collect(Collectors.joining(";"));
    ForkedJvm.Result result =
        behave(
            "processes",
            "nvml.gpu0.processes = " + processes,
            lacking.isEmpty() ? "" : "absent = nvmlDeviceGetComputeRunningProcesses" + lacking);
    assertEquals("300", result.value("count"));
    assertTrue(
        result
            .value("last")
            .contains("processId=70300, memoryBytes=OptionalLong[" + (1L << 33) + "300]"),
        result.output());
  }

  private ForkedJvm.Result behave(String part, String... lines) throws Exception {
    return NvmlJvm.run(folder, lines, NvmlBehaviourProbe.class, part).succeeded();
  }

  private static String resource(String name) throws Exception {
    try (java.io.InputStream in = NvmlEmulatorTest.class.getResourceAsStream(name)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static void same(
      List<String> golden, String reading, ForkedJvm.Result result, NvmlMetric metric) {
    assertEquals(value(golden, reading), result.value(metric.toString()), reading);
  }

  private static void contains(
      List<String> golden,
      String reading,
      String field,
      ForkedJvm.Result result,
      NvmlMetric metric) {
    String text = value(golden, reading);
    String expected = text.startsWith("Absent") ? text : number(text, "\\b" + field + "=");
    assertEquals(expected, result.value(metric.toString()), reading);
  }

  private static String number(String text, String before) {
    java.util.regex.Matcher found = Pattern.compile(before + "(\\d+)").matcher(text);
    assertTrue(found.find(), text);
    return found.group(1);
  }

  private static String value(List<String> golden, String key) {
    return golden.stream()
        .filter(line -> line.startsWith(key + "="))
        .map(line -> line.substring(key.length() + 1))
        .findFirst()
        .orElseThrow(() -> new AssertionError(key));
  }
}
