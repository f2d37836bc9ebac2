package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class NvmlCadenceTest {
  @Test
  void countsFromStartToStart() {
    assertEquals(1100, NvmlCadence.after(1000, 1030, 100));
    assertEquals(1100, NvmlCadence.after(1000, 1100, 100));
  }

  @Test
  void aLateStepIsFollowedAWholePeriodAfterNow() {
    assertEquals(1201, NvmlCadence.after(1000, 1101, 100));
    assertEquals(9100, NvmlCadence.after(1000, 9000, 100));
  }

  @Test
  void worksOverTheEndOfTheClock() {
    long start = Long.MAX_VALUE - 10;
    assertEquals(start + 100, NvmlCadence.after(start, start + 50, 100));
    assertEquals(start + 301, NvmlCadence.after(start, start + 201, 100));
  }
}
