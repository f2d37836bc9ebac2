package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.NoThreads;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaAttachment;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;

/** Streams and memory are there as long as NCCL may use them, whoever closes them. */
@Tag("emulator")
class NcclStreamLifetimeTest {
  private static final int ROUNDS = 60;

  @TempDir Path folder;

  /** What the argument names, in a process whose NCCL is set up for it. */
  public static final class Job {
    private Job() {}

    public static void main(String[] arguments) throws Exception {
      switch (arguments[0]) {
        case "closing" -> closing();
        case "overdue" -> overdue(false);
        case "overdueGroup" -> overdue(true);
        case "barrier" -> barrier();
        case "register" -> register();
        default -> throw new IllegalArgumentException(arguments[0]);
      }
      System.out.println("end=reached");
    }

    /** Operations that NCCL is starting, on streams that somebody closes at any time. */
    private static void closing() throws Exception {
      try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
        Ranks.Rank rank = ranks.get(0);
        for (int round = 0; round < ROUNDS; round++) {
          CudaStream stream = CudaStream.create(rank.context());
          FutureTask<String> issuing = new FutureTask<>(() -> reduceUntilClosed(rank, stream));
          new Thread(issuing).start();
          while (rank.communicator().flightRecord().lastIssued() < round) {
            Thread.onSpinWait();
          }
          closeAtLast(stream);
          System.out.println("issuing=" + issuing.get(20, TimeUnit.SECONDS));
        }
        System.out.println("failure=" + rank.communicator().failure());
      }
    }

    private static String reduceUntilClosed(Ranks.Rank rank, CudaStream stream) {
      try {
        while (true) {
          rank.communicator()
              .allReduce(
                  rank.send().buffer(),
                  rank.recv().buffer(),
                  4,
                  NcclDataType.INT32,
                  NcclRedOp.SUM,
                  stream);
        }
      } catch (IllegalStateException e) {
        return e.getMessage().endsWith(" is closed") ? "closed" : e.getMessage();
      }
    }

    private static void closeAtLast(NativeResource one) {
      while (!one.isClosed()) {
        try {
          one.close();
        } catch (IllegalStateException e) {
          if (!e.getMessage().contains(" open") && !e.getMessage().contains(" in use by ")) {
            System.out.println("close=" + e.getMessage());
          }
        }
      }
    }

    /**
     * An operation that is given up while NCCL starts it, and its stream until NCCL has stopped.
     */
    private static void overdue(boolean grouped) throws Exception {
      NcclConfig hasty =
          NcclConfig.builder()
              .initTimeout(Ranks.LIMIT)
              .operationTimeout(Duration.ofMillis(100))
              .abortTimeout(Ranks.LIMIT)
              .build();
      try (Ranks ranks = new Ranks(1, 64, hasty)) {
        Ranks.Rank rank = ranks.get(0);
        CudaStream stream = CudaStream.create(rank.context());
        try {
          if (grouped) {
            NcclGroup.run(
                group ->
                    group.broadcast(
                        rank.communicator(),
                        rank.send().buffer(),
                        rank.recv().buffer(),
                        4,
                        NcclDataType.INT32,
                        0,
                        stream));
          } else {
            rank.communicator()
                .broadcast(
                    rank.send().buffer(), rank.recv().buffer(), 4, NcclDataType.INT32, 0, stream);
          }
        } catch (NcclException e) {
          System.out.println("late=" + e.isTimeout());
        }
        try {
          stream.close();
          System.out.println("first=closed");
        } catch (IllegalStateException e) {
          System.out.println("first=" + e.getMessage());
        }
        rank.communicator().close();
        closeAtLast(stream);
        System.out.println("second=closed");
      }
    }

