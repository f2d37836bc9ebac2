package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class GdsAdviceTest {
  private static final String DIRECT = "POSIX direct";
  private static final String BUFFERED = "POSIX buffered";

  private static GdsResult measured(String way, double speed, boolean cold) {
    return new GdsResult(way, "sequential", "GDS", cold, speed, 1, 1, "");
  }

  private static GdsResult missing(String way) {
    return GdsResult.missing(way, "sequential", "refused");
  }

  @Test
  void advisesNothingWhenNothingWasMeasured() {
    GdsAdvice advice =
        GdsAdvice.of(List.of(missing(GdsAdvice.CUFILE), missing(DIRECT), missing(BUFFERED)));
    assertEquals(Optional.empty(), advice.way());
    assertEquals("no way could be measured", advice.reason());
  }

  @Test
  void takesCuFileWhenItIsWorthIt() {
    GdsAdvice advice =
        GdsAdvice.of(
            List.of(measured(GdsAdvice.CUFILE, 1.06e9, true), measured(DIRECT, 1e9, true)));
    assertEquals(Optional.of(GdsAdvice.CUFILE), advice.way());
    assertTrue(advice.reason().contains("1.06 times"), advice.reason());
    assertTrue(advice.reason().contains("1.00 GB/s"), advice.reason());
  }

  @Test
  void leavesCuFileWhenItIsHardlyFaster() {
    GdsAdvice advice =
        GdsAdvice.of(
            List.of(measured(GdsAdvice.CUFILE, 1.04e9, true), measured(DIRECT, 1e9, true)));
    assertEquals(Optional.of(DIRECT), advice.way());
  }

  @Test
  void doesNotCountAMissingNumberAsSlow() {
    GdsAdvice advice = GdsAdvice.of(List.of(missing(GdsAdvice.CUFILE), measured(DIRECT, 1, true)));
    assertEquals(Optional.of(DIRECT), advice.way());
  }

  @Test
  void doesNotCompareStorageWithThePageCache() {
    GdsAdvice advice =
        GdsAdvice.of(List.of(measured(DIRECT, 1e9, true), measured(BUFFERED, 9e9, false)));
    assertEquals(Optional.of(DIRECT), advice.way());
  }

  @Test
  void givesTheNumbersOfEveryWayItChoseFrom() {
    GdsAdvice advice =
        GdsAdvice.of(
            List.of(
                missing(GdsAdvice.CUFILE),
                measured(DIRECT, 2e9, true),
                measured(BUFFERED, 1e9, true)));
    assertEquals(Optional.of(DIRECT), advice.way());
    assertTrue(advice.reason().contains("2.00 GB/s against"), advice.reason());
    assertTrue(advice.reason().contains("1.00 GB/s"), advice.reason());
  }

  @Test
  void saysWhenOnlyThePageCacheWasMeasured() {
    GdsAdvice advice = GdsAdvice.of(List.of(missing(DIRECT), measured(BUFFERED, 9e9, false)));
    assertEquals(Optional.of(BUFFERED), advice.way());
    assertTrue(advice.reason().contains("page cache may have helped"), advice.reason());
  }
}
