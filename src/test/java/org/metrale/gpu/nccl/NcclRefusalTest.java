package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;

/** What NCCL refuses or does not do, in a process of its own, and what that leaves behind. */
@Tag("emulator")
class NcclRefusalTest {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  /** One rank in a process of its own whose NCCL has a fault; the argument says what it does. */
  public static final class LonelyJob {
    private LonelyJob() {}

    public static void main(String[] arguments) throws Exception {
      CudaContext context = CudaContext.openPrimary(0);
      CudaStream stream = CudaStream.create(context);
      DeviceMemory memory = DeviceMemory.allocate(context, 64);
      NcclCommunicator one = NcclCommunicator.joinLocal(List.of(context), Ranks.CONFIG).get(0);
      switch (arguments[0]) {
        case "abort" -> abort(one, memory, stream);
        case "absent" -> absent(one, memory, stream);
        case "streams" -> streams(one, memory, stream);
        case "operators" -> operators(one);
        default -> throw new IllegalArgumentException(arguments[0]);
      }
      System.out.println("end=reached");
    }

    private static long reduce(NcclCommunicator one, DeviceMemory memory, CudaStream stream) {
      return one.allReduce(
          memory.buffer(), memory.buffer(), 4, NcclDataType.INT32, NcclRedOp.SUM, stream);
    }

    private static void abort(NcclCommunicator one, DeviceMemory memory, CudaStream stream)
        throws InterruptedException {
      for (int i = 0; i < 100; i++) {
        reduce(one, memory, stream);
      }
      // What an abort that fails did not stop keeps its memory, rightly.
      System.out.println("done=" + one.operation(99).await(Ranks.LIMIT));
      DeviceMemory other = DeviceMemory.allocate(one.context(), 64);
      System.out.println("other=" + other.buffer().lengthBytes());
      one.abort();
      one.close();
      other.close();
      System.out.println("used=" + closed(memory));
    }

    private static void absent(NcclCommunicator one, DeviceMemory memory, CudaStream stream) {
      try {
        reduce(one, memory, stream);
      } catch (LibraryUnavailableException e) {
        System.out.println("function=" + e.function());
      }
      System.out.println("memory=" + closed(memory));
    }

    private static void streams(NcclCommunicator one, DeviceMemory memory, CudaStream stream)
        throws Exception {
      DeviceMemory other = DeviceMemory.allocate(one.context(), 64);
      CudaStream second = CudaStream.create(one.context());
      reduce(one, memory, stream);
      for (int i = 0; i < 200; i++) {
        // NCCL starts nothing for these, so nothing of its own puts them behind.
        one.allReduce(other.buffer(), other.buffer(), 0, NcclDataType.INT32, NcclRedOp.SUM, second);
      }
      System.out.println("late=" + one.operation(0).isDone());
      System.out.println("behind=" + one.operation(200).isDone());
      System.out.println("memory=" + closed(memory));
      one.abort();
      System.out.println("aborted=" + closed(memory));
    }

    private static void operators(NcclCommunicator one) {
      for (int i = 0; i < 2; i++) {
        System.out.println("operator=" + one.preMultipliedSum(NcclDataType.INT32, 2));
      }
      System.out.println("first=" + closed(one));
      System.out.println("second=" + closed(one));
    }

    private static String closed(NativeResource one) {
      try {
        one.close();
        return "closed";
      } catch (IllegalStateException | NcclException e) {
        return e.getMessage().replace('\n', ' ');
      }
    }
  }

  private static ForkedJvm.Result lonely(String what, String setting, String value)
      throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(LonelyJob.class, what)
            .environment("METRALE_EMULATOR_" + setting, value)
            .deadline(Duration.ofSeconds(40))
            .run()
            .succeeded();
    assertEquals("reached", result.value("end"), result.output());
    return result;
  }

  @Test
  void memoryClosesBesideAnOwnerWhoseAbortFailed() throws Exception {
    ForkedJvm.Result result = lonely("abort", "FAULT", "nccl.ncclCommAbort code=2");
    assertEquals("true", result.value("done"));
    assertEquals("closed", result.value("used"), result.output());
  }

  @Test
  void anOperationThatCouldNotBeCalledHoldsNoMemory() throws Exception {
    ForkedJvm.Result result = lonely("absent", "ABSENT", "ncclAllReduce");
    assertEquals("ncclAllReduce", result.value("function"));
    assertEquals("closed", result.value("memory"), result.output());
  }

  @Test
  void anEmptyOperationOnAnotherStreamComesAfterwards() throws Exception {
    ForkedJvm.Result result =
        lonely("streams", "FAULT", "nccl.ncclAllReduce call=1 hang;nccl.ncclAllReduce from=2 skip");
    assertEquals("false", result.value("late"), result.output());
    assertEquals("false", result.value("behind"), result.output());
    assertTrue(result.value("memory").contains("in use by operation 0"), result.output());
    assertEquals("closed", result.value("aborted"), result.output());
  }

  @Test
  void aCloseThatWasRefusedDestroysNoOperatorTwice() throws Exception {
    ForkedJvm.Result result = lonely("operators", "FAULT", "nccl.ncclRedOpDestroy call=2 code=4");
    assertTrue(result.value("first").contains("ncclRedOpDestroy"), result.output());
    assertEquals("closed", result.value("second"), result.output());
  }
}
