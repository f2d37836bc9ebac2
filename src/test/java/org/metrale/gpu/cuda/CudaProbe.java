package org.metrale.gpu.cuda;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import org.metrale.gpu.LibraryUnavailableException;

/** Does in a JVM of its own what its argument says, and prints what came of it. */
final class CudaProbe {
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private CudaProbe() {}

  /** Runs one part. */
  public static void main(String[] part) throws Exception {
    try (CudaContext context = CudaContext.openPrimary(0)) {
      if (part[0].equals("copyInAllWorkers")) {
        copyInAllWorkers(context);
      } else {
        allocate(context);
      }
    }
  }

  /** Every worker of the common pool waits for a copy at once. */
  private static void copyInAllWorkers(CudaContext context) throws Exception {
    int workers = ForkJoinPool.getCommonPoolParallelism();
    CountDownLatch all = new CountDownLatch(workers);
    List<Future<Boolean>> copies = new ArrayList<>();
    try (DeviceMemory memory = DeviceMemory.allocate(context, 64)) {
      for (int i = 0; i < workers; i++) {
        copies.add(
            ForkJoinPool.commonPool()
                .submit(
                    () -> {
                      all.countDown();
                      all.await();
                      CudaBuffer source = CudaBuffer.of(ByteBuffer.allocateDirect(64));
                      return context.copy(source, memory.buffer(), LIMIT);
                    }));
      }
      for (Future<Boolean> copy : copies) {
        System.out.println("copied=" + copy.get());
      }
    }
  }

  private static void allocate(CudaContext context) {
    try (DeviceMemory memory = DeviceMemory.allocate(context, 64)) {
      System.out.println("allocated=" + memory.lengthBytes());
      System.out.println("functions=" + (CudaDriver.functions() != 0));
    } catch (LibraryUnavailableException e) {
      System.out.println("absent=" + e.function());
    }
  }
}
