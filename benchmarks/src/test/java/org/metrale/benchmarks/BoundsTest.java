package org.metrale.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A miss is shown as one, and what is not measured as that. */
class BoundsTest {
  private static final String REDUCE = "all-reduce by checked: at most 15 ns over C, 0 B/op";

  private final Results results = new Results();

  private List<Verdict> verdicts() {
    return Bounds.of(results, Set.copyOf(Areas.NAMES), List.of("17", "25"));
  }

  private void add(
      String area, String work, String subject, String java, double bytes, double... rounds) {
    for (double round : rounds) {
      results.add(Row.of(area, work, subject, java, Level.NO_OP, "ns/op"), List.of(round), bytes);
    }
  }

  private Verdict on(String bound) {
    return verdicts().stream()
        .filter(verdict -> verdict.bound().startsWith(bound) && verdict.java().equals("17"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void nothingMeasuredReachesNothing() {
    assertTrue(verdicts().stream().allMatch(one -> one.outcome() == Verdict.Outcome.NOT_MEASURED));
  }

  @Test
  void bothJavasHaveTheSameBounds() {
    assertEquals(texts("17"), texts("25"));
    assertTrue(texts("17").size() > 30, () -> texts("17").toString());
  }

  private Set<String> texts(String java) {
    return verdicts().stream()
        .filter(verdict -> verdict.java().equals(java))
        .map(Verdict::bound)
        .collect(Collectors.toSet());
  }

  @Test
  void everyAreaHasBounds() {
    assertEquals(
        Set.copyOf(Areas.NAMES),
        verdicts().stream().map(Verdict::area).collect(Collectors.toSet()));
  }

  @ParameterizedTest
  @CsvSource({
    "16.9, 0, REACHED",
    "17.1, 0, MISSED",
    "16.9, 0.4, REACHED",
    "16.9, 16, MISSED",
  })
  void timeAndBytesOverC(double nanos, double bytes, Verdict.Outcome outcome) {
    add("nccl", "all-reduce", "c", Row.NO_JAVA, -1, 2);
    add("nccl", "all-reduce", "checked", "17", bytes, nanos);
    assertEquals(outcome, on(REDUCE).outcome());
  }

  @Test
  void eachRoundIsComparedWithItsOwnCounterpart() {
    add("nccl", "all-reduce", "c", Row.NO_JAVA, -1, 2, 20, 2);
    add("nccl", "all-reduce", "checked", "17", 0, 16, 34, 16);
    assertEquals(
        new Verdict("nccl", REDUCE, "17", "14 ns, 0 B/op", Verdict.Outcome.REACHED), on(REDUCE));
  }

  @Test
  void theCounterpartOfAnotherLevelIsNone() {
    results.add(
        Row.of("nccl", "all-reduce", "c", Row.NO_JAVA, Level.EMULATED, "ns/op"), List.of(2.0), -1);
    add("nccl", "all-reduce", "checked", "17", 0, 3);
    assertEquals(Verdict.Outcome.NOT_MEASURED, on(REDUCE).outcome());
  }

  @ParameterizedTest
  @CsvSource({"100, REACHED", "102.1, MISSED"})
  void throughputOfReads(double nanos, Verdict.Outcome outcome) {
    add("cufile", "read of 4 KiB", "c", Row.NO_JAVA, -1, 100);
    add("cufile", "read of 4 KiB", "checked", "17", -1, nanos);
    assertEquals(outcome, on("read of 4 KiB").outcome());
  }

  @ParameterizedTest
  @CsvSource({"0, REACHED", "1, MISSED"})
  void oneWaitIsTooMany(double events, Verdict.Outcome outcome) {
    add("scale", "post + reap 64, 4 threads", "waits for another thread", "17", -1, events);
    assertEquals(outcome, on("post + reap 64, 4 threads").outcome());
  }

  @ParameterizedTest
  @CsvSource({"135, REACHED", "136, MISSED"})
  void startingUpOverAnEmptyProgram(double millis, Verdict.Outcome outcome) {
    add("startup", "empty program", "java", "17", -1, 30);
    add("startup", "first NCCL version call", "bytedeco", "17", -1, 180);
    add("startup", "first NCCL version call", "raw", "17", -1, millis);
    assertEquals(outcome, on("first NCCL version call by raw").outcome());
  }
}
