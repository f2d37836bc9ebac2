package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NvmlFieldTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "470.256.02",
        "535.288.01",
        "550.163.01",
        "575.57.08",
        "580.65.06",
        "580.82.07",
        "580.95.05",
        "610.43.02"
      })
  void everyFieldHasOneNumberAndNoTwoShareOne(String driver) throws Exception {
    Set<Integer> newest = new TreeSet<>();
    Set<Integer> sent = new TreeSet<>();
    for (long id : NvmlHeader.constants("NVML_FI_").values()) {
      if (newest.add((int) id)) {
        assertTrue(sent.add(NvmlField.of((int) id).idFor(driver)), "twice: " + id);
      }
    }
    assertTrue(newest.size() > 300, "fields in the header: " + newest.size());
    assertEquals(newest, sent);
  }

  @ParameterizedTest
  @CsvSource({
    "250, 250",
    "251, 256",
    "252, 257",
    "268, 273",
    "269, 251",
    "270, 252",
    "273, 255",
    "274, 274"
  })
  void movedFieldsHaveTheirOldNumbersBefore58082(int newest, int old) {
    assertEquals(old, NvmlField.of(newest).idFor("580.65.06"));
    assertEquals(old, NvmlField.of(newest).idFor("570.133.20"));
    assertEquals(newest, NvmlField.of(newest).idFor("580.82.07"));
    assertEquals(newest, NvmlField.of(newest).idFor("610.43.02"));
  }

  @Test
  void namedFieldsHaveTheNumbersOfTheHeader() throws Exception {
    Map<String, Long> header = NvmlHeader.constants("NVML_FI_");
    assertEquals(NvmlField.MEMORY_TEMPERATURE.id(), header.get("DEV_MEMORY_TEMP"));
    assertEquals(
        NvmlField.LINK_SPEED_MEGABYTES_PER_SECOND.id(), header.get("DEV_NVLINK_SPEED_MBPS_COMMON"));
    assertEquals(NvmlField.LINK_SENT_KIBIBYTES.id(), header.get("DEV_NVLINK_THROUGHPUT_DATA_TX"));
    assertEquals(
        NvmlField.LINK_RECEIVED_KIBIBYTES.id(), header.get("DEV_NVLINK_THROUGHPUT_DATA_RX"));
    assertEquals(NvmlField.CHIP_TO_CHIP_LINKS.id(), header.get("DEV_C2C_LINK_COUNT"));
    assertEquals(
        NvmlField.CHIP_TO_CHIP_MEGABYTES_PER_SECOND.id(), header.get("DEV_C2C_LINK_GET_MAX_BW"));
    assertEquals(NvmlField.POWER_AVERAGE_MILLIWATTS.id(), header.get("DEV_POWER_AVERAGE"));
    assertEquals(NvmlField.POWER_INSTANT_MILLIWATTS.id(), header.get("DEV_POWER_INSTANT"));
    assertEquals(NvmlField.PCIE_SENT_BYTES.id(), header.get("DEV_PCIE_COUNT_TX_BYTES"));
    assertEquals(NvmlField.PCIE_RECEIVED_BYTES.id(), header.get("DEV_PCIE_COUNT_RX_BYTES"));
    assertEquals(NvmlField.RECOVERY_ACTION.id(), header.get("DEV_GET_GPU_RECOVERY_ACTION"));
    assertEquals(NvmlField.POWER_SMOOTHING_ENABLED.id(), header.get("PWR_SMOOTHING_ENABLED"));
    assertEquals(
        NvmlField.SOFTWARE_THERMAL_NANOSECONDS.id(),
        header.get("DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN"));
  }

  @Test
  void readsOddDriverVersions() {
    assertEquals(new NvmlDriverVersion("580", 580, 0), NvmlDriverVersion.parse("580"));
    assertEquals(0, NvmlDriverVersion.parse("").major());
    assertEquals(0, NvmlDriverVersion.parse("x.y").minor());
    assertEquals(82, NvmlDriverVersion.parse("580.82.07").minor());
  }
}
