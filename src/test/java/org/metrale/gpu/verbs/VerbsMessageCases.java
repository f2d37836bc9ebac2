package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.RdmaDevices;

/** Messages, immediate and inline data between two queue pairs of this process. */
@Timeout(60)
abstract class VerbsMessageCases {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final VerbsQueueSettings BOTH_WAYS =
      new VerbsQueueSettings(16, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT)
          .withReceives(4)
          .withInline(64);

  private final VerbsCompletions done = VerbsCompletions.allocate(1);
  private final VerbsWorkBatch batch = VerbsWorkBatch.allocate(16, 4096);
  private final VerbsReceiveBatch receives = VerbsReceiveBatch.allocate(16);
  private VerbsEnd client;
  private VerbsEnd server;
  private VerbsMemoryRegion near;
  private VerbsMemoryRegion far;

  @BeforeEach
  void connect() {
    connect(BOTH_WAYS);
  }

  private void connect(VerbsQueueSettings settings) {
    VerbsEnd[] ends =
        VerbsEnd.pair(
            RdmaDevices.clients().get(0), settings, RdmaDevices.servers().get(0), settings);
    client = ends[0];
    server = ends[1];
    near = client.memory(4096, VerbsAccess.LOCAL_WRITE);
    far = server.memory(4096, VerbsAccess.READ_WRITE);
  }

  @AfterEach
  void close() throws Exception {
    client.close();
    server.close();
  }

  private void connectAnew(VerbsQueueSettings settings) throws Exception {
    close();
    connect(settings);
  }

  /** The next completion. */
  private VerbsCompletions next(VerbsEnd end) throws InterruptedException {
    assertEquals(1, end.completions.await(done, LIMIT), "nothing comes");
    return done;
  }

  /** The next completion, of a request that was done. */
  private VerbsCompletions nextDone(VerbsEnd end) throws InterruptedException {
    assertTrue(next(end).isSuccess(0), () -> done.failure(0).toString());
    return done;
  }

  private VerbsWorkException nextFailure(VerbsEnd end) throws InterruptedException {
    return next(end).failure(0);
  }

  private static ByteBuffer bytes(int count, int seed) {
    ByteBuffer out = ByteBuffer.allocate(count);
    for (int i = 0; i < count; i++) {
      out.put(i, (byte) (seed + i * 31));
    }
    return out;
  }

  private static ByteBuffer read(VerbsMemoryRegion region, long offset, int count) {
    ByteBuffer out = ByteBuffer.allocate(count);
    region.read(offset, out);
    return out.flip();
  }

  /** Requests for messages, each with 512 bytes of its own. */
  private void postReceives(long... workIds) {
    for (int i = 0; i < workIds.length; i++) {
      receives.receive(workIds[i], far, 512L * i, 512);
    }
    assertEquals(workIds.length, server.pair.post(receives));
  }

