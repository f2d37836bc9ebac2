package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.SoftwareHost;

/**
 * What goes wrong in NCCL, one fault a JVM: who says what, and that nobody waits beyond a deadline.
 */
@Tag("emulator")
class NcclFaultTest {
  @TempDir Path folder;

  private ForkedJvm job(int ranks, int first, int local, String... environment) {
    ForkedJvm out =
        SoftwareHost.running(
                FaultyJob.class,
                "" + ranks,
                "" + first,
                "" + local,
                folder.resolve("id").toString())
            .environment("METRALE_EMULATOR_GPUS", 4)
            .deadline(Duration.ofSeconds(40));
    for (int i = 0; i < environment.length; i += 2) {
      out.environment("METRALE_EMULATOR_" + environment[i], environment[i + 1]);
    }
    return out;
  }

  private static void assertWithin(ForkedJvm.Result result, String stage, long millis) {
    long took = Long.parseLong(result.value(stage + ".millis"));
    assertTrue(took <= millis, () -> stage + " took " + took + " ms:\n" + result.output());
  }

  private static void assertSays(ForkedJvm.Result result, String stage, String... parts) {
    for (String part : parts) {
      assertTrue(
          result.value(stage).contains(part), () -> part + " is not in:\n" + result.output());
    }
  }

  @Test
  void withoutFaultsEverythingEndsWell() throws Exception {
    ForkedJvm.Result result = job(3, 0, 3).run().succeeded();
    for (String stage : List.of("init", "rank0", "rank1", "rank2", "rank0.close")) {
      assertEquals("OK", result.value(stage));
    }
  }

  @Test
  void aRankThatCannotJoinAbortsItsSiblings() throws Exception {
    ForkedJvm.Result result =
        job(2, 0, 2, "FAULT", "nccl.ncclCommInitRankConfig rank=1 code=2").run().succeeded();
    assertSays(
        result, "init", "NcclException: ncclCommInitRankConfig: ncclSystemError (2)", "rank=1");
    assertWithin(result, "init", 4000);
  }

  @Test
  void aRankThatHangsWhileJoiningIsNamed() throws Exception {
    ForkedJvm.Result result =
        job(2, 0, 2, "FAULT", "nccl.ncclCommInitRankConfig rank=1 hang")
            .property("init", 500)
            .run()
            .succeeded();
    assertSays(result, "init", "ncclTimeout (8)", "rank=", "elapsed=");
    assertWithin(result, "init", 4000);
  }

  @Test
  void aRankThatNeverComesIsNotWaitedForEver() throws Exception {
    for (boolean blocking : new boolean[] {false, true}) {
      java.nio.file.Files.deleteIfExists(folder.resolve("id"));
      ForkedJvm.Result result =
          job(2, 0, 1).property("init", 500).property("blocking", blocking).run().succeeded();
      assertSays(result, "init", "ncclTimeout (8)", "rank=0 ranks=2 elapsed=");
      assertWithin(result, "init", 4000);
    }
  }

  @Test
  void anOperationThatHangsIsOverdueOnEveryRank() throws Exception {
    ForkedJvm.Result result =
        job(2, 0, 2, "FAULT", "nccl.ncclAllReduce rank=1 call=3 hang").run().succeeded();
    assertSays(result, "rank0", "ncclAllReduce: ncclTimeout (8)", "rank=0 ranks=2 sequence=2");
    assertSays(result, "rank1", "ncclAllReduce: ncclTimeout (8)", "rank=1 ranks=2 sequence=2");
    assertWithin(result, "rank0", 3000);
    assertWithin(result, "rank1", 3000);
    assertEquals("reached", result.value("end"));
  }

  @Test
  void anErrorThatNobodyReturnedIsNoticed() throws Exception {
    ForkedJvm.Result result =
        job(2, 0, 2, "FAULT", "nccl.ncclAllReduce rank=1 call=2 async=6")
            .property("operation", 8000)
            .run()
            .succeeded();
    assertSays(result, "rank1", "ncclAllReduce: ncclRemoteError (6)", "sequence=1");
    assertWithin(result, "rank1", 3000);
  }

  @Test
  void anErrorOfTheCallItselfKeepsItsCode() throws Exception {
    ForkedJvm.Result result =
        job(2, 0, 2, "FAULT", "nccl.ncclAllReduce call=4 code=42").run().succeeded();
    String both = result.value("rank0") + result.value("rank1");
    assertTrue(both.contains("ncclAllReduce: ncclResult(42) (42)"), both);
  }

