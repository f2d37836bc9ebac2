package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.verbs.VerbsSharedHost.Link;

/** Queue pairs that share a receive queue. */
@Timeout(60)
abstract class VerbsSharedCases {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final int DEPTH = 4;

  private final VerbsCompletions done = VerbsCompletions.allocate(1);
  private final VerbsReceiveBatch receives = VerbsReceiveBatch.allocate(16);
  private VerbsSharedHost server;
  private Link one;
  private Link other;

  @BeforeEach
  void connect() {
    server = new VerbsSharedHost(DEPTH);
    one = server.join();
    other = server.join();
  }

  @AfterEach
  void close() throws Exception {
    server.close();
  }

  /** The next completion. */
  private VerbsCompletions next(VerbsCompletionQueue queue) throws InterruptedException {
    assertEquals(1, queue.await(done, LIMIT), "nothing comes");
    return done;
  }

  /** The next completion, of a request that was done. */
  private VerbsCompletions nextDone(VerbsCompletionQueue queue) throws InterruptedException {
    assertTrue(next(queue).isSuccess(0), () -> done.failure(0).toString());
    return done;
  }

  private void nothingComes(VerbsCompletionQueue queue) throws InterruptedException {
    assertEquals(0, queue.await(done, Duration.ofMillis(20)));
  }

  private static ByteBuffer bytes(int count, int seed) {
    ByteBuffer out = ByteBuffer.allocate(count);
    for (int i = 0; i < count; i++) {
      out.put(i, (byte) (seed + i * 31));
    }
    return out;
  }

  private ByteBuffer read(long offset, int count) {
    ByteBuffer out = ByteBuffer.allocate(count);
    server.far.read(offset, out);
    return out.flip();
  }

  /** Requests with 64 bytes of their own each, by their numbers. */
  private void post(long... workIds) {
    for (long workId : workIds) {
      receives.receive(workId, server.far, 64 * (workId % 64), 64);
    }
    assertEquals(workIds.length, server.shared.post(receives));
  }

  /** A message that arrives, for the request of that number. */
  private void exchange(Link by, VerbsCompletionQueue queue, long workId) throws Exception {
    by.send(1, bytes(48, (int) workId));
    nextDone(by.client.completions);
    nextDone(queue);
    assertTrue(done.isReceive(0));
    assertEquals(workId, done.workId(0));
    assertEquals(48, done.byteCount(0));
    assertEquals(by.pair.number(), done.queuePairNumber(0));
    assertEquals(bytes(48, (int) workId), read(64 * (workId % 64), 48));
  }

  @Test
  void eachQueuePairTakesTheOldestRequestAndItsCompletionSaysWhich() throws Exception {
    assertEquals(DEPTH, server.shared.depth());
    assertEquals(Optional.of(server.shared), one.pair.sharedReceiveQueue());
    assertEquals(0, one.pair.receiveDepth());
    post(1, 2, 3, 4);
    assertEquals(4, server.shared.inFlight());
    exchange(one, server.completions, 1);
    exchange(other, server.completions, 2);
    exchange(other, server.completions, 3);
    assertEquals(1, server.shared.inFlight());
    exchange(one, server.completions, 4);
    assertEquals(0, server.shared.inFlight());
  }

  @Test
  void aWriteTellsByANumberAndNeedsNoMemory() throws Exception {
    receives.receive(7);
    assertEquals(1, server.shared.post(receives));
    one.near.write(0, bytes(500, 3));
    one.write(1, server.far, 500, 0x80000001);
    nextDone(one.client.completions);
    nextDone(server.completions);
    assertEquals(VerbsOperation.RECEIVE_OF_WRITE, done.operation(0));
    assertEquals(7, done.workId(0));
    assertEquals(0x80000001, done.immediate(0));
    assertEquals(bytes(500, 3), read(0, 500));
  }

  @Test
  void completionsComeWhereTheirQueuePairHasThem() throws Exception {
    VerbsCompletionQueue apart = server.anotherCompletionQueue();
    Link third = server.join(apart, VerbsSharedHost.SETTINGS);
    post(1, 2, 3, 4);
    exchange(third, apart, 1);
    exchange(one, server.completions, 2);
    exchange(third, apart, 3);
    nothingComes(server.completions);
    exchange(other, server.completions, 4);
    nothingComes(apart);
  }

  /** A completion that nobody takes keeps its own place, and no other. */
  @Test
  void placesComeFreeInAnyOrder() throws Exception {
    VerbsCompletionQueue apart = server.anotherCompletionQueue();
    Link slow = server.join(apart, VerbsSharedHost.SETTINGS);
    post(1, 2, 3, 4);
    slow.send(1, bytes(8, 9));
    nextDone(slow.client.completions);
    for (int i = 2; i < 40; i++) {
      exchange(i % 2 == 0 ? one : other, server.completions, i);
      post(i + 3);
    }
    assertEquals(DEPTH, server.shared.inFlight());
    receives.receive(50);
    assertEquals(0, server.shared.post(receives));
    assertEquals(1, nextDone(apart).workId(0));
    assertEquals(bytes(8, 9), read(64, 8));
    assertEquals(1, server.shared.post(receives));
  }

