package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

class NvmlHeaderTest {
  @Test
  void queriesHaveTheNumbersOfTheHeader() throws Exception {
    Map<String, Long> header = NvmlHeader.constants("METRALE_NVML_");
    for (NvmlQuery query : NvmlQuery.values()) {
      assertEquals(query.ordinal(), header.get(query.name()), query.name());
    }
    assertEquals(NvmlQuery.values().length, header.get("QUERIES"));
  }

  @Test
  void textQueriesHaveTheNumbersOfTheHeader() throws Exception {
    Map<String, Long> header = NvmlHeader.constants("METRALE_NVML_TEXT_");
    assertEquals(NvmlTextQuery.values().length, header.size());
    for (NvmlTextQuery query : NvmlTextQuery.values()) {
      assertEquals(query.ordinal(), header.get(query.name()), query.name());
    }
  }

  @Test
  void choicesHaveTheNumbersOfTheHeader() throws Exception {
    same(
        "NVML_CLOCK_",
        Map.of(
            "GRAPHICS",
            NvmlClock.GRAPHICS,
            "SM",
            NvmlClock.SM,
            "MEM",
            NvmlClock.MEMORY,
            "VIDEO",
            NvmlClock.VIDEO));
    same(
        "NVML_PERF_POLICY_",
        Map.of(
            "POWER",
            NvmlHoldBack.POWER,
            "THERMAL",
            NvmlHoldBack.THERMAL,
            "SYNC_BOOST",
            NvmlHoldBack.SYNC_BOOST,
            "BOARD_LIMIT",
            NvmlHoldBack.BOARD_LIMIT,
            "LOW_UTILIZATION",
            NvmlHoldBack.LOW_UTILIZATION,
            "RELIABILITY",
            NvmlHoldBack.RELIABILITY));
    same(
        "NVML_TEMPERATURE_THRESHOLD_",
        Map.of(
            "SHUTDOWN",
            NvmlThreshold.SHUTDOWN,
            "SLOWDOWN",
            NvmlThreshold.SLOWDOWN,
            "MEM_MAX",
            NvmlThreshold.MEMORY_MAX,
            "GPU_MAX",
            NvmlThreshold.GPU_MAX,
            "ACOUSTIC_MIN",
            NvmlThreshold.ACOUSTIC_MIN,
            "ACOUSTIC_CURR",
            NvmlThreshold.ACOUSTIC_CURRENT,
            "ACOUSTIC_MAX",
            NvmlThreshold.ACOUSTIC_MAX,
            "GPS_CURR",
            NvmlThreshold.GPS_CURRENT));
    same(
        "NVML_ENCODER_QUERY_",
        Map.of("H264", NvmlCodec.H264, "HEVC", NvmlCodec.HEVC, "AV1", NvmlCodec.AV1));
    same(
        "NVML_MEMORY_ERROR_TYPE_",
        Map.of("CORRECTED", NvmlEccError.CORRECTED, "UNCORRECTED", NvmlEccError.UNCORRECTED));
    same(
        "NVML_",
        Map.of("VOLATILE_ECC", NvmlEccCounter.VOLATILE, "AGGREGATE_ECC", NvmlEccCounter.AGGREGATE));
    same(
        "NVML_MEMORY_LOCATION_",
        Map.of(
            "L1_CACHE",
            NvmlMemoryLocation.L1_CACHE,
            "L2_CACHE",
            NvmlMemoryLocation.L2_CACHE,
            "DRAM",
            NvmlMemoryLocation.DEVICE_MEMORY,
            "REGISTER_FILE",
            NvmlMemoryLocation.REGISTER_FILE,
            "TEXTURE_MEMORY",
            NvmlMemoryLocation.TEXTURE_MEMORY,
            "TEXTURE_SHM",
            NvmlMemoryLocation.TEXTURE_SHARED,
            "CBU",
            NvmlMemoryLocation.CBU,
            "SRAM",
            NvmlMemoryLocation.SRAM));
    same(
        "NVML_NVLINK_ERROR_DL_",
        Map.of(
            "REPLAY",
            NvmlLinkError.REPLAY,
            "RECOVERY",
            NvmlLinkError.RECOVERY,
            "CRC_FLIT",
            NvmlLinkError.CRC_FLIT,
            "CRC_DATA",
            NvmlLinkError.CRC_DATA,
            "ECC_DATA",
            NvmlLinkError.ECC_DATA));
  }

  @Test
  void everyResultCodeHasItsName() throws Exception {
    Map<String, Long> header = NvmlHeader.constants("NVML_ERROR_");
    assertTrue(header.size() >= 31, header.toString());
    header.forEach(
        (name, code) ->
            assertEquals("NVML_ERROR_" + name, new NvmlResult(code.intValue()).symbol()));
    assertEquals("nvmlReturn(4711)", new NvmlResult(4711).symbol());
    assertEquals("NVML_SUCCESS", NvmlResult.SUCCESS.symbol());
  }

  @Test
  void bitsAreThoseOfTheHeader() throws Exception {
    Map<String, Long> types = NvmlHeader.constants("nvmlEvent");
    assertEquals(NvmlEventType.XID.bit(), types.get("TypeXidCriticalError"));
    assertEquals(NvmlEventType.CLOCK.bit(), types.get("TypeClock"));
    assertEquals(NvmlEventType.POWER_SOURCE.bit(), types.get("TypePowerSourceChange"));
    assertEquals(NvmlEventType.RECOVERY_ACTION.bit(), types.get("TypeGpuRecoveryAction"));
    Map<String, Long> reasons = NvmlHeader.constants("nvmlClocks");
    assertEquals(
        NvmlClockReasons.Reason.SOFTWARE_THERMAL.bit(),
        reasons.get("EventReasonSwThermalSlowdown"));
    assertEquals(
        NvmlClockReasons.Reason.POWER_BRAKE.bit(),
        reasons.get("ThrottleReasonHwPowerBrakeSlowdown"));
    assertEquals(NvmlClockReasons.Reason.RELIABILITY.bit(), reasons.get("EventReasonReliability"));
  }

  private static void same(String beginning, Map<String, ? extends Enum<?>> names)
      throws Exception {
    Map<String, Long> header = NvmlHeader.constants(beginning);
    names.forEach((name, ours) -> assertEquals(ours.ordinal(), header.get(name), name));
  }
}