  @Test
  void differentCountsEndInADeadlineOrAnError() throws Exception {
    for (String mode : List.of("hang", "error")) {
      java.nio.file.Files.deleteIfExists(folder.resolve("id"));
      ForkedJvm.Result result =
          job(2, 0, 2, "NCCL_MISMATCH", mode).property("count.1", 255).run().succeeded();
      assertSays(result, "rank0", "NcclException: ncclAllReduce", "sequence=0");
      assertWithin(result, "rank0", 3000);
      assertWithin(result, "rank1", 3000);
      assertTrue(result.output().contains("0 0 ALL_REDUCE FLOAT32 0 255"), result.output());
    }
  }

  @Test
  void aKilledProcessFreesItsSurvivors() throws Exception {
    var survivor = job(2, 0, 1).property("operation", 3000).start();
    var victim = job(2, 1, 1, "FAULT", "nccl.ncclAllReduce call=3 kill").start();
    ForkedJvm.Result left = survivor.await().succeeded();
    assertEquals(128 + 9, victim.await().exit());
    assertEquals("OK", left.value("init"));
    assertSays(left, "rank0", "NcclException: ncclAllReduce", "rank=0 ranks=2");
    assertWithin(left, "rank0", 6000);
    assertWithin(left, "rank0.close", 4000);
    assertEquals("reached", left.value("end"));
  }

  @Test
  void aKilledProcessThatNobodyNoticesIsOverdue() throws Exception {
    var survivor = job(2, 0, 1, "NCCL_PEER_DEATH", "silent").start();
    var victim = job(2, 1, 1, "FAULT", "nccl.ncclAllReduce call=2 kill").start();
    ForkedJvm.Result left = survivor.await().succeeded();
    victim.await();
    assertSays(left, "rank0", "ncclAllReduce: ncclTimeout (8)");
    assertWithin(left, "rank0", 5000);
  }

  @Test
  void aCloseThatHangsAbortsAndSaysSo() throws Exception {
    ForkedJvm.Result result =
        job(1, 0, 1, "FAULT", "nccl.ncclCommFinalize hang")
            .property("close", 500)
            .run()
            .succeeded();
    assertEquals("OK", result.value("rank0"));
    assertSays(result, "rank0.close", "ncclCommFinalize: ncclTimeout (8)", "was aborted");
    assertWithin(result, "rank0.close", 4000);
  }

  @Test
  void anAbortThatHangsIsBounded() throws Exception {
    ForkedJvm.Result result =
        job(2, 0, 2, "FAULT", "nccl.ncclAllReduce rank=1 call=1 hang;nccl.ncclCommAbort hang")
            .property("abort", 500)
            .run()
            .succeeded();
    assertWithin(result, "rank0", 3000);
    assertWithin(result, "rank0.close", 2000);
    assertSays(result, "rank0.close", "ncclCommAbort: ncclTimeout (8)", "left as it is");
  }

  @Test
  void aCallThatNeverReturnsGivesTheCallerBack() throws Exception {
    ForkedJvm.Result result =
        job(2, 0, 2, "FAULT", "nccl.ncclAllReduce rank=1 call=2 block=30000")
            .property("guarded", true)
            .run()
            .succeeded();
    assertSays(result, "rank1", "ncclAllReduce: ncclTimeout (8)");
    assertWithin(result, "rank1", 4000);
    assertWithin(result, "rank0", 4000);
    assertEquals("reached", result.value("end"));
  }

  @Test
  void aLostDeviceIsAFailureOfTheOperation() throws Exception {
    ForkedJvm.Result result =
        job(2, 0, 2, "FAULT", "nccl.ncclAllReduce rank=0 call=2 lost").run().succeeded();
    assertSays(result, "rank0", "NcclException: ");
    assertWithin(result, "rank0", 4000);
    assertWithin(result, "rank1", 4000);
    assertEquals("reached", result.value("end"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ncclGetUniqueId",
        "ncclCommInitRankConfig",
        "ncclCommGetAsyncError",
        "ncclAllReduce",
        "ncclCommFinalize",
        "ncclCommDestroy",
        "ncclCommAbort",
        "ncclGetErrorString",
        "ncclGetLastError",
        "ncclGetVersion"
      })
  void anAbsentFunctionIsNamedAndEndsNothing(String function) throws Exception {
    ForkedJvm.Result result = job(1, 0, 1, "ABSENT", function).run().succeeded();
    boolean optional =
        List.of("ncclGetErrorString", "ncclGetLastError", "ncclGetVersion", "ncclCommAbort")
            .contains(function);
    String all = result.output();
    if (!optional) {
      assertTrue(all.contains(function + ": not in "), all);
      assertTrue(all.contains("libnccl.so.2"), all);
    }
    assertEquals("reached", result.value("end"));
  }
}
