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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaStream;

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

  /** Has the owner of a communicator call a function that is not there, on another stream. */
  public static final class OtherStreamJob {
    private OtherStreamJob() {}

    public static void main(String[] arguments) throws Exception {
      try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG);
          CudaStream other = CudaStream.create(ranks.get(0).context())) {
        Ranks.Rank one = ranks.get(0);
        Ranks.Rank peer = ranks.get(1);
        NcclCommunicator communicator = one.communicator();
        for (int i = 0; i < 200; i++) {
          one.reduce();
          peer.reduce();
        }
        try {
          communicator.broadcast(
              one.send().buffer(), one.recv().buffer(), 1, NcclDataType.INT8, 0, other);
        } catch (LibraryUnavailableException e) {
          System.out.println("missing=" + e.function());
        }
        long waiting = one.reduce();
        System.out.println("other.idle=" + other.isIdle());
        peer.reduce();
        System.out.println("ended=" + communicator.operation(waiting).await(Ranks.LIMIT));
      }
      System.out.println("end=reached");
    }
  }

  @Test
  void whatFollowsAnAbsentFunctionGoesToItsOwnStream() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(OtherStreamJob.class)
            .environment("METRALE_EMULATOR_ABSENT", "ncclBroadcast")
            .run()
            .succeeded();
    assertEquals("ncclBroadcast", result.value("missing"), result.output());
    assertEquals("true", result.value("other.idle"), result.output());
    assertEquals("true", result.value("ended"), result.output());
    assertEquals("reached", result.value("end"));
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
  void theWatchdogComesLessOftenUntilSomebodyIsToBeTold() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      NcclOperation waiting = ranks.get(0).communicator().operation(ranks.get(0).reduce());
      Waiting.quietly(() -> NcclWatchdog.pace() == NcclWatchdog.LONGEST_TICK_NANOS, Ranks.LIMIT);
      assertEquals(NcclWatchdog.LONGEST_TICK_NANOS, NcclWatchdog.pace());
      CompletableFuture<Void> end = waiting.completion().toCompletableFuture();
      assertEquals(NcclWatchdog.TICK_NANOS, NcclWatchdog.pace());
      ranks.get(1).reduce();
      end.get(10, TimeUnit.SECONDS);
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
      assertEquals(0, operation.get("collective").asLong());
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
    assertTrue(result.output().contains("1 1 ALL_REDUCE FLOAT32 0 256"), result.output());
  }
}
