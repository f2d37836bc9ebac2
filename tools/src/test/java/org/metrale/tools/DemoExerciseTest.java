package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Two ranks and four elements: values are 0 31 62 93 on rank 0 and 17 48 79 110 on rank 1. */
class DemoExerciseTest {
  private static float expected(DemoExercise exercise, int rank, int element) {
    return exercise.expected(rank, 2, element, 4);
  }

  @Test
  void sumsForAllReduce() {
    assertEquals(79, expected(DemoExercise.ALL_REDUCE, 0, 1));
  }

  @Test
  void concatenatesForAllGather() {
    assertEquals(31, expected(DemoExercise.ALL_GATHER, 0, 1));
    assertEquals(17, expected(DemoExercise.ALL_GATHER, 0, 2));
  }

  @Test
  void sumsOnesOwnPartForReduceScatter() {
    assertEquals(141, expected(DemoExercise.REDUCE_SCATTER, 1, 0));
    assertEquals(2, DemoExercise.REDUCE_SCATTER.resultElements(2, 4));
  }

  @Test
  void takesTheRootsValuesForBroadcast() {
    assertEquals(48, expected(DemoExercise.BROADCAST, 0, 1));
  }

  @Test
  void takesThePreviousRanksValuesForSendReceive() {
    assertEquals(31, expected(DemoExercise.SEND_RECEIVE, 1, 1));
    assertEquals(48, expected(DemoExercise.SEND_RECEIVE, 0, 1));
  }
}
