package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cufile.CuFileBatch;
import org.metrale.gpu.cufile.CuFileBuffer;
import org.metrale.gpu.cufile.CuFileDriver;
import org.metrale.gpu.cufile.CuFileHandle;
import org.metrale.gpu.cufile.CuFileMemory;
import org.metrale.gpu.cufile.CuFilePolicy;
import org.metrale.gpu.nccl.NcclCommunicator;
import org.metrale.gpu.nccl.NcclConfig;
import org.metrale.gpu.nvml.Nvml;
import org.metrale.gpu.nvml.NvmlEventSet;
import org.metrale.gpu.nvml.NvmlGpm;

/**
 * What is closed where no thread is to be had is closed all the same, on the software GPU host: for
 * there is no second close.
 */
@Tag("emulator")
final class EndsWithoutThreadsTest {
  @ParameterizedTest
  @CsvSource({
    "nvml, ''",
    "cufile, ''",
    "nccl aborted, ''",
    // Finalising may wait for other ranks, which only another thread can leave behind.
    "nccl, 'the orderly close failed, so the communicator was aborted'"
  })
  void areMade(String what, String refusal, @TempDir Path folder) throws Exception {
    ForkedJvm.Result said =
        SoftwareHost.running(folder, "", Probe.class, what, folder.toString()).run().succeeded();
    String wrong = said.value("wrong");
    assertTrue(refusal.isEmpty() ? wrong.isEmpty() : wrong.contains(refusal), said::toString);
    assertTrue(Integer.parseInt(said.value("denied")) > 0, said::toString);
    assertEquals("opened", said.value("again"), said::toString);
  }

  /** Opens things, and closes them where no thread is to be had. */
  static final class Probe {
    private final Deque<NativeResource> all = new ArrayDeque<>();

    private Probe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      Probe first = new Probe();
      first.open(arguments);
      StringBuilder wrong = new StringBuilder();
      // Threads that have made calls wait a while for others.
      CountDownLatch end = new CountDownLatch(1);
      for (int i = 0; i < 16; i++) {
        BoundedCall.run(() -> await(end));
      }
      try (NoThreads none = NoThreads.of(thread -> true)) {
        if (arguments[0].endsWith("aborted")) {
          ((NcclCommunicator) first.all.peek()).abort();
        }
        for (NativeResource one : first.all) {
          try {
            one.close();
          } catch (RuntimeException | OutOfMemoryError e) {
            wrong.append(one).append(": ").append(e).append("; ");
          }
        }
        System.out.println("denied=" + none.denied());
      }
      end.countDown();
      System.out.println("wrong=" + wrong);
      Probe second = new Probe();
      second.open(arguments);
      second.all.forEach(NativeResource::close);
      System.out.println("again=opened");
    }

    private static void await(CountDownLatch end) {
      try {
        end.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    private <T extends NativeResource> T keep(T resource) {
      all.push(resource);
      return resource;
    }

    @SuppressWarnings("MustBeClosed") // the caller does
    private void open(String[] arguments) throws Exception {
      if (arguments[0].equals("nvml")) {
        Nvml nvml = keep(Nvml.open());
        keep(NvmlEventSet.create(nvml));
        keep(NvmlGpm.open(nvml.device(0)));
      } else if (arguments[0].equals("cufile")) {
        Path file = Files.write(Path.of(arguments[1], "data"), new byte[4096]);
        CuFileDriver driver = keep(CuFileDriver.open());
        CudaContext context = keep(CudaContext.openPrimary(0));
        DeviceMemory memory = keep(DeviceMemory.allocate(context, 4096));
        keep(CuFileBuffer.register(driver, CuFileMemory.of(memory)));
        keep(CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT, StandardOpenOption.READ));
        keep(CuFileBatch.create(driver, 4));
      } else {
        CudaContext context = keep(CudaContext.openPrimary(0));
        NcclConfig config = NcclConfig.builder().closeTimeout(Duration.ofSeconds(20)).build();
        keep(NcclCommunicator.joinLocal(List.of(context), config).get(0));
      }
    }
  }
}
