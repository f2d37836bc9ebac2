package org.metrale.gpu.nccl;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;

/**
 * A job for tests, run in JVMs of its own with faults in its environment: some local ranks join,
 * reduce five times, close, and print for each stage how it ended and after how many milliseconds.
 *
 * <p>Arguments: ranks in all, first local rank, local ranks, file for the id. Settings by property.
 */
public final class FaultyJob {
  private static final Duration WAIT = Duration.ofSeconds(20);

  private FaultyJob() {}

  public static void main(String[] arguments) throws Exception {
    int ranks = Integer.parseInt(arguments[0]);
    int first = Integer.parseInt(arguments[1]);
    int local = Integer.parseInt(arguments[2]);
    Path file = Path.of(arguments[3]);
    NcclConfig config =
        NcclConfig.builder()
            .blocking(Boolean.getBoolean("blocking"))
            .guardedCalls(Boolean.getBoolean("guarded"))
            .initTimeout(Duration.ofMillis(Integer.getInteger("init", 5000)))
            .operationTimeout(Duration.ofMillis(Integer.getInteger("operation", 1000)))
            .closeTimeout(Duration.ofMillis(Integer.getInteger("close", 2000)))
            .abortTimeout(Duration.ofMillis(Integer.getInteger("abort", 1000)))
            .build();
    List<CudaContext> contexts = new ArrayList<>();
    List<NcclCommunicator> all = new ArrayList<>();
    stage(
        "init",
        () -> {
          for (int i = 0; i < local; i++) {
            contexts.add(CudaContext.openPrimary(first + i));
          }
          all.addAll(
              NcclCommunicator.joinAll(contexts, List.of(id(first, file)), ranks, first, config));
        });
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      NcclCommunicator one = all.get(i);
      threads.add(new Thread(() -> work(one, config)));
    }
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    System.out.println("end=reached");
  }

  private static NcclUniqueId id(int first, Path file) throws Exception {
    if (first == 0) {
      NcclUniqueId made = NcclUniqueId.create();
      Path draft = file.resolveSibling(file.getFileName() + ".draft");
      Files.write(draft, made.toBytes());
      Files.move(draft, file);
      return made;
    }
    while (!Files.exists(file)) {
      Thread.sleep(10);
    }
    return NcclUniqueId.of(Files.readAllBytes(file));
  }

  private static void work(NcclCommunicator one, NcclConfig config) {
    String name = "rank" + one.rank();
    int count = Integer.getInteger("count." + one.rank(), 256);
    DeviceMemory[] memory = new DeviceMemory[1];
    CudaStream[] stream = new CudaStream[1];
    stage(
        name,
        () -> {
          memory[0] = DeviceMemory.allocate(one.context(), 4096);
          stream[0] = CudaStream.create(one.context());
          if (Boolean.getBoolean("split")) {
            one.split(0, one.rank(), config).ifPresent(NcclCommunicator::close);
          }
          if (Boolean.getBoolean("grouped")) {
            reduceInGroup(one, memory[0].buffer(), stream[0]);
          }
          for (int i = 0; i < 5; i++) {
            long sequence =
                one.allReduce(
                    memory[0].buffer(),
                    memory[0].buffer(),
                    count,
                    NcclDataType.FLOAT32,
                    NcclRedOp.SUM,
                    stream[0]);
            if (!one.operation(sequence).await(WAIT)) {
              throw new AssertionError("still waiting");
            }
          }
        });
    stage(name + ".close", one::close);
  }

  private static void reduceInGroup(NcclCommunicator one, CudaBuffer buffer, CudaStream stream)
      throws InterruptedException {
    List<NcclOperation> issued =
        NcclGroup.run(
            group ->
                group.allReduce(
                    one, buffer, buffer, 256, NcclDataType.FLOAT32, NcclRedOp.SUM, stream));
    for (NcclOperation operation : issued) {
      if (!operation.await(WAIT)) {
        throw new AssertionError("still waiting");
      }
    }
  }

  private interface Stage {
    void run() throws Exception;
  }

  private static void stage(String name, Stage stage) {
    long begin = System.nanoTime();
    String outcome = "OK";
    try {
      stage.run();
    } catch (GpuException | IllegalStateException e) {
      outcome = e.getClass().getSimpleName() + ": " + e.getMessage().replace('\n', ' ');
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    synchronized (FaultyJob.class) {
      System.out.println(name + "=" + outcome);
      System.out.println(name + ".millis=" + (System.nanoTime() - begin) / 1_000_000);
    }
  }
}
