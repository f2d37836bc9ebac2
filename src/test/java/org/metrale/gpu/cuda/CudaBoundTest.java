package org.metrale.gpu.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.SoftwareHost;

/**
 * Calls of the driver that wait for a device come back within their bound, and say what is left.
 */
@Tag("emulator")
@Tag("slow")
class CudaBoundTest {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @ParameterizedTest
  @CsvSource({
    "cuMemFree_v2, device.close, cuMemFree, 64 bytes stay allocated",
    "cuMemFreeHost, host.close, cuMemFreeHost, 64 bytes stay pinned",
    "cuMemHostUnregister, registered.close, cuMemHostUnregister, 4096 bytes stay pinned",
    "cuStreamDestroy_v2, stream.close, cuStreamDestroy, the native stream stays",
    "cuDevicePrimaryCtxRelease_v2, context.close, cuDevicePrimaryCtxRelease, the context stays",
    "cuMemAlloc_v2, device, cuMemAlloc, nothing is allocated",
    "cuMemHostAlloc, host, cuMemHostAlloc, nothing is allocated",
    "cuMemHostRegister_v2, registered, cuMemHostRegister, nothing is allocated",
    "cuDevicePrimaryCtxRetain, context, cuDevicePrimaryCtxRetain, there is no context",
  })
  void aCallThatHangsGivesTheThreadBack(String function, String stage, String call, String left)
      throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CudaProbe.class, "bounded")
            .environment("METRALE_EMULATOR_FAULT", "cuda." + function + " call=1 hang")
            .deadline(Duration.ofSeconds(40))
            .run()
            .succeeded();
    String said = result.value(stage);
    assertTrue(said.startsWith(call + ": CUDA_ERROR_TIMEOUT (909): not back within"), said);
    assertTrue(said.contains(left), said);
    assertEquals("reached", result.value("end"));
  }

  @Test
  void aContextWithCallsThatNeverCameBackStaysRetained() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CudaProbe.class, "bounded")
            .environment("METRALE_EMULATOR_FAULT", "cuda.cuMemFree_v2 call=1 hang")
            .run()
            .succeeded();
    String said = result.value("context.close");
    assertTrue(said.contains("1 calls in the context never came back"), said);
  }

  @Test
  void memoryThatIsAllocatedTooLateIsFreedAgain() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CudaProbe.class, "bounded")
            .environment("METRALE_EMULATOR_FAULT", "cuda.cuMemAlloc_v2 call=1 block=1500")
            .run()
            .succeeded();
    assertTrue(result.value("device").contains("CUDA_ERROR_TIMEOUT"), result.output());
    assertEquals("true", result.value("freed"), result.output());
  }

  @Test
  void aCopyOfPageableMemoryBehindStuckWorkGivesTheThreadBack() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CudaProbe.class, "pageable")
            .deadline(Duration.ofSeconds(40))
            .run()
            .succeeded();
    assertEquals("false", result.value("copied"), result.output());
    assertEquals("false", result.value("synchronized"), result.output());
    assertTrue(result.value("queued").contains("CUDA_ERROR_TIMEOUT"), result.output());
    assertTrue(result.value("memory.close").contains("dependents open"), result.output());
    assertEquals("true", result.value("closed"), result.output());
    assertEquals("OK", result.value("context.close"), result.output());
  }

  @Test
  void namesTheFunctionThatOtherLibrariesNeedOfTheDriver() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CudaProbe.class, "allocate")
            .environment("METRALE_EMULATOR_ABSENT", "cuEventQuery")
            .run()
            .succeeded();
    assertEquals("64", result.value("allocated"), result.output());
    assertEquals("cuEventQuery", result.value("absent"), result.output());
  }

  @Test
  void throwsWhereTheDriverCannotRestoreAContext() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CudaProbe.class, "allocate")
            .environment("METRALE_EMULATOR_ABSENT", "cuCtxPopCurrent_v2")
            .run()
            .succeeded();
    assertEquals("cuCtxPopCurrent_v2", result.value("absent"), result.output());
  }

  @ParameterizedTest
  @CsvSource({
    "h200, false, true, true, 9.0",
    "gb10, true, false, false, 12.1",
    "a100-mig, false, true, true, 8.0",
  })
  void tellsTheAttributesThatMatter(
      String kind, boolean integrated, boolean rdma, boolean dmaBuf, String capability)
      throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CudaProbe.class, "attributes")
            .environment("METRALE_EMULATOR_GPU_KIND", kind)
            .run()
            .succeeded();
    assertEquals(
        integrated + " " + rdma + " " + dmaBuf + " " + capability, result.value("attributes"));
  }

  @Test
  void aLostDeviceIsToldFromAnErrorThatCanBeRetried() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CudaProbe.class, "lost")
            .environment("METRALE_EMULATOR_FAULT", "cuda.cuMemsetD8Async call=1 lost")
            .run()
            .succeeded();
    assertEquals("false", result.value("tooMuch"), result.output());
    assertEquals("true cuMemsetD8Async 0", result.value("lost"), result.output());
    assertTrue(result.value("said").contains("CUDA_ERROR_LAUNCH_FAILED (719)"), result.output());
  }

  @Test
  void refusesATimeoutThatIsNone() {
    CudaDevice device = CudaDriver.device(0);
    assertThrows(
        IllegalArgumentException.class, () -> CudaContext.openPrimary(device, Duration.ZERO));
  }

  @Test
  void anErrorWhileAnEventIsWatchedEndsNobodyElsesWait() throws Exception {
    CompletableFuture<Void> broken =
        Completions.watch(
                () -> {
                  throw new StackOverflowError("while asking");
                },
                () -> {
                  throw new AssertionError("while giving back");
                })
            .toCompletableFuture();
    ExecutionException said =
        assertThrows(ExecutionException.class, () -> broken.get(10, TimeUnit.SECONDS));
    assertTrue(said.getCause() instanceof StackOverflowError, said.toString());
    assertEquals("while giving back", said.getCause().getSuppressed()[0].getMessage());
    try (CudaContext context = CudaContext.openPrimary(0);
        CudaStream stream = CudaStream.create(context);
        DeviceMemory memory = DeviceMemory.allocate(context, 64)) {
      stream.copy(memory.buffer(0, 8), memory.buffer(8, 8)).toCompletableFuture().get();
      CudaBuffer pageable = CudaBuffer.of(ByteBuffer.allocateDirect(64));
      stream.copy(pageable, memory.buffer()).toCompletableFuture().get(10, TimeUnit.SECONDS);
    }
  }
}