  @Test
  void threadsPostAndTakeAtTheSameTime() throws Exception {
    int rounds = 100;
    List<Callable<Integer>> work = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      VerbsCompletionQueue queue = server.anotherCompletionQueue();
      Link link = server.join(queue, VerbsSharedHost.SETTINGS);
      VerbsReceiveBatch batch = VerbsReceiveBatch.allocate(1);
      VerbsCompletions mine = VerbsCompletions.allocate(1);
      work.add(
          () -> {
            int received = 0;
            for (int round = 0; round < rounds; round++) {
              batch.receive(round, server.far, 0, 64);
              assertEquals(1, server.shared.post(batch));
              link.send(round, ByteBuffer.allocate(8));
              assertEquals(1, link.client.completions.await(mine, LIMIT));
              assertTrue(mine.isSuccess(0));
              received += queue.await(mine, LIMIT);
              assertTrue(mine.isSuccess(0));
              assertEquals(link.pair.number(), mine.queuePairNumber(0));
            }
            return received;
          });
    }
    ExecutorService threads = Executors.newFixedThreadPool(work.size());
    try {
      for (Future<Integer> one : threads.invokeAll(work)) {
        assertEquals(rounds, one.get());
      }
    } finally {
      threads.shutdownNow();
    }
    assertEquals(0, server.shared.inFlight());
  }

  @Test
  void aFullQueuePushesBack() throws Exception {
    for (int i = 1; i <= 6; i++) {
      receives.receive(i, server.far, 64L * i, 64);
    }
    assertEquals(4, server.shared.post(receives));
    assertEquals(0, server.shared.post(receives));
    assertEquals(2, receives.size());
    for (int i = 1; i <= 6; i++) {
      exchange(i % 2 == 0 ? one : other, server.completions, i);
      server.shared.post(receives);
    }
    assertTrue(receives.isEmpty());
    assertEquals(0, server.shared.post(receives));
    assertEquals(0, server.shared.inFlight());
  }

  @Test
  void anEmptyQueueIsWaitedForOrGivenUp() throws Exception {
    one.send(1, bytes(48, 1));
    nothingComes(one.client.completions);
    post(1);
    nextDone(one.client.completions);
    assertEquals(1, nextDone(server.completions).workId(0));
    Link hasty =
        server.join(
            server.completions,
            new VerbsQueueSettings(
                    16, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT.withReceiverPatience(1, 1))
                .withInline(64));
    hasty.send(1, bytes(48, 1));
    assertEquals(
        VerbsWorkStatus.RECEIVER_NOT_READY, next(hasty.client.completions).failure(0).status());
    post(2);
    exchange(other, server.completions, 2);
  }

  @Test
  void aQueuePairThatIsGivenUpLeavesTheRequestsToTheOthers() throws Exception {
    BlockingQueue<VerbsEvent> told = new LinkedBlockingQueue<>();
    server.keep(VerbsEventListener.open(server.device, told::add));
    post(1, 2, 3);
    exchange(other, server.completions, 1);
    other.pair.abort();
    // Soft-RoCE of Linux 6.1 does not tell.
    if (!server.device.isSoftRoce()) {
      VerbsEvent event = told.poll(20, TimeUnit.SECONDS);
      assertEquals(VerbsEventType.QUEUE_PAIR_LAST_RECEIVE_REACHED, event.type());
      assertEquals(other.pair.number(), event.queuePairNumber());
    }
    nothingComes(server.completions);
    assertEquals(2, server.shared.inFlight());
    other.pair.close();
    exchange(one, server.completions, 2);
    exchange(one, server.completions, 3);
    assertEquals(0, server.shared.inFlight());
  }

  @Test
  void aRequestThatFailsIsItsQueuePairsAndTheOthersGoOn() throws Exception {
    post(1, 2);
    other.send(1, 65);
    // 9 and 1; Soft-RoCE takes it for a request that is not well-formed, 11 and 2.
    assertEquals(
        VerbsWorkStatus.Side.PEER, next(other.client.completions).failure(0).status().side());
    VerbsWorkException failure = next(server.completions).failure(0);
    assertTrue(done.isReceive(0));
    assertEquals(1, failure.workId());
    assertEquals(VerbsWorkStatus.Side.LOCAL, failure.status().side());
    assertEquals(1, other.pair.firstError().orElseThrow().workId());
    assertTrue(one.pair.firstError().isEmpty());
    exchange(one, server.completions, 2);
    assertEquals(0, server.shared.inFlight());
  }

  /** Devices drop them with their queue pair, and nobody would know which requests they were of. */
  @Test
  void completionsThatNobodyHasTakenOutliveTheirQueuePair() throws Exception {
    int messages = 80;
    try (VerbsSharedHost host = new VerbsSharedHost(messages, 256)) {
      Link brief = host.join();
      Link longer = host.join();
      for (int i = 0; i < messages; i++) {
        receives.receive(i, host.far, 0, 64);
        assertEquals(1, host.shared.post(receives));
      }
      receives.receive(messages);
      assertEquals(0, host.shared.post(receives));
      for (int i = 0; i < messages - 1; i++) {
        Link by = i % 4 == 0 ? longer : brief;
        by.send(1, bytes(8, i));
        nextDone(by.client.completions);
      }
      brief.pair.close();
      VerbsCompletions some = VerbsCompletions.allocate(7);
      int seen = 0;
      while (seen < messages - 1) {
        int count = host.completions.await(some, LIMIT);
        assertTrue(count > 0, "nothing comes after " + seen);
        for (int i = 0; i < count; i++, seen++) {
          assertTrue(some.isSuccess(i));
          assertEquals(seen, some.workId(i));
          assertEquals((seen % 4 == 0 ? longer : brief).pair.number(), some.queuePairNumber(i));
        }
      }
      assertEquals(1, host.shared.inFlight());
      assertEquals(1, host.shared.post(receives));
      longer.send(1, bytes(8, 1));
      assertEquals(1, host.completions.await(some, LIMIT));
      assertEquals(messages - 1, some.workId(0));
    }
  }

  @Test
  void memoryAndTheQueueStayWhileTheyAreInUse() throws Exception {
    post(1, 2);
    assertThrows(IllegalStateException.class, server.far::close);
    IllegalStateException used = assertThrows(IllegalStateException.class, server.shared::close);
    assertTrue(used.getMessage().contains("2 dependents open"), used::getMessage);
    other.pair.close();
    assertThrows(IllegalStateException.class, server.shared::close);
    exchange(one, server.completions, 1);
    one.pair.close();
    assertThrows(IllegalStateException.class, server.far::close);
    assertThrows(IllegalStateException.class, server.domain::close);
    // One is still there, and never completes.
    server.shared.close();
    server.shared.close();
    assertTrue(server.shared.isClosed());
    server.far.close();
    receives.receive(3);
    assertThrows(IllegalStateException.class, () -> server.shared.post(receives));
    assertThrows(IllegalStateException.class, () -> server.shared.armLimit(1));
    assertThrows(IllegalStateException.class, () -> server.shared.limit());
    assertThrows(IllegalStateException.class, () -> server.join());
    assertEquals(1, receives.size());
  }

  @Test
  void aRegionThatIsClosedIsNotPosted() throws Exception {
    VerbsMemoryRegion gone = VerbsMemoryRegion.allocate(server.domain, 64, VerbsAccess.LOCAL_WRITE);
    receives.receive(1, server.far, 0, 64);
    receives.receive(2);
    receives.receive(3, gone, 0, 64);
    gone.close();
    assertThrows(IllegalStateException.class, () -> server.shared.post(receives));
    assertEquals(0, server.shared.inFlight());
    assertEquals(3, receives.size());
    receives.clear();
    post(1, 2, 3, 4);
    for (int i = 1; i <= 4; i++) {
      exchange(one, server.completions, i);
    }
    server.far.read(0, ByteBuffer.allocate(1));
  }

  @Test
  void theListenerIsToldOnceWhenFewAreLeft() throws Exception {
    BlockingQueue<VerbsEvent> told = new LinkedBlockingQueue<>();
    server.keep(VerbsEventListener.open(server.device, told::add));
    post(1, 2, 3, 4);
    assertEquals(0, server.shared.limit());
    server.shared.armLimit(3);
    assertEquals(3, server.shared.limit());
    exchange(one, server.completions, 1);
    assertTrue(told.isEmpty());
    exchange(other, server.completions, 2);
    VerbsEvent event = told.poll(20, TimeUnit.SECONDS);
    assertEquals(VerbsEventType.SHARED_RECEIVE_QUEUE_LIMIT_REACHED, event.type());
    assertEquals(server.shared.number(), event.sharedReceiveQueueNumber());
    assertEquals(0, event.queuePairNumber());
    assertEquals(0, server.shared.limit());
    exchange(one, server.completions, 3);
    assertFalse(told.poll(20, TimeUnit.MILLISECONDS) != null, "it is told again");
    server.shared.armLimit(1);
    exchange(one, server.completions, 4);
    assertEquals(event, told.poll(20, TimeUnit.SECONDS));
    server.shared.armLimit(2);
    server.shared.armLimit(0);
    assertEquals(0, server.shared.limit());
  }

  @Test
  void theListenerIsToldTheNextEventWhateverItThrows() throws Exception {
    BlockingQueue<VerbsEvent> told = new LinkedBlockingQueue<>();
    server.keep(
        VerbsEventListener.open(
            server.device,
            event -> {
              told.add(event);
              throw new OutOfMemoryError("as where no thread is to be had");
            }));
    post(1, 2, 3, 4);
    for (int left = 3; left > 0; left--) {
      server.shared.armLimit(left + 1);
      exchange(one, server.completions, DEPTH - left);
      assertEquals(
          VerbsEventType.SHARED_RECEIVE_QUEUE_LIMIT_REACHED,
          told.poll(20, TimeUnit.SECONDS).type());
    }
  }

  @Test
  void theRoomOfACompletionQueueIsTakenOnce() throws Exception {
    try (VerbsSharedHost small = new VerbsSharedHost(DEPTH, 40)) {
      // As granted, which may be more than was asked for.
      int room = small.completions.entries();
      int links = (room - DEPTH) / VerbsSharedHost.SETTINGS.sendDepth();
      for (int i = 0; i < links; i++) {
        small
            .keep(
                VerbsPreparedQueuePair.open(
                    small.completions, small.shared, VerbsSharedHost.SETTINGS, i))
            .number();
      }
      IllegalStateException full =
          assertThrows(
              IllegalStateException.class,
              () ->
                  VerbsPreparedQueuePair.open(
                          small.completions, small.shared, VerbsSharedHost.SETTINGS, 99)
                      .close());
      assertTrue(full.getMessage().contains("has room for"), full::getMessage);
    }
    try (VerbsCompletionQueue queue = VerbsCompletionQueue.open(server.device, 64)) {
      VerbsQueueSettings all =
          new VerbsQueueSettings(queue.entries(), VerbsAccess.LOCAL_READ, VerbsPath.DEFAULT);
      VerbsSharedReceiveQueue brief = VerbsSharedReceiveQueue.open(server.domain, 1);
      try {
        assertThrows(
            IllegalStateException.class,
            () -> VerbsPreparedQueuePair.open(queue, brief, all, 1).close());
        try (VerbsPreparedQueuePair prepared =
            VerbsPreparedQueuePair.open(queue, brief, VerbsSharedHost.SETTINGS, 1)) {
          prepared.connect(one.client.remote()).close();
        }
        // What comes of the requests may be here still, whoever has used them.
        assertThrows(
            IllegalStateException.class,
            () -> VerbsPreparedQueuePair.open(server.domain, queue, all, 1).close());
      } finally {
        brief.close();
      }
      // Its room is free again.
      VerbsPreparedQueuePair.open(server.domain, queue, all, 1).close();
    }
  }

  @Test
  void whatMakesNoSenseIsRefusedAtOnce() throws Exception {
    assertThrows(
        IllegalArgumentException.class,
        () -> VerbsSharedReceiveQueue.open(server.domain, 0).close());
    assertThrows(
        IllegalArgumentException.class,
        () -> VerbsSharedReceiveQueue.open(server.domain, 65537).close());
    assertThrows(IllegalArgumentException.class, () -> server.shared.armLimit(-1));
    assertThrows(IllegalArgumentException.class, () -> server.shared.armLimit(DEPTH + 1));
    VerbsQueueSettings twice = VerbsSharedHost.SETTINGS.withReceives(1);
    assertThrows(
        IllegalArgumentException.class,
        () -> VerbsPreparedQueuePair.open(server.completions, server.shared, twice, 1).close());
    assertThrows(
        IllegalArgumentException.class,
        () ->
            VerbsPreparedQueuePair.open(
                    server.completions, server.shared, VerbsSharedHost.SETTINGS, 1 << 24)
                .close());
    try (VerbsDevice elsewhere = VerbsDevice.open(RdmaDevices.clients().get(0));
        VerbsCompletionQueue theirs = VerbsCompletionQueue.open(elsewhere, 64)) {
      assertThrows(
          IllegalArgumentException.class,
          () ->
              VerbsPreparedQueuePair.open(theirs, server.shared, VerbsSharedHost.SETTINGS, 1)
                  .close());
    }
    receives.receive(1);
    IllegalArgumentException own =
        assertThrows(IllegalArgumentException.class, () -> one.pair.post(receives));
    assertEquals(
        "the queue pair's receives are those of shared receive queue " + server.shared.number(),
        own.getMessage());
    assertEquals(1, receives.size());
    VerbsSharedReceiveQueue next = VerbsSharedReceiveQueue.open(server.domain, 1);
    assertTrue(next.number() != server.shared.number());
    next.close();
  }
}
