package org.metrale.gpu.cuda;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import org.bytedeco.javacpp.Pointer;
import org.metrale.cuda.CUhostFn;
import org.metrale.global.cuda;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.LibraryUnavailableException;

/** Does in a JVM of its own what its argument says, and prints what came of it. */
final class CudaProbe {
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final Duration BOUND = Duration.ofMillis(400);

  private CudaProbe() {}

  /** Runs one part. */
  public static void main(String[] part) throws Exception {
    if (part[0].equals("bounded") || part[0].equals("pageable")) {
      bounded(part[0].equals("pageable"));
      return;
    }
    try (CudaContext context = CudaContext.openPrimary(0)) {
      if (part[0].equals("copyInAllWorkers")) {
        copyInAllWorkers(context);
      } else if (part[0].equals("attributes")) {
        CudaDevice device = context.device();
        System.out.println(
            "attributes="
                + device.isIntegrated()
                + " "
                + device.canGpuDirectRdma()
                + " "
                + device.canDmaBuf()
                + " "
                + device.computeCapability());
      } else if (part[0].equals("lost")) {
        lose(context);
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

  /** An error after which the context goes on, then one after which it does not. */
  private static void lose(CudaContext context) {
    try {
      DeviceMemory.allocate(context, 1L << 50).close();
    } catch (CudaException e) {
      System.out.println("tooMuch=" + e.contextLost());
    }
    DeviceMemory memory = DeviceMemory.allocate(context, 64);
    CudaStream stream = CudaStream.create(context);
    try {
      stream.fill(memory.buffer(), (byte) 1).toCompletableFuture().join();
    } catch (CudaException e) {
      System.out.println("lost=" + e.contextLost() + " " + e.call() + " " + e.device());
      System.out.println("said=" + e.getMessage());
    }
    Runtime.getRuntime().halt(0);
  }

  private interface Step<T> {
    T run() throws Exception;
  }

  /** Prints how a step ended; what it made, or null. */
  private static <T> T step(String name, Step<T> step) throws Exception {
    try {
      T made = step.run();
      System.out.println(name + "=" + (made instanceof Boolean ? made : "OK"));
      return made;
    } catch (GpuException | IllegalStateException e) {
      System.out.println(name + "=" + e.getMessage());
      return null;
    }
  }

  private static void close(String name, AutoCloseable made) throws Exception {
    if (made != null) {
      step(
          name + ".close",
          () -> {
            made.close();
            return null;
          });
    }
  }

  /** Everything that may wait for a device, with a short bound and a fault in the environment. */
  private static void bounded(boolean pageable) throws Exception {
    CudaDevice device = CudaDriver.device(0);
    CudaContext context = step("context", () -> CudaContext.openPrimary(device, BOUND));
    if (context != null && pageable) {
      copyPageable(context);
    } else if (context != null) {
      long free = context.memory().freeBytes();
      close("device", step("device", () -> DeviceMemory.allocate(context, 64)));
      close("host", step("host", () -> HostMemory.allocate(context, 64)));
      ByteBuffer direct = ByteBuffer.allocateDirect(4096);
      close("registered", step("registered", () -> HostMemory.register(context, direct)));
      close("stream", step("stream", () -> CudaStream.create(context)));
      long end = System.nanoTime() + LIMIT.toNanos();
      while (context.memory().freeBytes() != free && System.nanoTime() < end) {
        Thread.sleep(20);
      }
      System.out.println("freed=" + (context.memory().freeBytes() == free));
    }
    close("context", context);
    System.out.println("end=reached");
  }

  private static void copyPageable(CudaContext context) throws Exception {
    DeviceMemory memory = DeviceMemory.allocate(context, 64);
    CudaBuffer host = CudaBuffer.of(ByteBuffer.allocateDirect(64));
    CudaStream stream = CudaStream.create(context);
    CountDownLatch stuck = new CountDownLatch(1);
    CUhostFn waiting =
        new CUhostFn() {
          @Override
          public void call(Pointer data) {
            try {
              stuck.await();
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
          }
        };
    cuda.cuCtxSetCurrent(context.pointer());
    if (cuda.cuLaunchHostFunc(stream.pointer(), waiting, null) != CudaCalls.SUCCESS) {
      throw new AssertionError("the stream is not stuck");
    }
    step("synchronized", () -> stream.synchronize(Duration.ofMillis(50)));
    step("queued", () -> stream.copy(memory.buffer(), host));
    close("memory", memory);
    CudaEvent behind = CudaEvent.create(context);
    stream.record(behind);
    // The context's own stream behind the stuck one.
    step("copied", () -> copyBehind(context, behind, memory, host));
    stuck.countDown();
    long end = System.nanoTime() + LIMIT.toNanos();
    boolean closed = false;
    while (!closed && System.nanoTime() < end) {
      try {
        memory.close();
        closed = true;
      } catch (IllegalStateException e) {
        Thread.sleep(20);
      }
    }
    System.out.println("closed=" + closed);
    behind.close();
    close("stream", stream);
  }

  private static boolean copyBehind(
      CudaContext context, CudaEvent event, DeviceMemory memory, CudaBuffer host)
      throws InterruptedException {
    context.copyStream().waitFor(event);
    return context.copy(memory.buffer(), host, Duration.ofMillis(300));
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