  @Test
  void messagesArriveInOrderWithTheirLengthsAndNumbers() throws Exception {
    postReceives(70, 71, 72, 73);
    assertEquals(4, server.pair.receivesInFlight());
    near.write(0, bytes(500, 1));
    batch.send(1, near, 0, 500);
    batch.send(2, near, 100, 300);
    batch.immediate(0x80000001);
    batch.sendInline(3, bytes(40, 5));
    batch.immediate(-1);
    batch.sendInline(4, ByteBuffer.allocate(0));
    assertEquals(4, client.pair.post(batch));
    for (int i = 0; i < 4; i++) {
      nextDone(client);
      assertEquals(1 + i, done.workId(0));
      assertEquals(VerbsOperation.SEND, done.operation(0));
      assertFalse(done.isReceive(0));
      assertFalse(done.hasImmediate(0));
    }
    assertThrows(IllegalStateException.class, () -> done.immediate(0));
    List<Object> received = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      nextDone(server);
      assertEquals(VerbsOperation.RECEIVE, done.operation(0));
      assertTrue(done.isReceive(0));
      assertEquals(server.pair.number(), done.queuePairNumber(0));
      received.add(done.workId(0));
      received.add(done.byteCount(0));
      received.add(done.hasImmediate(0) ? done.immediate(0) : "none");
    }
    assertEquals(
        List.<Object>of(70L, 500L, "none", 71L, 300L, 0x80000001, 72L, 40L, -1, 73L, 0L, "none"),
        received);
    assertEquals(bytes(500, 1), read(far, 0, 500));
    assertEquals(bytes(500, 1).slice(100, 300), read(far, 512, 300));
    assertEquals(bytes(40, 5), read(far, 1024, 40));
    assertEquals(0, server.pair.receivesInFlight());
  }

  @Test
  void aWriteTellsThePeerByANumber() throws Exception {
    receives.receive(70);
    receives.receive(71, far, 0, 100);
    receives.receive(72);
    assertEquals(3, server.pair.post(receives));
    near.write(0, bytes(2000, 1));
    batch.write(1, near, 0, 2000, far.address() + 1000, far.rkey());
    batch.immediate(7);
    batch.writeInline(2, bytes(8, 9), far.address() + 3500, far.rkey());
    batch.immediate(8);
    batch.writeInline(3, ByteBuffer.allocate(0), far.address(), far.rkey());
    batch.immediate(9);
    client.pair.post(batch);
    for (int i = 0; i < 3; i++) {
      nextDone(client);
      assertEquals(1 + i, done.workId(0));
      assertEquals(VerbsOperation.WRITE, done.operation(0));
    }
    long[] counts = {2000, 8, 0};
    for (int i = 0; i < 3; i++) {
      nextDone(server);
      assertEquals(VerbsOperation.RECEIVE_OF_WRITE, done.operation(0));
      assertEquals(70 + i, done.workId(0));
      assertEquals(7 + i, done.immediate(0));
      assertEquals(counts[i], done.byteCount(0));
    }
    assertEquals(bytes(2000, 1), read(far, 1000, 2000));
    assertEquals(bytes(8, 9), read(far, 3500, 8));
    assertEquals(ByteBuffer.allocate(100), read(far, 0, 100), "the receive's memory is not used");
  }

  /** Both queues of a pair have numbers of their own, and their completions come in one queue. */
  @Test
  void theSameNumbersGoBothWays() throws Exception {
    VerbsReceiveBatch answers = VerbsReceiveBatch.allocate(1);
    for (int i = 0; i < 100; i++) {
      postReceives(i);
      answers.receive(i, near, 2048, 64);
      client.pair.post(answers);
      batch.sendInline(i, bytes(32, i));
      client.pair.post(batch);
      nextDone(server);
      assertTrue(done.isReceive(0));
      batch.sendInline(i, read(far, 0, 32));
      batch.immediate(i);
      server.pair.post(batch);
      nextDone(server);
      assertFalse(done.isReceive(0));
      int answered = 0;
      for (int seen = 0; seen < 2; seen++) {
        nextDone(client);
        assertEquals(i, done.workId(0));
        answered += done.isReceive(0) ? 1 : 0;
      }
      assertEquals(1, answered);
      assertEquals(bytes(32, i), read(near, 2048, 32));
    }
  }

  @Test
  void inlineDataIsCopiedAtOnce() throws Exception {
    postReceives(70, 71);
    ByteBuffer data = ByteBuffer.allocateDirect(16).putLong(0, 42).putLong(8, 43);
    batch.sendInline(1, data);
    assertFalse(data.hasRemaining());
    data.clear().putLong(0, -1);
    batch.sendInline(2, data.limit(8));
    client.pair.post(batch);
    data.putLong(0, -2);
    nextDone(client);
    nextDone(client);
    nextDone(server);
    assertEquals(16, done.byteCount(0));
    nextDone(server);
    assertEquals(ByteBuffer.allocate(16).putLong(0, 42).putLong(8, 43), read(far, 0, 16));
    assertEquals(ByteBuffer.allocate(8).putLong(0, -1), read(far, 512, 8));
  }

  @Test
  void moreInlineThanTheDeviceTakesIsRefusedBeforeAnythingIsPosted() throws Exception {
    connectAnew(BOTH_WAYS.withInline(4096));
    int most = client.pair.maxInlineBytes();
    assertTrue(most > 0 && most < 4096, () -> "inline " + most);
    postReceives(70, 71);
    batch.sendInline(1, bytes(8, 0));
    batch.sendInline(2, bytes(most + 1, 0));
    String message =
        assertThrows(IllegalArgumentException.class, () -> client.pair.post(batch)).getMessage();
    assertEquals((most + 1) + " bytes inline; this queue pair takes " + most, message);
    assertEquals(0, client.pair.inFlight());
    assertEquals(2, batch.size());
    batch.clear();
    batch.sendInline(3, bytes(Math.min(most, 512), 4));
    assertEquals(1, client.pair.post(batch));
    nextDone(client);
    nextDone(server);
    assertEquals(bytes(Math.min(most, 512), 4), read(far, 0, Math.min(most, 512)));
    VerbsWorkBatch small = VerbsWorkBatch.allocate(1, 8);
    assertThrows(IllegalArgumentException.class, () -> small.sendInline(1, bytes(9, 0)));
    assertTrue(small.isEmpty());
  }

  @Test
  void aQueuePairWithoutInlineDataStillSendsMessagesWithoutBytes() throws Exception {
    connectAnew(BOTH_WAYS.withInline(0));
    receives.receive(70);
    server.pair.post(receives);
    batch.sendInline(1, ByteBuffer.allocate(0));
    batch.immediate(5);
    client.pair.post(batch);
    nextDone(client);
    assertEquals(5, nextDone(server).immediate(0));
  }

  @Test
  void aReceiverThatIsNeverReadyIsToldAheadOfTheFlushes() throws Exception {
    connectAnew(
        new VerbsQueueSettings(
                16, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT.withReceiverPatience(1, 1))
            .withReceives(4));
    receives.receive(2, near, 0, 64);
    client.pair.post(receives);
    batch.send(1, near, 0, 64);
    batch.send(2, near, 0, 64);
    client.pair.post(batch);
    VerbsWorkException first = nextFailure(client);
    assertEquals(VerbsWorkStatus.RECEIVER_NOT_READY, first.status());
    assertEquals(1, first.workId());
    assertNull(first.getCause());
    for (int i = 0; i < 2; i++) {
      VerbsWorkException flushed = nextFailure(client);
      assertEquals(VerbsWorkStatus.FLUSHED, flushed.status());
      assertEquals(2, flushed.workId());
      assertEquals(1, ((VerbsWorkException) flushed.getCause()).workId());
    }
    assertEquals(1, client.pair.firstError().orElseThrow().workId());
  }

  @Test
  void aReceiverThatIsLateIsWaitedFor() throws Exception {
    near.write(0, bytes(64, 3));
    batch.send(1, near, 0, 64);
    client.pair.post(batch);
    assertEquals(0, client.completions.await(done, Duration.ofMillis(20)));
    postReceives(70);
    nextDone(client);
    nextDone(server);
    assertEquals(bytes(64, 3), read(far, 0, 64));
  }

  @Test
  void aMessageThatIsTooLongFailsAtBothEnds() throws Exception {
    receives.receive(70, far, 0, 63);
    receives.receive(1, far, 64, 64);
    server.pair.post(receives);
    batch.send(1, near, 0, 64);
    client.pair.post(batch);
    // 9 and 1; Soft-RoCE takes it for a request that is not well-formed, 11 and 2.
    assertEquals(VerbsWorkStatus.Side.PEER, nextFailure(client).status().side());
    VerbsWorkException failure = nextFailure(server);
    assertTrue(done.isReceive(0));
    assertEquals(70, failure.workId());
    assertEquals(VerbsWorkStatus.Side.LOCAL, failure.status().side());
    VerbsWorkException flushed = nextFailure(server);
    assertTrue(done.isReceive(0));
    assertFalse(done.hasImmediate(0));
    assertEquals(VerbsWorkStatus.FLUSHED, flushed.status());
    assertEquals(70, ((VerbsWorkException) flushed.getCause()).workId());
    assertEquals(70, server.pair.firstError().orElseThrow().workId());
  }

  @Test
  void aFullReceiveQueuePushesBack() throws Exception {
    for (int i = 0; i < 6; i++) {
      receives.receive(70 + i, far, 16L * i, 16);
    }
    assertEquals(4, server.pair.receiveDepth());
    assertEquals(4, server.pair.post(receives));
    assertEquals(0, server.pair.post(receives));
    assertEquals(4, server.pair.receivesInFlight());
    assertEquals(2, receives.size());
    for (int i = 0; i < 6; i++) {
      batch.sendInline(i, bytes(16, i));
    }
    assertEquals(6, client.pair.post(batch));
    for (int i = 0; i < 6; i++) {
      assertEquals(70 + i, nextDone(server).workId(0));
      server.pair.post(receives);
      nextDone(client);
    }
    for (int i = 0; i < 6; i++) {
      assertEquals(bytes(16, i), read(far, 16L * i, 16));
    }
    assertEquals(0, server.pair.receivesInFlight());
  }

  @Test
  void memoryStaysWhileARequestNamesItAndAnAbortFlushes() throws Exception {
    postReceives(70, 71);
    receives.receive(72);
    server.pair.post(receives);
    assertThrows(IllegalStateException.class, far::close);
    server.pair.abort();
    for (int i = 0; i < 3; i++) {
      VerbsWorkException failure = nextFailure(server);
      assertEquals(VerbsWorkStatus.FLUSHED, failure.status());
      assertEquals(70 + i, failure.workId());
      assertTrue(done.isReceive(0));
    }
    far.close();
    receives.receive(73, far, 0, 16);
    assertThrows(IllegalStateException.class, () -> server.pair.post(receives));
    assertEquals(0, server.pair.receivesInFlight());
    assertEquals(1, receives.size());
  }

  @Test
  void aSentMessageHoldsItsMemoryAndAnInlineOneHoldsNone() throws Exception {
    batch.sendInline(1, bytes(8, 0));
    batch.send(2, near, 0, 8);
    batch.sendInline(3, bytes(8, 1));
    client.pair.post(batch);
    assertThrows(IllegalStateException.class, near::close);
    postReceives(70, 71, 72);
    for (int i = 0; i < 3; i++) {
      nextDone(client);
    }
    near.close();
  }

  @Test
  void closingLetsGoOfReceivesThatAreInFlight() throws Exception {
    postReceives(70, 71);
    server.pair.close();
    far.close();
    assertEquals(0, server.completions.poll(done, Duration.ofMillis(1)));
    receives.receive(72);
    assertThrows(IllegalStateException.class, () -> server.pair.post(receives));
  }

  @Test
  void receivesAreReadyBeforeTheConnectionIs() throws Exception {
    try (VerbsEnd one = new VerbsEnd(RdmaDevices.clients().get(0), BOTH_WAYS);
        VerbsEnd other = new VerbsEnd(RdmaDevices.servers().get(0), BOTH_WAYS)) {
      VerbsMemoryRegion room = other.memory(64, VerbsAccess.LOCAL_WRITE);
      receives.receive(70, room, 0, 64);
      assertEquals(1, other.prepared.post(receives));
      assertThrows(IllegalStateException.class, room::close);
      VerbsRemote toOther = other.remote();
      other.connect(one.remote());
      one.connect(toOther);
      assertEquals(1, other.pair.receivesInFlight());
      batch.sendInline(1, bytes(64, 2));
      one.pair.post(batch);
      nextDone(one);
      assertEquals(70, nextDone(other).workId(0));
      assertEquals(bytes(64, 2), read(room, 0, 64));
      receives.receive(71);
      assertThrows(IllegalStateException.class, () -> other.prepared.post(receives));
    }
  }

  @Test
  void aQueuePairThatIsNeverConnectedLetsItsReceivesGo() throws Exception {
    try (VerbsEnd alone = new VerbsEnd(RdmaDevices.servers().get(0), BOTH_WAYS)) {
      VerbsMemoryRegion room = alone.memory(64, VerbsAccess.LOCAL_WRITE);
      receives.receive(70, room, 0, 64);
      alone.prepared.post(receives);
      assertThrows(IllegalStateException.class, room::close);
      alone.prepared.close();
      room.close();
    }
  }

  @Test
  void receivesHaveToBeAskedFor() throws Exception {
    connectAnew(new VerbsQueueSettings(4, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT));
    assertEquals(0, server.pair.receiveDepth());
    receives.receive(70);
    assertThrows(IllegalArgumentException.class, () -> server.pair.post(receives));
    assertEquals(1, receives.size());
  }

  @Test
  void requestsThatMakeNoSenseAreRefusedAtOnce() {
    assertThrows(IndexOutOfBoundsException.class, () -> receives.receive(1, far, 4090, 8));
    assertThrows(IllegalArgumentException.class, () -> receives.receive(1, far, 0, 0));
    assertTrue(receives.isEmpty());
    assertThrows(IndexOutOfBoundsException.class, () -> batch.send(1, near, 4090, 8));
    assertThrows(IllegalStateException.class, () -> batch.immediate(1));
    batch.read(1, near, 0, 8, far.address(), far.rkey());
    assertThrows(IllegalStateException.class, () -> batch.immediate(1));
    batch.fetchAndAdd(1, near, 0, far.address(), far.rkey(), 1);
    assertThrows(IllegalStateException.class, () -> batch.immediate(1));
    assertThrows(IllegalArgumentException.class, () -> VerbsReceiveBatch.allocate(0));
    assertThrows(IllegalArgumentException.class, () -> VerbsWorkBatch.allocate(1, 4097));
    assertThrows(IllegalArgumentException.class, () -> BOTH_WAYS.withReceives(-1));
    assertThrows(IllegalArgumentException.class, () -> BOTH_WAYS.withInline(4097));
    VerbsReceiveBatch one = VerbsReceiveBatch.allocate(1);
    one.receive(1);
    assertThrows(IllegalStateException.class, () -> one.receive(2));
  }
}
