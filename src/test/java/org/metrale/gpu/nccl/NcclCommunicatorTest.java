package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaStream;

@Tag("emulator")
class NcclCommunicatorTest {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @Test
  void sumsOverRanks() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      List<NcclOperation> operations = new ArrayList<>();
      for (Ranks.Rank rank : ranks.all()) {
        Ranks.write(
            rank,
            rank.send().buffer(),
            new byte[] {1, 2, 3, (byte) (10 * rank.communicator().rank())});
        long sequence =
            rank.communicator()
                .allReduce(
                    rank.send().buffer(),
                    rank.recv().buffer(),
                    4,
                    NcclDataType.INT8,
                    NcclRedOp.SUM,
                    rank.stream());
        assertEquals(0, sequence);
        operations.add(rank.communicator().operation(sequence));
      }
      for (NcclOperation operation : operations) {
        assertTrue(operation.await(Ranks.LIMIT));
        operation.completion().toCompletableFuture().get(5, TimeUnit.SECONDS);
      }
      for (Ranks.Rank rank : ranks.all()) {
        byte[] result = Ranks.read(rank, rank.recv().buffer(), 4);
        assertEquals(
            List.of(2, 4, 6, 10),
            List.of((int) result[0], (int) result[1], (int) result[2], (int) result[3]));
      }
    }
  }

  @Test
  void futuresCompleteByTheWatchdogAlone() throws Exception {
    try (Ranks ranks = new Ranks(2, 1 << 16, Ranks.CONFIG)) {
      List<java.util.concurrent.CompletableFuture<Void>> all = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        for (Ranks.Rank rank : ranks.all()) {
          long sequence =
              rank.communicator()
                  .allReduce(
                      rank.send().buffer(),
                      rank.recv().buffer(),
                      1 << 14,
                      NcclDataType.FLOAT32,
                      NcclRedOp.MAX,
                      rank.stream());
          all.add(rank.communicator().operation(sequence).completion().toCompletableFuture());
        }
      }
      for (var future : all) {
        future.get(10, TimeUnit.SECONDS);
      }
      NcclFlightRecord record = ranks.get(1).communicator().flightRecord();
      assertEquals(19, record.lastCompleted());
      assertEquals(record, NcclFlightRecord.parse(record.toString()));
    }
  }

  @Test
  void checksArgumentsBeforeTheCall() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      NcclCommunicator one = rank.communicator();
      CudaBuffer send = rank.send().buffer();
      CudaBuffer recv = rank.recv().buffer();
      CudaStream stream = rank.stream();
      assertThrows(
          IllegalArgumentException.class,
          () -> one.allReduce(send, recv, 17, NcclDataType.FLOAT32, NcclRedOp.SUM, stream));
      assertThrows(
          IllegalArgumentException.class,
          () -> one.allReduce(send, recv, -1, NcclDataType.INT8, NcclRedOp.SUM, stream));
      assertThrows(
          IllegalArgumentException.class,
          () -> one.allGather(send, recv, 33, NcclDataType.INT8, stream));
      assertThrows(
          IllegalArgumentException.class,
          () -> one.allGather(send, recv, Long.MAX_VALUE, NcclDataType.INT8, stream));
      assertThrows(
          IllegalArgumentException.class,
          () ->
              one.allReduce(
                  send.slice(0, 32),
                  send.slice(16, 32),
                  32,
                  NcclDataType.INT8,
                  NcclRedOp.SUM,
                  stream));
      assertThrows(
          IllegalArgumentException.class,
          () -> one.broadcast(send, recv, 1, NcclDataType.INT8, 2, stream));
      assertThrows(
          IllegalArgumentException.class, () -> one.send(send, 1, NcclDataType.INT8, -1, stream));
      CudaBuffer pageable = CudaBuffer.of(ByteBuffer.allocateDirect(64));
      String message =
          assertThrows(
                  IllegalArgumentException.class,
                  () -> one.allReduce(pageable, recv, 4, NcclDataType.INT8, NcclRedOp.SUM, stream))
              .getMessage();
      assertTrue(message.contains("pageable"), message);
      CudaBuffer elsewhere = ranks.get(1).send().buffer();
      assertThrows(
          IllegalArgumentException.class,
          () -> one.allReduce(elsewhere, recv, 4, NcclDataType.INT8, NcclRedOp.SUM, stream));
      CudaStream wrong = ranks.get(1).stream();
      assertThrows(
          IllegalArgumentException.class,
          () -> one.allReduce(send, recv, 4, NcclDataType.INT8, NcclRedOp.SUM, wrong));
      assertEquals(-1, one.flightRecord().lastIssued());
    }
  }

  @Test
  void groupsSendAndReceive() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      for (Ranks.Rank rank : ranks.all()) {
        Ranks.write(
            rank, rank.send().buffer(), new byte[] {(byte) (7 + rank.communicator().rank())});
      }
      List<NcclOperation> operations =
          NcclGroup.run(
              group -> {
                for (Ranks.Rank rank : ranks.all()) {
                  int peer = 1 - rank.communicator().rank();
                  group.send(
                      rank.communicator(),
                      rank.send().buffer(),
                      1,
                      NcclDataType.INT8,
                      peer,
                      rank.stream());
                  group.receive(
                      rank.communicator(),
                      rank.recv().buffer(),
                      1,
                      NcclDataType.INT8,
                      peer,
                      rank.stream());
                }
              });
      assertEquals(4, operations.size());
      for (NcclOperation operation : operations) {
        assertTrue(operation.await(Ranks.LIMIT));
      }
      assertEquals(8, Ranks.read(ranks.get(0), ranks.get(0).recv().buffer(), 1)[0]);
      assertEquals(7, Ranks.read(ranks.get(1), ranks.get(1).recv().buffer(), 1)[0]);
    }
  }

  @Test
  void aGroupWhoseBodyThrowsStartsNothing() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      assertThrows(
          IllegalArgumentException.class,
          () ->
              NcclGroup.run(
                  group -> {
                    group.send(
                        rank.communicator(),
                        rank.send().buffer(),
                        1,
                        NcclDataType.INT8,
                        1,
                        rank.stream());
                    throw new IllegalArgumentException("in the body");
                  }));
      assertEquals(-1, rank.communicator().flightRecord().lastIssued());
      for (Ranks.Rank each : ranks.all()) {
        each.communicator()
            .allReduce(
                each.send().buffer(),
                each.recv().buffer(),
                8,
                NcclDataType.INT64,
                NcclRedOp.MIN,
                each.stream());
      }
      for (Ranks.Rank each : ranks.all()) {
        assertTrue(each.communicator().operation(0).await(Ranks.LIMIT));
      }
    }
  }

  @Test
  void splitsAndRefusesToCloseBeforeTheChild() throws Exception {
    try (Ranks ranks = new Ranks(4, 64, Ranks.CONFIG)) {
      List<Thread> threads = new ArrayList<>();
      NcclCommunicator[] children = new NcclCommunicator[4];
      for (Ranks.Rank rank : ranks.all()) {
        int mine = rank.communicator().rank();
        Thread thread =
            new Thread(
                () -> {
                  try {
                    int color = mine == 3 ? -1 : mine % 2;
                    Optional<NcclCommunicator> child =
                        rank.communicator().split(color, -mine, Ranks.CONFIG);
                    children[mine] = child.orElse(null);
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                });
        thread.start();
        threads.add(thread);
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(null, children[3]);
      assertEquals(2, children[0].ranks());
      assertEquals(1, children[0].rank());
      assertEquals(0, children[2].rank());
      assertEquals(1, children[1].ranks());
      assertThrows(IllegalStateException.class, () -> ranks.get(1).communicator().close());
      children[1].close();
      Thread other = new Thread(children[0]::close);
      other.start();
      children[2].close();
      other.join();
    }
  }

  @Test
  void namesTheClosedCommunicator() throws Exception {
    NcclCommunicator[] closed = new NcclCommunicator[1];
    Ranks kept = new Ranks(1, 64, Ranks.CONFIG);
    Ranks.Rank rank = kept.get(0);
    closed[0] = rank.communicator();
    closed[0].close();
    closed[0].close();
    assertTrue(
        assertThrows(
                IllegalStateException.class,
                () ->
                    closed[0].allReduce(
                        rank.send().buffer(),
                        rank.recv().buffer(),
                        1,
                        NcclDataType.INT8,
                        NcclRedOp.SUM,
                        rank.stream()))
            .getMessage()
            .contains("rank 0 of 1 is closed"));
    kept.close();
  }

  @Test
  void anOperationThatAPeerNeverJoinsIsOverdue() throws Exception {
    NcclConfig hasty =
        NcclConfig.builder()
            .initTimeout(Ranks.LIMIT)
            .operationTimeout(Duration.ofMillis(300))
            .build();
    try (Ranks ranks = new Ranks(2, 64, hasty)) {
      Ranks.Rank rank = ranks.get(0);
      long sequence =
          rank.communicator()
              .allReduce(
                  rank.send().buffer(),
                  rank.recv().buffer(),
                  4,
                  NcclDataType.INT32,
                  NcclRedOp.SUM,
                  rank.stream());
      NcclOperation operation = rank.communicator().operation(sequence);
      assertFalse(operation.await(Duration.ofMillis(50)));
      long begin = System.nanoTime();
      NcclException late = assertThrows(NcclException.class, () -> operation.await(Ranks.LIMIT));
      assertTrue(System.nanoTime() - begin < 3_000_000_000L);
      assertTrue(late.isTimeout());
      assertEquals("ncclAllReduce", late.call());
      assertTrue(late.getMessage().contains("rank=0"), late.getMessage());
      assertTrue(rank.communicator().failure().isPresent());
      NcclFlightRecord.Difference difference =
          NcclFlightRecord.compare(
                  List.of(
                      rank.communicator().flightRecord(),
                      ranks.get(1).communicator().flightRecord()))
              .orElseThrow();
      assertEquals(1, difference.rank());
      assertTrue(difference.description().contains("never issued operation 0"));
      ranks.get(1).communicator().abort();
    }
  }
}
