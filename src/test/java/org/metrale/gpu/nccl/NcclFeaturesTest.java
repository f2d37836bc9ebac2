package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;

/** What communicators can do besides operations. */
@Tag("emulator")
class NcclFeaturesTest {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private interface Step {
    void run(Ranks.Rank rank) throws Exception;
  }

  /** Every rank in a thread of its own. */
  private static void together(Iterable<Ranks.Rank> ranks, Step step) throws Exception {
    List<Throwable> problems = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (Ranks.Rank rank : ranks) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  step.run(rank);
                } catch (Throwable e) {
                  synchronized (problems) {
                    problems.add(e);
                  }
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (!problems.isEmpty()) {
      throw new AssertionError(problems.toString(), problems.get(0));
    }
  }

  private static void sumWorks(NcclCommunicator one, Ranks.Rank rank) throws InterruptedException {
    long sequence =
        one.allReduce(
            rank.send().buffer(),
            rank.recv().buffer(),
            4,
            NcclDataType.INT32,
            NcclRedOp.SUM,
            rank.stream());
    assertTrue(one.operation(sequence).await(Ranks.LIMIT));
  }

  @Test
  void registersAndDeregistersOnce() throws Exception {
    try (Ranks ranks = new Ranks(2, 8192, Ranks.CONFIG)) {
      together(
          ranks.all(),
          rank -> {
            NcclRegistration early = rank.communicator().register(rank.send().buffer());
            rank.communicator().register(rank.recv().buffer());
            early.close();
            early.close();
            sumWorks(rank.communicator(), rank);
          });
    }
  }

  @Test
  void putsIntoWindowsAndSignals() throws Exception {
    try (Ranks ranks = new Ranks(2, 8192, Ranks.CONFIG)) {
      byte[] data = {9, 8, 7, 6};
      Ranks.write(ranks.get(0), ranks.get(0).send().buffer(), data);
      together(
          ranks.all(),
          rank -> {
            NcclCommunicator one = rank.communicator();
            NcclMemory memory = one.allocate(8192);
            NcclWindow window = one.registerWindow(memory.buffer(), true);
            if (one.rank() == 0) {
              long put =
                  one.putSignal(
                      rank.send().buffer(), 4, NcclDataType.UINT8, 1, window, 16, rank.stream());
              assertTrue(one.operation(put).await(Ranks.LIMIT));
              assertThrows(
                  IndexOutOfBoundsException.class,
                  () ->
                      one.putSignal(
                          rank.send().buffer(),
                          4,
                          NcclDataType.UINT8,
                          1,
                          window,
                          8190,
                          rank.stream()));
            } else {
              long wait = one.waitSignal(0, 1, rank.stream());
              assertTrue(one.operation(wait).await(Ranks.LIMIT));
              assertArrayEquals(data, Ranks.read(rank, memory.buffer(16, 4), 4));
            }
            sumWorks(one, rank);
          });
    }
  }

