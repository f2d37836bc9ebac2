package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.global.cuda;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;

/** What must not end the process, the watchdog, or a wait, whatever comes together. */
@Tag("emulator")
class NcclRobustnessTest {
  private static final NcclConfig HASTY =
      NcclConfig.builder()
          .initTimeout(Ranks.LIMIT)
          .operationTimeout(Duration.ofMillis(200))
          .closeTimeout(Ranks.LIMIT)
          .build();

  @TempDir Path folder;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  /** Runs a group of one send and one receive in a process without some functions. */
  public static final class GroupJob {
    private GroupJob() {}

    public static void main(String[] arguments) throws Exception {
      try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
        Ranks.Rank one = ranks.get(0);
        try {
          NcclGroup.run(
              group -> {
                group.send(
                    one.communicator(), one.send().buffer(), 1, NcclDataType.INT8, 0, one.stream());
                group.receive(
                    one.communicator(), one.recv().buffer(), 1, NcclDataType.INT8, 0, one.stream());
              });
          System.out.println("group=OK");
        } catch (LibraryUnavailableException e) {
          System.out.println("group=" + e.function());
        }
      }
      System.out.println("end=reached");
    }
  }

  @Test
  void aGroupWhoseEndIsAbsentTooIsAnException() throws Exception {
    for (String absent : List.of("ncclGroupEnd", "ncclGroupEnd,ncclSend", "ncclGroupStart")) {
      ForkedJvm.Result result =
          SoftwareHost.running(GroupJob.class)
              .environment("METRALE_EMULATOR_ABSENT", absent)
              .run()
              .succeeded();
      assertEquals(absent.split(",")[0], result.value("group"), result.output());
      assertEquals("reached", result.value("end"));
    }
  }

  /** A program's log handler that does its worst. */
  private static final class ThrowingHandler extends Handler {
    private int thrown;

    @Override
    public void publish(LogRecord record) {
      thrown++;
      throw new StackOverflowError("a log handler of the program");
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  @Test
  void anErrorOnTheWatchdogDoesNotEndIt() throws Exception {
    Logger logger = Logger.getLogger("org.metrale.gpu.nccl");
    ThrowingHandler handler = new ThrowingHandler();
    logger.addHandler(handler);
    try {
      for (int round = 0; round < 2; round++) {
        try (Ranks ranks = new Ranks(2, 64, HASTY)) {
          NcclOperation stuck = ranks.get(0).communicator().operation(ranks.get(0).reduce());
          NcclException late = assertThrows(NcclException.class, () -> stuck.await(Ranks.LIMIT));
          assertTrue(late.isTimeout());
          ranks.get(1).communicator().abort();
        }
      }
      assertTrue(handler.thrown > 0);
    } finally {
      logger.removeHandler(handler);
    }
  }

  @Test
  void operationsThatRaceACloseAreRefusedAndNothingElse() throws Exception {
    for (int round = 0; round < 30; round++) {
      try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
        Ranks.Rank rank = ranks.get(0);
        List<Thread> users = new ArrayList<>();
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        for (int i = 0; i < 2; i++) {
          Thread user =
              new Thread(
                  () -> {
                    try {
                      while (true) {
                        rank.reduce();
                      }
                    } catch (IllegalStateException e) {
                      if (!e.getMessage().contains("is closed")) {
                        wrong.set(e);
                      }
                    } catch (RuntimeException e) {
                      wrong.set(e);
                    }
                  });
          user.start();
          users.add(user);
        }
        while (rank.communicator().flightRecord().lastIssued() < 200) {
          Thread.onSpinWait();
        }
        rank.communicator().close();
        for (Thread user : users) {
          user.join();
        }
        if (wrong.get() != null) {
          throw new AssertionError(wrong.get());
        }
      }
    }
  }

  @Test
  void ownersAndOthersTakeTurns() throws Exception {
    int threads = 4;
    int each = 2000;
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      List<Thread> users = new ArrayList<>();
      AtomicReference<Throwable> wrong = new AtomicReference<>();
      for (int i = 0; i < threads; i++) {
        // Runs of one thread make it the owner; the others take that away again.
        Thread user =
            new Thread(
                () -> {
                  try {
                    for (int done = 0; done < each; done++) {
                      long sequence = rank.reduce();
                      if (done % 100 == 0) {
                        assertTrue(rank.communicator().operation(sequence).await(Ranks.LIMIT));
                      }
                    }
                  } catch (InterruptedException | RuntimeException | AssertionError e) {
                    wrong.set(e);
                  }
                });
        user.start();
        users.add(user);
      }
      int closed = 0;
      while (users.stream().anyMatch(Thread::isAlive)) {
        // Closing memory takes the communicator away from its owner too.
        DeviceMemory.allocate(rank.context(), 64).close();
        closed++;
      }
      assertEquals(null, wrong.get());
      assertTrue(closed > 0);
      NcclCommunicator one = rank.communicator();
      assertTrue(one.operation((long) threads * each - 1).await(Ranks.LIMIT));
      assertEquals((long) threads * each - 1, one.flightRecord().lastIssued());
      List<NcclFlightRecord.Entry> kept = one.flightRecord().entries();
      for (int i = 1; i < kept.size(); i++) {
        assertEquals(kept.get(i - 1).sequence() + 1, kept.get(i).sequence());
        assertEquals(NcclOperationKind.ALL_REDUCE, kept.get(i).kind());
      }
    }
  }

  /** An owner's memory, closed by another thread: one of the two always loses. */
  @Test
  void anOwnersMemoryCannotBeClosedUnderIt() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 70; i++) {
          rank.reduce();
        }
        DeviceMemory memory = DeviceMemory.allocate(rank.context(), 64);
        Thread closer =
            new Thread(
                () -> {
                  boolean closed = false;
                  while (!closed) {
                    try {
                      memory.close();
                      closed = true;
                    } catch (IllegalStateException e) {
                      assertTrue(e.getMessage().contains("ncclAllReduce"), e.getMessage());
                    }
                  }
                });
        closer.start();
        IllegalStateException refused =
            assertThrows(
                IllegalStateException.class,
                () -> {
                  while (true) {
                    rank.communicator()
                        .allReduce(
                            memory.buffer(),
                            memory.buffer(),
                            4,
                            NcclDataType.INT32,
                            NcclRedOp.SUM,
                            rank.stream());
                  }
                });
        assertTrue(refused.getMessage().contains("is closed"), refused.getMessage());
        closer.join();
      }
      assertTrue(rank.communicator().failure().isEmpty());
    }
  }

  @Test
  void aDestructionThatHangsIsBoundedAndNotAborted() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(FaultyJob.class, "1", "0", "1", folder.resolve("id").toString())
            .environment(
                "METRALE_EMULATOR_FAULT", "nccl.ncclCommDestroy hang;nccl.ncclCommAbort kill")
            .property("close", 500)
            .deadline(Duration.ofSeconds(40))
            .run()
            .succeeded();
    assertEquals("OK", result.value("rank0"));
    String said = result.value("rank0.close");
    assertTrue(said.contains("ncclCommDestroy: ncclTimeout (8)"), result.output());
    assertTrue(said.contains("left as it is"), said);
    assertEquals("reached", result.value("end"));
  }

  @Test
  void oneSidedOperationsGoIntoGroups() throws Exception {
    try (Ranks ranks = new Ranks(2, 8192, Ranks.CONFIG)) {
      byte[][] data = {{1, 2, 3, 4}, {5, 6, 7, 8}};
      NcclMemory[] memory = new NcclMemory[2];
      NcclWindow[] windows = new NcclWindow[2];
      List<Thread> threads = new ArrayList<>();
      for (Ranks.Rank rank : ranks.all()) {
        int me = rank.communicator().rank();
        Ranks.write(rank, rank.send().buffer(), data[me]);
        memory[me] = rank.communicator().allocate(8192);
        Thread thread =
            new Thread(
                () -> windows[me] = rank.communicator().registerWindow(memory[me].buffer(), true));
        thread.start();
        threads.add(thread);
      }
      for (Thread thread : threads) {
        thread.join();
      }
      List<NcclOperation> operations =
          NcclGroup.run(
              group -> {
                for (Ranks.Rank rank : ranks.all()) {
                  NcclCommunicator one = rank.communicator();
                  int me = one.rank();
                  int peer = 1 - me;
                  group.putSignal(
                      one,
                      rank.send().buffer(),
                      4,
                      NcclDataType.UINT8,
                      peer,
                      windows[me],
                      16,
                      rank.stream());
                  group.signal(one, peer, rank.stream());
                }
              });
      List<NcclOperation> waits =
          NcclGroup.run(
              group ->
                  ranks
                      .all()
                      .forEach(
                          rank ->
                              group.waitSignal(
                                  rank.communicator(),
                                  1 - rank.communicator().rank(),
                                  2,
                                  rank.stream())));
      assertEquals(4, operations.size());
      for (NcclOperation one : operations) {
        assertTrue(one.await(Ranks.LIMIT));
      }
      for (NcclOperation one : waits) {
        assertTrue(one.await(Ranks.LIMIT));
      }
      for (Ranks.Rank rank : ranks.all()) {
        int me = rank.communicator().rank();
        assertArrayEquals(data[1 - me], Ranks.read(rank, memory[me].buffer(16, 4), 4));
      }
      Ranks.Rank rank = ranks.get(0);
      assertThrows(
          IllegalArgumentException.class,
          () -> NcclGroup.run(group -> group.signal(rank.communicator(), 2, rank.stream())));
      closeTogether(windows);
    }
  }

  private static void closeTogether(NcclWindow[] windows) throws InterruptedException {
    Thread other = new Thread(windows[0]::close);
    other.start();
    windows[1].close();
    other.join();
  }

  @Test
  void tellsItsProperties() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      NcclProperties found = ranks.get(1).communicator().properties();
      assertEquals(1, found.rank());
      assertEquals(2, found.ranks());
      assertEquals(1, found.cudaOrdinal());
      assertFalse(found.hasDeviceApi());
      assertTrue(found.hasHostRma());
      assertEquals(found.hash(), ranks.get(0).communicator().properties().hash());
      assertTrue(ranks.get(0).communicator().supports("ncclCommQueryProperties"));
    }
  }

  @Test
  void theWatchdogSleepsWhileNothingIsOpen() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      long last = ranks.get(0).reduce();
      assertTrue(ranks.get(0).communicator().operation(last).await(Ranks.LIMIT));
      Thread watchdog =
          Thread.getAllStackTraces().keySet().stream()
              .filter(thread -> thread.getName().equals("metrale-nccl-watchdog"))
              .findFirst()
              .orElseThrow();
      // Not timed: it would look again by itself.
      Waiting.quietly(() -> watchdog.getState() == Thread.State.WAITING, Ranks.LIMIT);
      assertEquals(Thread.State.WAITING, watchdog.getState());
      long next = ranks.get(0).reduce();
      ranks
          .get(0)
          .communicator()
          .operation(next)
          .completion()
          .toCompletableFuture()
          .get(10, TimeUnit.SECONDS);
    }
  }

  @Test
  void theRecordIsJsonForOthers() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      long last = ranks.get(0).reduce();
      assertTrue(ranks.get(0).communicator().operation(last).await(Ranks.LIMIT));
      ranks.get(0).communicator().abort();
      JsonNode read =
          new ObjectMapper().readTree(ranks.get(0).communicator().flightRecord().toJson());
      assertEquals(0, read.get("rank").asInt());
      assertTrue(read.get("failure").asText().contains("ncclCommAbort"));
      JsonNode operation = read.get("operations").get(0);
      assertEquals("ALL_REDUCE", operation.get("kind").asText());
      assertEquals(4, operation.get("countElements").asLong());
      assertEquals("DONE", operation.get("state").asText());
    }
  }

  @Test
  void anOperationWhoseCallRunsIsInTheRecord() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(FaultyJob.class, "1", "0", "1", folder.resolve("id").toString())
            .environment("METRALE_EMULATOR_FAULT", "nccl.ncclAllReduce call=2 block=30000")
            .property("guarded", true)
            .deadline(Duration.ofSeconds(40))
            .run()
            .succeeded();
    assertTrue(result.output().contains("1 ALL_REDUCE FLOAT32 0 256"), result.output());
  }

  @Test
  void streamsThatCloseUnderAnOwnerAreNamed() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      for (int i = 0; i < 100; i++) {
        rank.reduce();
      }
      CudaStream closed = CudaStream.create(rank.context());
      closed.close();
      String said =
          assertThrows(
                  IllegalStateException.class,
                  () ->
                      rank.communicator()
                          .broadcast(
                              rank.send().buffer(),
                              rank.recv().buffer(),
                              1,
                              NcclDataType.INT8,
                              0,
                              closed))
              .getMessage();
      assertTrue(said.contains("stream") && said.contains("is closed"), said);
      long next = rank.reduce();
      assertTrue(rank.communicator().operation(next).await(Ranks.LIMIT));
      assertEquals(100, next);
    }
  }

  @Test
  void noContextStaysCurrentBehindAnOwnersCall() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      for (int i = 0; i < 100; i++) {
        long last = rank.reduce();
        assertEquals(0, cuda.metrale_cuCtxGetCurrent());
        assertTrue(rank.communicator().operation(last).await(Ranks.LIMIT));
      }
    }
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

  /** Revokes in another thread, and aborts meanwhile. */
  public static final class RevokeJob {
    private RevokeJob() {}

    public static void main(String[] arguments) throws Exception {
      try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
        NcclCommunicator one = ranks.get(0).communicator();
        FutureTask<String> revoking =
            new FutureTask<>(
                () -> {
                  try {
                    one.revoke();
                    return "OK";
                  } catch (NcclException e) {
                    return e.getMessage().replace('\n', ' ');
                  }
                });
        new Thread(revoking).start();
        Waiting.quietly(() -> one.failure().isPresent(), Ranks.LIMIT);
        one.abort();
        System.out.println("revoke=" + revoking.get(20, TimeUnit.SECONDS));
      }
      System.out.println("end=reached");
    }
  }

  @Test
  void aRevocationEndsWithAnAbort() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(RevokeJob.class)
            .environment("METRALE_EMULATOR_FAULT", "nccl.ncclCommRevoke hang")
            .deadline(Duration.ofSeconds(40))
            .run()
            .succeeded();
    assertTrue(result.value("revoke").contains("ncclCommRevoke"), result.output());
    assertEquals("reached", result.value("end"));
  }

  @Test
  void aGroupLooksAtAllCommunicatorsOnceItHasThem() throws Exception {
    try (Ranks first = new Ranks(1, 64, Ranks.CONFIG);
        Ranks second = new Ranks(1, 64, Ranks.CONFIG)) {
      NcclCommunicator broken = first.get(0).communicator();
      RankState busy = second.get(0).communicator().state();
      busy.gate.enter(Ranks.LIMIT);
      FutureTask<List<NcclOperation>> group =
          new FutureTask<>(
              () ->
                  NcclGroup.run(
                      both -> {
                        for (Ranks.Rank rank : List.of(first.get(0), second.get(0))) {
                          both.broadcast(
                              rank.communicator(),
                              rank.send().buffer(),
                              rank.recv().buffer(),
                              4,
                              NcclDataType.INT32,
                              0,
                              rank.stream());
                        }
                      }));
      new Thread(group).start();
      Waiting.quietly(() -> broken.state().gate.isBusy(), Ranks.LIMIT);
      broken.abort();
      busy.gate.leave();
      ExecutionException refused =
          assertThrows(ExecutionException.class, () -> group.get(20, TimeUnit.SECONDS));
      String said = refused.getCause().getMessage();
      assertTrue(said.contains("aborted by the program"), said);
      assertTrue(second.get(0).communicator().failure().isEmpty());
    }
  }

  @Test
  void aSplitThatIsGivenUpEndsItsParent() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      NcclCommunicator one = ranks.get(0).communicator();
      FutureTask<Object> splitting = new FutureTask<>(() -> one.split(-1, 0, Ranks.CONFIG));
      Thread thread = new Thread(splitting);
      thread.start();
      Waiting.quietly(() -> one.state().gate.isBusy(), Ranks.LIMIT);
      thread.interrupt();
      ExecutionException ended =
          assertThrows(ExecutionException.class, () -> splitting.get(20, TimeUnit.SECONDS));
      assertEquals(InterruptedException.class, ended.getCause().getClass());
      assertTrue(one.failure().isPresent());
      ranks.get(1).communicator().abort();
    }
  }

  @Test
  void aSplitEndsWithAnAbortOfItsParent() throws Exception {
    for (int color : new int[] {-1, 0}) {
      try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
        NcclCommunicator one = ranks.get(0).communicator();
        FutureTask<Object> splitting = new FutureTask<>(() -> one.split(color, 0, Ranks.CONFIG));
        new Thread(splitting).start();
        Waiting.quietly(() -> one.state().gate.isBusy(), Ranks.LIMIT);
        one.abort();
        ExecutionException ended =
            assertThrows(ExecutionException.class, () -> splitting.get(20, TimeUnit.SECONDS));
        assertTrue(ended.getCause().getMessage().contains("aborted"), ended.toString());
        ranks.get(1).communicator().abort();
      }
    }
  }
}
