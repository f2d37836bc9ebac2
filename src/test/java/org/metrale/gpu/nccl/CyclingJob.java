package org.metrale.gpu.nccl;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Pointer;
import org.metrale.gpu.LeakReport;
import org.metrale.gpu.cuda.CudaContext;

/** Makes and closes communicators many times, and prints what that left behind. */
public final class CyclingJob {
  private static final int WARM = 30;

  private CyclingJob() {}

  public static void main(String[] arguments) throws Exception {
    int cycles = Integer.parseInt(arguments[0]);
    try (CudaContext one = CudaContext.openPrimary(0);
        CudaContext other = CudaContext.openPrimary(1)) {
      List<CudaContext> contexts = List.of(one, other);
      repeat(WARM, contexts);
      long pointers = Pointer.totalCount();
      long files = files();
      long memory = memoryKibibytes();
      long free = one.memory().freeBytes() + other.memory().freeBytes();
      repeat(cycles, contexts);
      System.out.println("pointers=" + (Pointer.totalCount() - pointers));
      System.out.println("files=" + (files() - files));
      System.out.println("kibibytes=" + (memoryKibibytes() - memory));
      long freeNow = one.memory().freeBytes() + other.memory().freeBytes();
      System.out.println("devicebytes=" + (free - freeNow));
      System.out.println("threads=" + threads());
      System.out.println("leaked=" + LeakReport.leaked());
    }
  }

  private static void repeat(int cycles, List<CudaContext> contexts) throws Exception {
    for (int i = 0; i < cycles; i++) {
      List<NcclCommunicator> all = NcclCommunicator.joinLocal(contexts, Ranks.CONFIG);
      if (i % 10 == 0) {
        all.get(0).abort();
      }
      List<Thread> closing = new ArrayList<>();
      for (NcclCommunicator communicator : all) {
        Thread thread = new Thread(communicator::close);
        thread.start();
        closing.add(thread);
      }
      for (Thread thread : closing) {
        thread.join();
      }
    }
  }

  private static long files() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }

  private static long memoryKibibytes() throws IOException {
    System.gc();
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new IOException("no VmRSS");
  }

  /** Threads of this layer that are still there a while later; helpers end by themselves. */
  private static long threads() throws InterruptedException {
    long end = System.nanoTime() + 10_000_000_000L;
    long left = Long.MAX_VALUE;
    while (left > 0 && System.nanoTime() < end) {
      Thread.sleep(100);
      left =
          Thread.getAllStackTraces().keySet().stream()
              .filter(thread -> thread.getName().startsWith("metrale-call-"))
              .count();
    }
    return left;
  }
}
