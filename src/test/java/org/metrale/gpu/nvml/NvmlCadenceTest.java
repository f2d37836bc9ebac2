package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
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
  void aStepThatFailsIsToldAndTheNextOneComes() {
    List<String> told = new ArrayList<>();
    int[] steps = new int[1];
    NvmlCadence[] cadence = new NvmlCadence[1];
    cadence[0] =
        new NvmlCadence(
            new FakeClock(),
            100,
            () -> {
              if (++steps[0] == 1) {
                throw new LinkageError("first");
              }
              if (steps[0] == 2) {
                throw new IllegalStateException("second");
              }
              cadence[0].stop();
            },
            problem -> told.add(problem.getMessage()));
    cadence[0].run();
    assertEquals(3, steps[0]);
    assertEquals(List.of("first", "second"), told);
  }

  @Test
  void worksOverTheEndOfTheClock() {
    long start = Long.MAX_VALUE - 10;
    assertEquals(start + 100, NvmlCadence.after(start, start + 50, 100));
    assertEquals(start + 301, NvmlCadence.after(start, start + 201, 100));
  }
}