    /** Memory that somebody closes while NCCL registers it. */
    private static void register() throws Exception {
      try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
        Ranks.Rank rank = ranks.get(0);
        DeviceMemory memory = DeviceMemory.allocate(rank.context(), 64);
        FutureTask<NcclRegistration> registering =
            new FutureTask<>(() -> rank.communicator().register(memory.buffer()));
        new Thread(registering).start();
        Waiting.quietly(() -> rank.communicator().state().gate.isBusy(), Ranks.LIMIT);
        try {
          memory.close();
          System.out.println("first=closed");
        } catch (IllegalStateException e) {
          System.out.println("first=" + e.getMessage());
        }
        registering.get(20, TimeUnit.SECONDS).close();
        memory.close();
        System.out.println("second=closed");
      }
    }

    /** Memory and streams of an owner, closed before and after the kernel refuses its barrier. */
    private static void barrier() throws Exception {
      Path file = Path.of(System.getenv("METRALE_TEST_BARRIER"));
      try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
        Ranks.Rank rank = ranks.get(0);
        closeUnderAnOwner(rank);
        Files.createFile(file);
        for (int round = 0; round < ROUNDS; round++) {
          // The owner's way is another one where its context is attached.
          CudaAttachment attachment = round % 2 == 0 ? rank.context().attach() : null;
          closeUnderAnOwner(rank);
          if (attachment != null) {
            attachment.close();
          }
        }
        System.out.println("refused=" + Files.size(file));
        System.out.println("failure=" + rank.communicator().failure());
      }
    }

    private static void closeUnderAnOwner(Ranks.Rank rank) throws Exception {
      for (int i = 0; i < 70; i++) {
        rank.reduce();
      }
      try (CudaStream stream = CudaStream.create(rank.context())) {
        DeviceMemory memory = DeviceMemory.allocate(rank.context(), 64);
        FutureTask<Void> closing = new FutureTask<>(() -> closeAtLast(memory), null);
        new Thread(closing).start();
        String ended = "";
        while (ended.isEmpty()) {
          try {
            rank.communicator()
                .allReduce(
                    memory.buffer(), memory.buffer(), 4, NcclDataType.INT32, NcclRedOp.SUM, stream);
          } catch (IllegalStateException e) {
            ended = e.getMessage();
          }
        }
        closing.get(20, TimeUnit.SECONDS);
        System.out.println("ended=" + (ended.endsWith(" is closed") ? "closed" : ended));
      }
    }
  }

  private static ForkedJvm.Result run(ForkedJvm job) throws Exception {
    ForkedJvm.Result result = job.deadline(Duration.ofSeconds(50)).run().succeeded();
    assertEquals("reached", result.value("end"), result.output());
    return result;
  }

  @Test
  void aStreamThatIsClosedWhileNcclStartsIsRefusedOrNamed() throws Exception {
    ForkedJvm.Result result =
        run(
            SoftwareHost.running(Job.class, "closing")
                .environment("METRALE_EMULATOR_NCCL_ALWAYS_IN_PROGRESS", 1));
    assertEquals(List.of(), result.values("close"), result.output());
    assertEquals(Collections.nCopies(ROUNDS, "closed"), result.values("issuing"));
    assertEquals("Optional.empty", result.value("failure"));
  }

  @Test
  void theStreamOfAnOperationThatWasGivenUpStaysUntilNcclHasStopped() throws Exception {
    for (String job : List.of("overdue", "overdueGroup")) {
      ForkedJvm.Result result =
          run(
              SoftwareHost.running(Job.class, job)
                  .environment("METRALE_EMULATOR_NCCL_ALWAYS_IN_PROGRESS", 1)
                  .environment("METRALE_EMULATOR_NCCL_CONNECT_MS", 1000)
                  .environment("METRALE_EMULATOR_FAULT", "nccl.ncclCommAbort delay=1000"));
      assertEquals("true", result.value("late"), result.output());
      assertTrue(result.value("first").contains("1 dependents open"), result.output());
      assertEquals("closed", result.value("second"));
    }
  }

  @Test
  void memoryStaysWhileNcclRegistersIt() throws Exception {
    ForkedJvm.Result result =
        run(
            SoftwareHost.running(Job.class, "register")
                .environment("METRALE_EMULATOR_FAULT", "nccl.ncclCommRegister block=1000"));
    assertTrue(result.value("first").contains("1 dependents open"), result.output());
    assertEquals("closed", result.value("second"));
  }

  private ForkedJvm.Result barrier(boolean restored) throws Exception {
    Path preloaded =
        SoftwareHost.folder()
            .resolveSibling("src/test/c/barrier/libmetrale_refused_barrier.so")
            .toAbsolutePath();
    assertTrue(Files.exists(preloaded), preloaded.toString());
    ForkedJvm job =
        SoftwareHost.running(Job.class, "barrier")
            .environment("LD_PRELOAD", preloaded)
            .environment("METRALE_TEST_BARRIER", folder.resolve("refused-" + restored));
    if (restored) {
      job.environment("METRALE_TEST_BARRIER_RESTORED", 1);
    }
    ForkedJvm.Result result = run(job);
    assertEquals(Collections.nCopies(ROUNDS + 1, "closed"), result.values("ended"));
    assertEquals("Optional.empty", result.value("failure"));
    return result;
  }

  @Test
  void aProcessThatWasRestoredRegistersItsBarrierAgain() throws Exception {
    assertEquals("1", barrier(true).value("refused"));
  }

  @Test
  void withoutTheKernelsBarrierEveryUsePaysForItsOwn() throws Exception {
    long refused = Long.parseLong(barrier(false).value("refused"));
    // The barrier and its registration, asked for once by each thread that was about to need it.
    assertTrue(refused >= 2 && refused <= 6, refused + " calls were refused");
  }

  /** A process that has no thread to give. */
  public static final class ThreadlessJob {
    private ThreadlessJob() {}

    public static void main(String[] arguments) throws Exception {
      CudaContext context = CudaContext.openPrimary(0);
      try (NoThreads none = NoThreads.named("metrale-nccl-watchdog")) {
        NcclCommunicator.joinLocal(List.of(context), Ranks.CONFIG);
        System.out.println("joined, and denied " + none.denied());
      } catch (OutOfMemoryError e) {
        System.out.println("failed=" + e.getMessage());
      }
      for (NcclCommunicator one : NcclCommunicator.joinLocal(List.of(context), Ranks.CONFIG)) {
        one.close();
      }
      context.close();
      System.out.println("end=reached");
    }
  }

  @Test
  void whatCannotBeWatchedIsNotMadeAndKeepsNothingOpen() throws Exception {
    ForkedJvm.Result result = run(SoftwareHost.running(ThreadlessJob.class));
    assertEquals(
        "unable to create native thread: metrale-nccl-watchdog",
        result.value("failed"),
        result.output());
  }
}
