package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class NvmlEnergyMeterTest {
  private final NvmlEnergyMeter meter = new NvmlEnergyMeter();

  @Test
  void theFirstReadingOnlyAnchors() {
    meter.add(987_654_321L);
    assertEquals(0, meter.totalMillijoules());
    meter.add(987_654_421L);
    assertEquals(100, meter.totalMillijoules());
  }

  @Test
  void goesOnOverACounterThatWasFull() {
    meter.add(-50L);
    meter.add(30L);
    assertEquals(80, meter.totalMillijoules());
    assertEquals(1, meter.wraps());
    assertEquals(0, meter.resets());
  }

  @Test
  void chargesWhatAResetCounterShows() {
    meter.add(1_000_000L);
    meter.add(1_000_500L);
    meter.add(40L);
    meter.add(60L);
    assertEquals(560, meter.totalMillijoules());
    assertEquals(0, meter.wraps());
    assertEquals(1, meter.resets());
  }

  @Test
  void fallingOutOfTheTopQuarterIntoTheMiddleIsAReset() {
    meter.add(-50L);
    meter.add(0x5000_0000_0000_0000L);
    assertEquals(0x5000_0000_0000_0000L, meter.totalMillijoules());
    assertEquals(1, meter.resets());
  }

  @Test
  void comparesUnsigned() {
    meter.add(Long.MAX_VALUE - 5);
    meter.add(Long.MIN_VALUE + 4);
    assertEquals(10, meter.totalMillijoules());
    assertEquals(0, meter.wraps() + meter.resets());
  }

  @Test
  void tellsTheEnergyOfTheLastReadings() {
    assertEquals(0, meter.millijoulesOverLast(10));
    for (int i = 0; i < 20_000; i++) {
      meter.add(1000L + i * 3L);
    }
    assertEquals(30, meter.millijoulesOverLast(10));
    assertEquals(3 * 8191, meter.millijoulesOverLast(8191));
    assertEquals(20_000, meter.readings());
    assertThrows(IllegalArgumentException.class, () -> meter.millijoulesOverLast(8192));
    assertThrows(IllegalArgumentException.class, () -> meter.millijoulesOverLast(0));
  }

  @Test
  void fewerReadingsCountAsAllThereAre() {
    meter.add(5);
    meter.add(9);
    meter.add(10);
    assertEquals(5, meter.millijoulesOverLast(100));
  }
}
