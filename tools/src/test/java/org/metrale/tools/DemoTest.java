package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("emulator")
class DemoTest {
  @Test
  void checksEveryOperationAndSaysWhoWasKilled() throws Exception {
    ToolProcess demo =
        ToolProcess.emulated("demo", "--bytes=4K,256K", "--iterations=3", "--deadline=20");
    assertEquals(0, demo.exitCode(), demo.out() + demo.err());
    List<String> lines = demo.out().strip().lines().toList();
    assertTrue(lines.get(0).startsWith("EMULATED: "), demo.out());
    assertTrue(
        lines.get(lines.size() - 1).startsWith("EMULATED: everything was right"), demo.out());
    for (DemoExercise exercise : DemoExercise.values()) {
      Pattern row = Pattern.compile(Pattern.quote(exercise.title()) + " .* 4 .* right");
      assertEquals(2, lines.stream().filter(line -> row.matcher(line).find()).count(), demo.out());
    }
    assertTrue(demo.out().contains("missing: rank 3 never issued operation"), demo.out());
    assertTrue(demo.out().contains("exit code 137"), demo.out());
    for (int rank = 0; rank < 3; rank++) {
      Pattern back = Pattern.compile("rank " + rank + " came back .* within its deadline");
      assertTrue(back.matcher(demo.out()).find(), demo.out());
    }
    assertTrue(demo.err().contains("operations"), "no progress: " + demo.err());
  }

  @Test
  void endsWithOneWhenAResultIsWrong() throws Exception {
    ToolProcess demo =
        ToolProcess.emulated(
            "demo",
            "--bytes=4K",
            "--iterations=1",
            "--deadline=20",
            "--emulator-set=fault=nccl.ncclBroadcast skip");
    assertEquals(1, demo.exitCode(), demo.out() + demo.err());
    assertTrue(demo.out().contains("WRONG"), demo.out());
  }

  private static ToolProcess collectives(int iterations, int deadlineSeconds, String setting)
      throws Exception {
    return ToolProcess.emulated(
        "demo",
        "--only=collectives",
        "--bytes=4K",
        "--iterations=" + iterations,
        "--deadline=" + deadlineSeconds,
        "--emulator-set=" + setting);
  }

  @Test
  void takesAsManyRanksAsTheSettingsLeaveGpus() throws Exception {
    ToolProcess demo = collectives(1, 20, "gpus=3");
    assertEquals(0, demo.exitCode(), demo.out() + demo.err());
    assertTrue(demo.out().contains("metrale demo: 2 ranks in two processes"), demo.out());
  }

  @ParameterizedTest
  @CsvSource({
    "gpus=1, the software GPU host has 1 GPUs and the demo needs 2",
    "fault=cuda.cuInit code=999, CUDA_ERROR_UNKNOWN",
  })
  void saysWhichSettingLeavesItWithoutGpus(String setting, String why) throws Exception {
    ToolProcess demo = collectives(1, 20, setting);
    assertEquals(1, demo.exitCode(), demo.out() + demo.err());
    assertTrue(demo.err().contains("demo: "), demo.err());
    assertTrue(demo.err().contains(why), demo.err());
    assertFalse(demo.err().contains("\tat "), demo.err());
  }

  @Test
  void checksTransfersOverTwoRailsWhileOneIsCut() throws Exception {
    ToolProcess demo = ToolProcess.emulated("demo", "--only=rails", "--deadline=20");
    assertEquals(0, demo.exitCode(), demo.out() + demo.err());
    checkRails(demo);
    assertTrue(demo.out().contains("transport retry counter exceeded"), demo.out());
    String last = demo.out().strip().lines().reduce((a, b) -> b).orElseThrow();
    assertTrue(last.startsWith("EMULATED: everything was right"), demo.out());
  }

  private static void checkRails(ToolProcess demo) {
    List<String> lines =
        demo.out().lines().filter(line -> line.startsWith("EMULATED: rails: ")).toList();
    assertEquals(2, lines.size(), demo.out());
    assertTrue(lines.get(0).contains("on 2 rails: mlx5_0, mlx5_1 (emulated"), demo.out());
    assertTrue(lines.get(1).contains("everything was right"), demo.out());
    for (String row : List.of("READ ", "WRITE ", "READ, rail 1 cut ", "READ, rail 1 back ")) {
      Pattern right = Pattern.compile("^" + row + ".* [0-9a-f]{8} right$", Pattern.MULTILINE);
      assertTrue(right.matcher(demo.out()).find(), demo.out());
    }
  }

  @Test
  void endsWithOneWhenTheRailsDoNotWork() throws Exception {
    ToolProcess demo =
        ToolProcess.emulated(
            "demo",
            "--only=rails",
            "--deadline=3",
            "--emulator-set=fault=ibverbs.ibv_create_qp code=12");
    assertEquals(1, demo.exitCode(), demo.out() + demo.err());
    assertTrue(demo.err().contains("demo: "), demo.err());
    assertTrue(demo.out().contains("EMULATED: rails: NOT EVERYTHING WAS RIGHT"), demo.out());
    String last = demo.out().strip().lines().reduce((a, b) -> b).orElseThrow();
    assertTrue(last.startsWith("EMULATED: NOT EVERYTHING WAS RIGHT"), demo.out());
  }

  @Test
  void endsWithOneWhenARankDoesNotTakePart() throws Exception {
    ToolProcess demo = collectives(1, 3, "fault=nccl.ncclBroadcast rank=2 skip");
    assertEquals(1, demo.exitCode(), demo.out() + demo.err());
    assertTrue(demo.err().contains("demo: ncclBroadcast: "), demo.err());
    String last = demo.out().strip().lines().reduce((a, b) -> b).orElseThrow();
    assertTrue(last.startsWith("EMULATED: NOT EVERYTHING WAS RIGHT"), demo.out());
  }

  @Test
  void noticesASilentLossByItsDeadline() throws Exception {
    ToolProcess demo = collectives(2, 3, "nccl.peer_death=silent");
    assertEquals(0, demo.exitCode(), demo.out() + demo.err());
    assertTrue(demo.out().contains("missing: rank 3"), demo.out());
  }
}