  @Test
  void multipliesBeforeSumming() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      together(
          ranks.all(),
          rank -> {
            NcclCommunicator one = rank.communicator();
            Ranks.write(
                rank,
                rank.send().buffer(),
                Reference.elements(NcclDataType.FLOAT16, 4, i -> i + one.rank()));
            NcclRedOp half = one.preMultipliedSum(NcclDataType.FLOAT16, 0.5);
            long sequence =
                one.allReduce(
                    rank.send().buffer(),
                    rank.recv().buffer(),
                    4,
                    NcclDataType.FLOAT16,
                    half,
                    rank.stream());
            assertTrue(one.operation(sequence).await(Ranks.LIMIT));
            assertArrayEquals(
                Reference.elements(NcclDataType.FLOAT16, 4, i -> i + 0.5),
                Ranks.read(rank, rank.recv().buffer(), 8));
            NcclCommunicator other = ranks.get(1 - one.rank()).communicator();
            assertThrows(IllegalArgumentException.class, () -> half.requireUsableBy(other));
          });
    }
  }

  @Test
  void multipliesByANumberOnTheDevice() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      together(
          ranks.all(),
          rank -> {
            NcclCommunicator one = rank.communicator();
            Ranks.write(
                rank, rank.send().buffer(), Reference.elements(NcclDataType.INT32, 4, i -> i));
            Ranks.write(
                rank,
                rank.send().buffer(16, 4),
                Reference.elements(NcclDataType.INT32, 1, i -> 3 + one.rank()));
            NcclRedOp weighted =
                one.preMultipliedSum(NcclDataType.INT32, rank.send().buffer(16, 4));
            assertThrows(
                IllegalArgumentException.class,
                () -> one.preMultipliedSum(NcclDataType.INT64, rank.send().buffer(16, 4)));
            long sequence =
                one.allReduce(
                    rank.send().buffer(0, 16),
                    rank.recv().buffer(),
                    4,
                    NcclDataType.INT32,
                    weighted,
                    rank.stream());
            assertTrue(one.operation(sequence).await(Ranks.LIMIT));
            assertArrayEquals(
                Reference.elements(NcclDataType.INT32, 4, i -> 7 * i),
                Ranks.read(rank, rank.recv().buffer(), 16));
          });
    }
  }

  @Test
  void closesWhatItMadeBeforeItself() throws Exception {
    try (Ranks ranks = new Ranks(1, 8192, Ranks.CONFIG)) {
      NcclCommunicator one = ranks.get(0).communicator();
      NcclMemory memory = one.allocate(8192);
      NcclWindow window = one.registerWindow(memory.buffer(), false);
      NcclRegistration registration = one.register(ranks.get(0).send().buffer());
      one.preMultipliedSum(NcclDataType.FLOAT32, 2);
      assertThrows(IllegalStateException.class, memory::close);
      one.close();
      assertTrue(memory.isClosed() && window.isClosed() && registration.isClosed());
      assertTrue(one.failure().isEmpty());
    }
  }

  @Test
  void shrinksSuspendsAndCounts() throws Exception {
    try (Ranks ranks = new Ranks(3, 64, Ranks.CONFIG)) {
      together(ranks.all(), rank -> sumWorks(rank.communicator(), rank));
      together(
          ranks.all().subList(0, 2),
          rank -> {
            try (NcclCommunicator fewer =
                rank.communicator().shrink(new int[] {2}, false, Ranks.CONFIG)) {
              assertEquals(2, fewer.ranks());
              sumWorks(fewer, rank);
            }
          });
      NcclCommunicator one = ranks.get(0).communicator();
      assertTrue(one.memoryStatistics().totalBytes() >= 0);
      together(
          ranks.all(),
          rank -> {
            rank.communicator().suspend();
            assertTrue(rank.communicator().memoryStatistics().suspended());
            rank.communicator().resume();
            sumWorks(rank.communicator(), rank);
          });
    }
  }

  @Test
  void growsByARank() throws Exception {
    SoftwareHost.requireDevices(3);
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG);
        CudaContext more = CudaContext.openPrimary(2)) {
      NcclUniqueId id = ranks.get(0).communicator().idForGrowing();
      Thread newcomer =
          new Thread(
              () -> {
                try (NcclCommunicator third =
                    NcclCommunicator.joinGrowing(more, id, 3, 2, Ranks.CONFIG)) {
                  assertEquals(2, third.rank());
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              });
      newcomer.start();
      together(
          ranks.all(),
          rank -> {
            boolean root = rank.communicator().rank() == 0;
            try (NcclCommunicator grown =
                rank.communicator()
                    .grow(3, root ? Optional.of(id) : Optional.empty(), Ranks.CONFIG)) {
              assertEquals(3, grown.ranks());
              assertEquals(rank.communicator().rank(), grown.rank());
            }
          });
      newcomer.join();
    }
  }

  @Test
  void revokesWhatHangsAndShrinksAfterwards() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      NcclCommunicator one = rank.communicator();
      long sequence =
          one.allReduce(
              rank.send().buffer(),
              rank.recv().buffer(),
              4,
              NcclDataType.INT32,
              NcclRedOp.SUM,
              rank.stream());
      NcclOperation stuck = one.operation(sequence);
      assertFalse(stuck.isDone());
      one.revoke();
      assertThrows(NcclException.class, stuck::isDone);
      try (NcclCommunicator alone = one.shrink(new int[] {1}, true, Ranks.CONFIG)) {
        assertEquals(1, alone.ranks());
        sumWorks(alone, rank);
      }
      ranks.get(1).communicator().abort();
    }
  }

  @Test
  void bridgesComputationAndCommunication() throws Exception {
    try (Ranks ranks = new Ranks(2, 1 << 16, Ranks.CONFIG)) {
      together(
          ranks.all(),
          rank -> {
            try (CudaStream compute = CudaStream.create(rank.context());
                NcclStreamBridge bridge = NcclStreamBridge.between(compute, rank.stream())) {
              for (int round = 1; round < 20; round++) {
                byte value = (byte) round;
                compute.fill(rank.send().buffer(), value);
                bridge.run(stream -> reduceAll(rank, stream));
                compute.copy(rank.recv().buffer(), rank.send().buffer());
              }
              NcclStreamBridge.Deferred first =
                  bridge.runDeferred(stream -> reduceAll(rank, stream));
              NcclStreamBridge.Deferred second =
                  bridge.runDeferred(stream -> reduceAll(rank, stream));
              bridge.join(second);
              bridge.join(first);
              assertThrows(IllegalStateException.class, () -> bridge.join(first));
              assertTrue(compute.synchronize(Ranks.LIMIT));
              assertEquals(76, Ranks.read(rank, rank.recv().buffer(), 1)[0]);
            }
          });
    }
  }

  private static long reduceAll(Ranks.Rank rank, CudaStream stream) {
    return rank.communicator()
        .allReduce(
            rank.send().buffer(),
            rank.recv().buffer(),
            1 << 16,
            NcclDataType.INT8,
            NcclRedOp.SUM,
            stream);
  }

  @Test
  void joiningDoesNotBlockOtherCommunicators() throws Exception {
    NcclConfig slow = NcclConfig.builder().initTimeout(java.time.Duration.ofMillis(700)).build();
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      CyclicBarrier begun = new CyclicBarrier(2);
      Thread lonely =
          new Thread(
              () -> {
                try {
                  begun.await();
                  NcclUniqueId id = NcclUniqueId.create();
                  CudaContext context = ranks.get(0).context();
                  assertThrows(
                      NcclException.class,
                      () -> NcclCommunicator.joinAll(List.of(context), List.of(id), 2, 0, slow));
                } catch (Exception e) {
                  throw new AssertionError(e);
                }
              });
      lonely.start();
      begun.await();
      for (int i = 0; i < 20; i++) {
        together(ranks.all(), rank -> sumWorks(rank.communicator(), rank));
      }
      lonely.join();
    }
  }

  @Test
  void waitsWithoutTheCostOfAFixedSleep() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      together(ranks.all(), rank -> sumWorks(rank.communicator(), rank));
      long begin = System.nanoTime();
      together(
          ranks.all(),
          rank -> {
            for (int i = 0; i < 200; i++) {
              sumWorks(rank.communicator(), rank);
            }
          });
      long each = (System.nanoTime() - begin) / 200;
      assertTrue(each < 5_000_000, each + " ns an operation");
    }
  }

  @Test
  void joinsWithSeveralIds() throws Exception {
    SoftwareHost.requireDevices(4);
    List<CudaContext> contexts = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      contexts.add(CudaContext.openPrimary(i));
    }
    List<NcclCommunicator> all =
        NcclCommunicator.joinAll(
            contexts, List.of(NcclUniqueId.create(), NcclUniqueId.create()), 4, 0, Ranks.CONFIG);
    assertEquals(4, all.get(3).ranks());
    assertEquals(3, all.get(3).rank());
    List<Thread> closing = new ArrayList<>();
    for (NcclCommunicator one : all) {
      Thread thread = new Thread(one::close);
      thread.start();
      closing.add(thread);
    }
    for (Thread thread : closing) {
      thread.join();
    }
    contexts.forEach(CudaContext::close);
  }

  /** A rank's collectives, each on the first elements of its buffers; what is left in the last. */
  private static byte[] all(NcclCollectives one, NcclCommunicator of, Ranks.Rank rank)
      throws InterruptedException {
    CudaBuffer send = rank.send().buffer();
    CudaBuffer recv = rank.recv().buffer();
    NcclDataType type = NcclDataType.INT32;
    CudaStream stream = rank.stream();
    byte[] numbers = new byte[64];
    for (int i = 0; i < numbers.length; i += Integer.BYTES) {
      numbers[i] = (byte) (i + 1 + of.rank());
    }
    Ranks.write(rank, send, numbers);
    Ranks.write(rank, recv, new byte[512]);
    one.allReduce(send, recv.slice(0, 64), 4, type, NcclRedOp.SUM, stream);
    one.broadcast(send, recv.slice(64, 64), 4, type, 1, stream);
    one.reduce(send, recv.slice(128, 64), 4, type, NcclRedOp.MAX, 0, stream);
    one.allGather(send, recv.slice(192, 64), 4, type, stream);
    one.reduceScatter(send, recv.slice(256, 64), 4, type, NcclRedOp.SUM, stream);
    one.allToAll(send, recv.slice(320, 64), 4, type, stream);
    one.gather(send, recv.slice(384, 64), 4, type, 1, stream);
    long last = one.scatter(send, recv.slice(448, 64), 4, type, 0, stream);
    assertTrue(of.operation(last).await(Ranks.LIMIT));
    return Ranks.read(rank, recv, 512);
  }

  @Test
  void collectivesTakeSettingsOfTheirOwn() throws Exception {
    try (Ranks ranks = new Ranks(2, 8192, Ranks.CONFIG)) {
      together(
          ranks.all(),
          rank -> {
            NcclCommunicator one = rank.communicator();
            NcclCollectives with =
                one.configured(
                    NcclCallConfig.builder()
                        .ctas(1, 4)
                        .cgaClusterSize(0)
                        .algorithms("ring", false)
                        .profilerTag(7)
                        .build());
            assertArrayEquals(all(one, one, rank), all(with, one, rank));
            assertEquals(15, one.flightRecord().lastIssued());
            assertThrows(
                IllegalArgumentException.class,
                () ->
                    with.allReduce(
                        rank.send().buffer(),
                        rank.recv().buffer(),
                        1 << 20,
                        NcclDataType.INT32,
                        NcclRedOp.SUM,
                        rank.stream()));
            assertTrue(with.toString().contains("maxCTAs=4"), with.toString());
          });
    }
  }

  @Test
  void settingsThatNcclRefusesAreNamedWithTheirCall() throws Exception {
    try (Ranks ranks = new Ranks(1, 8192, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      NcclCollectives with =
          rank.communicator().configured(NcclCallConfig.builder().ctaPolicy(9).build());
      NcclException refused =
          assertThrows(
              NcclException.class,
              () ->
                  with.allReduce(
                      rank.send().buffer(),
                      rank.recv().buffer(),
                      4,
                      NcclDataType.INT32,
                      NcclRedOp.SUM,
                      rank.stream()));
      assertEquals("ncclAllReduceConfig", refused.call());
      assertTrue(rank.communicator().failure().isEmpty());
      assertThrows(IllegalArgumentException.class, () -> NcclCallConfig.builder().ctas(2, 1));
      assertThrows(IllegalArgumentException.class, () -> NcclCallConfig.builder().nvlsCtas(0));
      assertThrows(
          IllegalArgumentException.class, () -> NcclCallConfig.builder().cgaClusterSize(9));
      assertThrows(IllegalArgumentException.class, () -> NcclCallConfig.builder().profilerTag(-1));
    }
  }

  /** Asks an older NCCL for settings of single calls. */
  public static final class OlderJob {
    private OlderJob() {}

    public static void main(String[] arguments) throws Exception {
      try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
        NcclCommunicator one = ranks.get(0).communicator();
        System.out.println("supports=" + one.supports("ncclAllReduceConfig"));
        try {
          one.configured(NcclCallConfig.builder().build());
        } catch (LibraryUnavailableException e) {
          System.out.println("absent=" + e.function());
        }
        System.out.println("plain=" + one.operation(ranks.get(0).reduce()).await(Ranks.LIMIT));
      }
    }
  }

  @Test
  void anOlderNcclHasNoSettingsOfSingleCalls() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(OlderJob.class)
            .environment("METRALE_EMULATOR_NCCL_VERSION", 22907)
            .run()
            .succeeded();
    assertEquals("false", result.value("supports"), result.output());
    assertEquals("ncclAllReduceConfig", result.value("absent"), result.output());
    assertEquals("true", result.value("plain"), result.output());
  }
}
