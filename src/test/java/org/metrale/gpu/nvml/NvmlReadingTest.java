package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NvmlReadingTest {
  @ParameterizedTest
  @ValueSource(ints = {3, 13, 25})
  void noSuchSensorFunctionOrStructureIsAbsent(int code) {
    NvmlReading<Long> reading = NvmlReading.of(new NvmlResult(code), () -> 5L);
    assertInstanceOf(NvmlReading.Absent.class, reading);
    assertEquals(code, reading.result().code());
  }

  @Test
  void noPermissionIsNotAbsent() {
    assertInstanceOf(NvmlReading.Denied.class, NvmlReading.of(NvmlResult.NO_PERMISSION, () -> 5L));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 6, 15, 16, 21, 999, 4711})
  void anyOtherCodeFailsAndIsKept(int code) {
    NvmlReading<Long> reading = NvmlReading.of(new NvmlResult(code), () -> 5L);
    assertInstanceOf(NvmlReading.Failed.class, reading);
    assertEquals(new NvmlResult(code), reading.result());
    assertEquals(Optional.empty(), reading.toOptional());
    assertEquals(7L, reading.orElse(7L));
    assertThrows(NoSuchElementException.class, reading::orElseThrow);
  }

  @Test
  void valuesAreMappedAndRefusalsKept() {
    assertEquals(
        new NvmlReading.Value<>("5"),
        NvmlReading.of(NvmlResult.SUCCESS, () -> 5L).map(Object::toString));
    NvmlReading<Long> lost = new NvmlReading.Failed<>(NvmlResult.GPU_IS_LOST);
    assertEquals(new NvmlReading.Failed<>(NvmlResult.GPU_IS_LOST), lost.map(Object::toString));
  }

  @Test
  void namesWhatAnExceptionIsAbout() {
    NvmlException e =
        new NvmlException("nvmlInit_v2", NvmlResult.DRIVER_NOT_LOADED, "Driver Not Loaded", "a=1");
    assertEquals(
        "nvmlInit_v2: NVML_ERROR_DRIVER_NOT_LOADED (9): Driver Not Loaded [a=1]", e.getMessage());
    assertEquals(NvmlResult.DRIVER_NOT_LOADED, e.result());
  }

  @Test
  void clockReasonsKeepBitsThatAreNotKnown() {
    NvmlClockReasons reasons = new NvmlClockReasons(0x8000_0000_0000_0024L);
    assertEquals(
        java.util.Set.of(
            NvmlClockReasons.Reason.POWER_CAP, NvmlClockReasons.Reason.SOFTWARE_THERMAL),
        reasons.reasons());
    assertTrue(reasons.toString().startsWith("0x8000000000000024"), reasons.toString());
  }

  @Test
  void fabricHealthIsYesNoOrAbsent() {
    NvmlFabric fabric =
        new NvmlFabric(
            3,
            NvmlResult.SUCCESS,
            new UUID(1, 2),
            OptionalLong.of(7),
            OptionalLong.of(0b00_00_10_01),
            OptionalLong.empty(),
            2);
    assertEquals(
        new NvmlReading.Value<>(true), fabric.health(NvmlFabric.Health.DEGRADED_BANDWIDTH));
    assertEquals(new NvmlReading.Value<>(false), fabric.health(NvmlFabric.Health.ROUTE_RECOVERY));
    assertInstanceOf(NvmlReading.Absent.class, fabric.health(NvmlFabric.Health.ROUTE_UNHEALTHY));
  }
}
