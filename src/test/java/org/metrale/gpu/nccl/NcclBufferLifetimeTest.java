package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.Allocation;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cuda.HostMemory;

/** Memory cannot be closed while a collective works on it. */
@Tag("emulator")
class NcclBufferLifetimeTest {
  private static final int DEEP = 40;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private static NcclOperation reduce(Ranks.Rank rank, CudaBuffer send, CudaBuffer recv) {
    NcclCommunicator one = rank.communicator();
    return one.operation(
        one.allReduce(send, recv, 4, NcclDataType.INT32, NcclRedOp.SUM, rank.stream()));
  }

  private static NcclOperation reduce(Ranks.Rank rank) {
    return reduce(rank, rank.send().buffer(), rank.recv().buffer());
  }

  private static String refusal(NativeResource memory) {
    String said = assertThrows(IllegalStateException.class, memory::close).getMessage();
    assertFalse(memory.isClosed());
    return said;
  }

  @Test
  void refusesToCloseMemoryThatACollectiveReadsOrWrites() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      NcclOperation running = reduce(rank);
      for (DeviceMemory memory : List.of(rank.send(), rank.recv())) {
        String said = refusal(memory);
        assertTrue(said.contains("operation 0 (ncclAllReduce)"), said);
        assertTrue(said.contains("rank 0 of 2"), said);
      }
      NcclOperation last = reduce(ranks.get(1));
      assertTrue(running.await(Ranks.LIMIT));
      assertTrue(last.await(Ranks.LIMIT));
      rank.send().close();
      rank.recv().close();
    }
  }

  @Test
  void refusesToClosePinnedAndNcclMemoryAndWhereOnlyAPartIsUsed() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG);
        HostMemory pinned = HostMemory.allocate(ranks.get(0).context(), 64)) {
      Ranks.Rank rank = ranks.get(0);
      NcclMemory own = rank.communicator().allocate(64);
      NcclOperation running = reduce(rank, pinned.buffer().slice(16, 16), own.buffer(32, 16));
      assertTrue(refusal(pinned).contains("operation 0"));
      assertTrue(refusal(own).contains("operation 0"));
      reduce(ranks.get(1));
      assertTrue(running.await(Ranks.LIMIT));
      own.close();
    }
  }

  @Test
  void refusesToCloseMemoryOfAGroup() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      List<NcclOperation> running =
          NcclGroup.run(
              group ->
                  group.send(
                      rank.communicator(),
                      rank.send().buffer(),
                      4,
                      NcclDataType.INT32,
                      1,
                      rank.stream()));
      assertTrue(refusal(rank.send()).contains("operation 0 (ncclSend)"));
      Ranks.Rank other = ranks.get(1);
      other.communicator().receive(other.recv().buffer(), 4, NcclDataType.INT32, 0, other.stream());
      assertTrue(running.get(0).await(Ranks.LIMIT));
      rank.send().close();
    }
  }

  @Test
  void remembersMoreOperationsThanTheRecorder() throws Exception {
    NcclConfig small =
        NcclConfig.builder()
            .initTimeout(Ranks.LIMIT)
            .operationTimeout(Ranks.LIMIT)
            .recordedOperations(16)
            .build();
    try (Ranks ranks = new Ranks(2, 64, small);
        DeviceMemory first = DeviceMemory.allocate(ranks.get(0).context(), 64)) {
      Ranks.Rank rank = ranks.get(0);
      NcclOperation oldest = reduce(rank, first.buffer(), first.buffer());
      for (int i = 1; i < DEEP; i++) {
        reduce(rank);
      }
      assertTrue(refusal(first).contains("operation 0"));
      NcclOperation last = oldest;
      for (int i = 0; i < DEEP; i++) {
        last = reduce(ranks.get(1));
      }
      assertTrue(last.await(Ranks.LIMIT));
      assertTrue(oldest.await(Ranks.LIMIT));
      first.close();
    }
  }

  @Test
  void letsGoOfMemoryOnceAFailedCommunicatorIsStopped() throws Exception {
    NcclConfig patient =
        NcclConfig.builder()
            .initTimeout(Ranks.LIMIT)
            .operationTimeout(Duration.ofMillis(200))
            .abortOnFailure(false)
            .build();
    try (Ranks ranks = new Ranks(2, 64, patient)) {
      Ranks.Rank rank = ranks.get(0);
      NcclOperation stuck = reduce(rank);
      assertThrows(NcclException.class, () -> stuck.await(Ranks.LIMIT));
      String said = refusal(rank.send());
      assertTrue(said.contains("operation 0 (ncclAllReduce)"), said);
      rank.communicator().close();
      rank.send().close();
      ranks.get(1).communicator().abort();
    }
  }

  @Test
  void aRegisteredBufferStaysUntilItIsDeregistered() throws Exception {
    try (Ranks ranks = new Ranks(1, 8192, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      NcclRegistration registration = rank.communicator().register(rank.send().buffer());
      assertThrows(IllegalStateException.class, () -> rank.send().close());
      registration.close();
      rank.send().close();
    }
  }

  @Test
  void issuingAllocatesNothing() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      long least = Long.MAX_VALUE;
      // An entry that the recorder needs again must not cost anything either.
      for (int round = 0; round < 20; round++) {
        long[] last = {-1};
        least = Math.min(least, Allocation.fewest(1, () -> last[0] = issue(rank, 100)));
        assertTrue(rank.communicator().operation(last[0]).await(Ranks.LIMIT));
      }
      // Less than the smallest object an operation.
      assertTrue(least < 100 * 16, least + " bytes for 100 operations");
    }
  }

  private static long issue(Ranks.Rank rank, int operations) {
    NcclCommunicator one = rank.communicator();
    long last = -1;
    for (int i = 0; i < operations; i++) {
      last =
          one.allReduce(
              rank.send().buffer(),
              rank.recv().buffer(),
              4,
              NcclDataType.INT32,
              NcclRedOp.SUM,
              rank.stream());
    }
    return last;
  }

  @Test
  void eitherTheCloseOrTheOperationLosesTheRace() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      for (int round = 0; round < 500; round++) {
        DeviceMemory memory = DeviceMemory.allocate(rank.context(), 64);
        CountDownLatch go = new CountDownLatch(1);
        AtomicReference<Throwable> refused = new AtomicReference<>();
        Thread closer =
            new Thread(
                () -> {
                  try {
                    go.await();
                    memory.close();
                  } catch (InterruptedException | IllegalStateException e) {
                    refused.set(e);
                  }
                });
        closer.start();
        go.countDown();
        NcclOperation issued = null;
        try {
          issued = reduce(rank, memory.buffer(), memory.buffer());
        } catch (IllegalStateException e) {
          assertTrue(e.getMessage().contains("is closed"), e.getMessage());
        }
        closer.join();
        if (issued != null) {
          assertTrue(issued.await(Ranks.LIMIT));
        }
        if (refused.get() != null) {
          assertTrue(refused.get().getMessage().contains("ncclAllReduce"), refused.toString());
          memory.close();
        }
        assertTrue(memory.isClosed());
      }
      assertTrue(rank.communicator().failure().isEmpty());
    }
  }
}
