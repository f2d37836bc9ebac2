package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
 * What the communicators do where NCCL throws a C++ exception out of a call: the one of the
 * software GPU host, behind a library that throws. One function a JVM.
 */
@Tag("emulator")
class NcclThrowsTest {
  @TempDir Path folder;

  private ForkedJvm job(String throwing) {
    Path library =
        SoftwareHost.folder()
            .resolveSibling("src/test/c/throwing/libmetrale_throwing_nccl.so")
            .toAbsolutePath();
    return SoftwareHost.running(FaultyJob.class, "2", "0", "2", folder.resolve("id").toString())
        .property("org.metrale.nccl.path", library)
        .environment("METRALE_EMULATOR_GPUS", 4)
        .environment("METRALE_TEST_THROWS", throwing)
        .deadline(Duration.ofSeconds(40));
  }

  /** Both ranks say what threw, and can be closed. */
  private static void assertBothFail(ForkedJvm.Result result, String call) {
    for (String rank : List.of("rank0", "rank1")) {
      assertSays(result, rank, call);
      assertEquals("OK", result.value(rank + ".close"), result.output());
    }
  }

  private static void assertSays(ForkedJvm.Result result, String stage, String function) {
    String said = result.value(stage);
    assertTrue(said.startsWith("NcclException: "), result.output());
    assertTrue(said.contains(function + ": NCCL at "), result.output());
    assertTrue(said.contains(" threw a C++ exception"), result.output());
  }

  @Test
  void withoutExceptionsEverythingEndsWell() throws Exception {
    ForkedJvm.Result result = job("").run().succeeded();
    for (String stage : List.of("init", "rank0", "rank1", "rank0.close", "rank1.close")) {
      assertEquals("OK", result.value(stage), result.output());
    }
  }

  @Test
  void anIdThatCannotBeMadeIsAFailure() throws Exception {
    ForkedJvm.Result result = job("ncclGetUniqueId").run().succeeded();
    assertSays(result, "init", "ncclGetUniqueId");
    assertEquals("reached", result.value("end"));
  }

  /** The handle of the one that threw is no communicator: to abort it would end the process. */
  @Test
  void aCommunicatorThatIsHalfMadeIsLeftAlone() throws Exception {
    ForkedJvm.Result result =
        job("ncclCommInitRankConfig")
            .environment("METRALE_TEST_THROWING_RANK", 1)
            .run()
            .succeeded();
    assertSays(result, "init", "ncclCommInitRankConfig");
    assertTrue(result.value("init").contains("rank=1"), result.output());
    assertFalse(result.output().contains("rank0="), result.output());
    assertEquals("reached", result.value("end"));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anOperationThatThrowsFailsItsCommunicator(boolean guarded) throws Exception {
    ForkedJvm.Result result = job("ncclAllReduce").property("guarded", guarded).run().succeeded();
    assertBothFail(result, "ncclAllReduce");
  }

  /** Each rank's thread has it to itself once it has issued some operations. */
  @Test
  void anOwnersOperationThatThrowsFailsItsCommunicator() throws Exception {
    ForkedJvm.Result result =
        job("ncclAllReduce")
            .property("operations", 400)
            .environment("METRALE_TEST_THROWS_AFTER", 600)
            .run()
            .succeeded();
    assertBothFail(result, "ncclAllReduce");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aGroupWhoseEndThrowsFailsItsCommunicators(boolean blocking) throws Exception {
    ForkedJvm.Result result =
        job("ncclGroupEnd")
            .property("grouped", true)
            .property("blocking", blocking)
            .run()
            .succeeded();
    assertBothFail(result, "ncclGroupEnd");
  }

  /** Nor is anything known any more of the one that it was to be split from. */
  @Test
  void aSplitThatThrowsFailsTheOneThatIsSplit() throws Exception {
    ForkedJvm.Result result = job("ncclCommSplit").property("split", true).run().succeeded();
    assertBothFail(result, "ncclCommSplit");
  }

  @Test
  void anAbortThatThrowsIsTheEnd() throws Exception {
    ForkedJvm.Result result =
        job("ncclCommAbort")
            .environment("METRALE_EMULATOR_FAULT", "nccl.ncclAllReduce rank=0 code=3")
            .run()
            .succeeded();
    assertTrue(result.value("rank0").contains("ncclInternalError"), result.output());
    assertEquals("OK", result.value("rank0.close"), result.output());
    assertEquals("reached", result.value("end"));
  }

  @Test
  void anOrderlyEndThatThrowsIsAnAbort() throws Exception {
    ForkedJvm.Result result = job("ncclCommFinalize").run().succeeded();
    for (String rank : List.of("rank0", "rank1")) {
      assertEquals("OK", result.value(rank));
      assertSays(result, rank + ".close", "ncclCommFinalize");
    }
  }

  @Test
  void aDestructionThatThrowsIsAFailure() throws Exception {
    ForkedJvm.Result result = job("ncclCommDestroy").run().succeeded();
    for (String rank : List.of("rank0", "rank1")) {
      assertEquals("OK", result.value(rank));
      assertSays(result, rank + ".close", "ncclCommDestroy");
    }
  }
}
