package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.bytedeco.javacpp.BytePointer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.RdmaDevices;

/** Requests between two queue pairs of this process. */
@Timeout(60)
abstract class VerbsTransferCases {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final VerbsQueueSettings SERVING =
      new VerbsQueueSettings(4, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT);
  private static final VerbsQueueSettings ASKING =
      new VerbsQueueSettings(16, VerbsAccess.LOCAL_READ, VerbsPath.DEFAULT);

  private final VerbsCompletions done = VerbsCompletions.allocate(32);
  private final VerbsWorkBatch batch = VerbsWorkBatch.allocate(64);
  private VerbsEnd client;
  private VerbsEnd server;

  @BeforeEach
  void connect() {
    VerbsEnd[] ends =
        VerbsEnd.pair(RdmaDevices.clients().get(0), ASKING, RdmaDevices.servers().get(0), SERVING);
    client = ends[0];
    server = ends[1];
  }

  @AfterEach
  void close() throws Exception {
    client.close();
    server.close();
  }

  @Test
  void readsAndWrites() throws Exception {
    VerbsMemoryRegion far = server.memory(1 << 20, VerbsAccess.READ_WRITE);
    VerbsMemoryRegion near = client.memory(1 << 20, VerbsAccess.LOCAL_WRITE);
    byte[] bytes = new byte[1 << 20];
    new Random(7).nextBytes(bytes);
    near.write(0, ByteBuffer.wrap(bytes));

    batch.write(-5, near, 0, bytes.length, far.address(), far.rkey());
    assertEquals(1, client.pair.post(batch));
    assertTrue(batch.isEmpty());
    assertEquals(1, client.completions.poll(done, LIMIT));
    assertEquals(-5, done.workId(0));
    assertTrue(done.isSuccess(0));
    assertEquals(client.pair.number(), done.queuePairNumber(0));
    near.write(0, ByteBuffer.allocate(bytes.length));
    batch.read(Long.MAX_VALUE, near, 3, 1000, far.address() + 3, far.rkey());
    client.pair.post(batch);
    assertEquals(1, client.completions.await(done, LIMIT));
    assertEquals(Long.MAX_VALUE, done.workId(0));
    assertEquals(1000, done.byteCount(0));
    ByteBuffer back = ByteBuffer.allocate(1000);
    near.read(3, back);
    assertEquals(ByteBuffer.wrap(bytes, 3, 1000), back.flip());
  }

  @Test
  void countsInAPeersMemoryInOneStep() throws Exception {
    VerbsQueueSettings counting =
        new VerbsQueueSettings(
            4, VerbsAccess.READ_WRITE.and(VerbsAccess.REMOTE_ATOMIC), VerbsPath.DEFAULT);
    VerbsEnd[] ends =
        VerbsEnd.pair(RdmaDevices.clients().get(0), ASKING, RdmaDevices.servers().get(0), counting);
    try (VerbsEnd one = ends[0];
        VerbsEnd other = ends[1]) {
      VerbsMemoryRegion far = other.memory(64, counting.remoteAccess());
      VerbsMemoryRegion near = one.memory(64, VerbsAccess.LOCAL_WRITE);
      far.write(8, number(40));
      batch.fetchAndAdd(1, near, 0, far.address() + 8, far.rkey(), 2);
      batch.compareAndSwap(2, near, 8, far.address() + 8, far.rkey(), 42, -7);
      batch.compareAndSwap(3, near, 16, far.address() + 8, far.rkey(), 42, 99);
      one.pair.post(batch);
      for (int left = 3; left > 0; ) {
        int count = one.completions.await(done, LIMIT);
        assertTrue(count > 0);
        for (int i = 0; i < count; i++) {
          assertTrue(done.isSuccess(i), () -> done.failure(0).toString());
        }
        left -= count;
      }
      ByteBuffer before = ByteBuffer.allocate(24).order(ByteOrder.nativeOrder());
      near.read(0, before);
      before.flip();
      assertEquals(
          List.of(40L, 42L, -7L), List.of(before.getLong(), before.getLong(), before.getLong()));
      ByteBuffer now = ByteBuffer.allocate(8);
      far.read(8, now);
      assertEquals(number(-7), now.flip());
      assertThrows(
          IllegalArgumentException.class,
          () -> batch.fetchAndAdd(4, near, 0, far.address() + 4, far.rkey(), 1));
    }
  }

  private static ByteBuffer number(long value) {
    return ByteBuffer.allocate(8).order(ByteOrder.nativeOrder()).putLong(0, value);
  }

  @Test
  void aFullQueuePushesBack() throws Exception {
    VerbsMemoryRegion far = server.memory(4096, VerbsAccess.READ_WRITE);
    VerbsMemoryRegion near = client.memory(4096, VerbsAccess.LOCAL_WRITE);
    for (int i = 0; i < 64; i++) {
      batch.read(100 + i, near, i, 1, far.address(), far.rkey());
    }
    assertEquals(16, client.pair.post(batch));
    assertEquals(48, batch.size());
    assertEquals(0, client.pair.post(batch));
    assertEquals(16, client.pair.inFlight());
    int next = 100;
    while (next < 164) {
      int count = client.completions.await(done, LIMIT);
      assertTrue(count > 0);
      for (int i = 0; i < count; i++) {
        assertTrue(done.isSuccess(i));
        assertEquals(next++, done.workId(i));
      }
      client.pair.post(batch);
    }
    assertEquals(0, client.pair.inFlight());
  }

  @Test
  void tellsTheFirstErrorAheadOfTheFlushes() throws Exception {
    VerbsMemoryRegion far = server.memory(4096, VerbsAccess.REMOTE_READ);
    VerbsMemoryRegion near = client.memory(4096, VerbsAccess.LOCAL_WRITE);
    batch.read(1, near, 0, 8, far.address(), far.rkey());
    batch.read(2, near, 0, 8, far.address(), far.rkey() ^ 0x5555);
    batch.read(3, near, 0, 8, far.address(), far.rkey());
    client.pair.post(batch);
    int seen = 0;
    while (seen < 3) {
      int count = client.completions.poll(done, LIMIT);
      for (int i = 0; i < count; i++, seen++) {
        assertEquals(seen + 1, done.workId(i));
        assertEquals(seen == 0, done.isSuccess(i));
        if (seen == 1) {
          VerbsWorkException failure = done.failure(i);
          assertEquals(VerbsWorkStatus.REMOTE_ACCESS, failure.status());
          assertEquals(VerbsWorkStatus.Side.PEER, failure.status().side());
          assertTrue(
              failure.getMessage().contains("IBV_WC_REM_ACCESS_ERR (10)"), failure::toString);
        } else if (seen == 2) {
          VerbsWorkException failure = done.failure(i);
          assertEquals(VerbsWorkStatus.FLUSHED, failure.status());
          assertEquals(2, ((VerbsWorkException) failure.getCause()).workId());
        }
      }
    }
    assertEquals(2, client.pair.firstError().orElseThrow().workId());
  }

  @Test
  void writesThatAQueuePairOrARegionDoesNotAllowAreRefused() throws Exception {
    VerbsMemoryRegion far = server.memory(4096, VerbsAccess.REMOTE_READ);
    VerbsMemoryRegion near = client.memory(4096, VerbsAccess.LOCAL_WRITE);
    batch.write(1, near, 0, 8, far.address(), far.rkey());
    client.pair.post(batch);
    assertEquals(1, client.completions.poll(done, LIMIT));
    assertEquals(VerbsWorkStatus.Side.PEER, done.failure(0).status().side());
  }

  @Test
  void aPeersMemoryEndsWhereItsRegionDoes() throws Exception {
    VerbsMemoryRegion far = server.memory(4096, VerbsAccess.READ_WRITE);
    VerbsMemoryRegion near = client.memory(4096, VerbsAccess.LOCAL_WRITE);
    batch.read(1, near, 0, 8, far.address() + 4089, far.rkey());
    client.pair.post(batch);
    assertEquals(1, client.completions.poll(done, LIMIT));
    assertEquals(VerbsWorkStatus.REMOTE_ACCESS, done.failure(0).status());
  }

  /** A region of another domain has a key that this queue pair may not use. */
  @Test
  void aLocalKeyOfAnotherDomainIsThisSidesFault() throws Exception {
    VerbsMemoryRegion far = server.memory(4096, VerbsAccess.READ_WRITE);
    try (VerbsProtectionDomain other = VerbsProtectionDomain.open(client.device);
        VerbsMemoryRegion near = VerbsMemoryRegion.allocate(other, 4096, VerbsAccess.LOCAL_WRITE)) {
      batch.read(1, near, 0, 8, far.address(), far.rkey());
      client.pair.post(batch);
      assertEquals(1, client.completions.poll(done, LIMIT));
      assertEquals(VerbsWorkStatus.LOCAL_PROTECTION, done.failure(0).status());
      assertEquals(VerbsWorkStatus.Side.LOCAL, done.failure(0).status().side());
    }
  }

  @Test
  void memoryStaysWhileARequestNamesIt() throws Exception {
    VerbsMemoryRegion far = server.memory(4096, VerbsAccess.READ_WRITE);
    VerbsMemoryRegion near = client.memory(4096, VerbsAccess.LOCAL_WRITE);
    batch.read(1, near, 0, 8, far.address(), far.rkey());
    client.pair.post(batch);
    assertThrows(IllegalStateException.class, near::close);
    assertEquals(1, client.completions.poll(done, LIMIT));
    near.close();
    batch.read(2, near, 0, 8, far.address(), far.rkey());
    assertThrows(IllegalStateException.class, () -> client.pair.post(batch));
    assertEquals(0, client.pair.inFlight());
    batch.clear();
    assertThrows(
        IllegalStateException.class, () -> near.read(0, ByteBuffer.allocate(1)), "use after close");
  }

  /** Posted in parts that end in the middle of a region's requests. */
  @Test
  void eachRegionIsHeldUntilItsOwnRequestsAreOver() throws Exception {
    VerbsMemoryRegion far = server.memory(4096, VerbsAccess.READ_WRITE);
    VerbsMemoryRegion[] near = {
      client.memory(64, VerbsAccess.LOCAL_WRITE),
      client.memory(64, VerbsAccess.LOCAL_WRITE),
      client.memory(64, VerbsAccess.LOCAL_WRITE)
    };
    for (int i = 0; i < 42; i++) {
      batch.read(i, near[i / 14], i % 14, 1, far.address(), far.rkey());
    }
    assertEquals(16, client.pair.post(batch));
    assertThrows(IllegalStateException.class, near[0]::close);
    assertThrows(IllegalStateException.class, near[1]::close);
    int next = 0;
    while (next < 42) {
      int count = client.completions.await(done, LIMIT);
      assertTrue(count > 0);
      for (int i = 0; i < count; i++) {
        assertEquals(next++, done.workId(i));
      }
      client.pair.post(batch);
    }
    for (VerbsMemoryRegion region : near) {
      region.close();
    }
  }

  @Test
  void closingAQueuePairLetsItsMemoryGo() throws Exception {
    VerbsMemoryRegion far = server.memory(4096, VerbsAccess.READ_WRITE);
    VerbsMemoryRegion near = client.memory(4096, VerbsAccess.LOCAL_WRITE);
    batch.read(1, near, 0, 8, far.address(), far.rkey());
    client.pair.post(batch);
    client.pair.close();
    near.close();
    assertEquals(0, client.completions.poll(done, Duration.ofMillis(1)));
  }

  @Test
  void anAbortedQueuePairFlushes() throws Exception {
    server.close();
    VerbsMemoryRegion near = client.memory(4096, VerbsAccess.LOCAL_WRITE);
    client.pair.abort();
    batch.read(1, near, 0, 8, 4096, 1);
    client.pair.post(batch);
    assertEquals(1, client.completions.await(done, LIMIT));
    assertEquals(VerbsWorkStatus.FLUSHED, done.failure(0).status());
  }

  @Test
  void registersWhatJavaHas(@TempDir Path folder) throws Exception {
    Path file = Files.write(folder.resolve("weights"), new byte[] {1, 2, 3, 4, 5, 6, 7, 8});
    ByteBuffer direct = ByteBuffer.allocateDirect(64);
    try (FileChannel channel = open(file);
        BytePointer pointer = new BytePointer(64);
        VerbsMemoryRegion mapped =
            VerbsMemoryRegion.of(
                server.domain,
                channel.map(FileChannel.MapMode.PRIVATE, 0, 8),
                VerbsAccess.REMOTE_READ);
        VerbsMemoryRegion buffer =
            VerbsMemoryRegion.of(client.domain, direct, VerbsAccess.LOCAL_WRITE);
        VerbsMemoryRegion native_ =
            VerbsMemoryRegion.of(client.domain, pointer, VerbsAccess.LOCAL_WRITE)) {
      batch.read(1, buffer, 1, 8, mapped.address(), mapped.rkey());
      batch.read(2, native_, 0, 8, mapped.address(), mapped.rkey());
      client.pair.post(batch);
      for (int left = 2; left > 0; left -= client.completions.await(done, LIMIT)) {
        assertTrue(left > 0);
      }
      assertEquals(8, direct.get(8));
      assertEquals(8, pointer.get(7));
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> VerbsMemoryRegion.of(client.domain, ByteBuffer.allocate(8), VerbsAccess.LOCAL_WRITE));
    assertThrows(
        IllegalArgumentException.class,
        () ->
            VerbsMemoryRegion.of(
                client.domain, direct.asReadOnlyBuffer(), VerbsAccess.LOCAL_WRITE));
  }

  private static FileChannel open(Path file) throws IOException {
    return FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  @Test
  void aFileThatIsMappedReadOnlyIsServedOrRefusedWithTheReason(@TempDir Path folder)
      throws Exception {
    Path file = Files.write(folder.resolve("weights"), new byte[] {1, 2, 3, 4});
    try (FileChannel channel = FileChannel.open(file)) {
      ByteBuffer bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, 4);
      if (pinsForWriting()) {
        VerbsException e =
            assertThrows(
                VerbsException.class,
                () -> VerbsMemoryRegion.of(server.domain, bytes, VerbsAccess.REMOTE_READ).close());
        assertTrue(e.getMessage().contains("MapMode.PRIVATE"), e::getMessage);
        return;
      }
      try (VerbsMemoryRegion mapped =
          VerbsMemoryRegion.of(server.domain, bytes, VerbsAccess.REMOTE_READ)) {
        VerbsMemoryRegion near = client.memory(4, VerbsAccess.LOCAL_WRITE);
        batch.read(1, near, 0, 4, mapped.address(), mapped.rkey());
        client.pair.post(batch);
        assertEquals(1, client.completions.await(done, LIMIT));
        ByteBuffer back = ByteBuffer.allocate(4);
        near.read(0, back);
        assertEquals(ByteBuffer.wrap(new byte[] {1, 2, 3, 4}), back.flip());
      }
    }
  }

  /** As Linux does before 6.2, whatever a region is for. */
  private static boolean pinsForWriting() {
    String[] release = System.getProperty("os.version").split("\\D", 3);
    int major = Integer.parseInt(release[0]);
    return !NativeLibrary.IBVERBS.isEmulated()
        && (major < 6 || (major == 6 && Integer.parseInt(release[1]) < 2));
  }

  @Test
  void regionsAreLongerThanAnInt() throws Exception {
    long bytes = (4L << 30) + 3;
    VerbsMemoryRegion far;
    try {
      far = server.memory(bytes, VerbsAccess.READ_WRITE);
    } catch (VerbsException | OutOfMemoryError e) {
      Assumptions.abort("this machine has no 4 GiB to register: " + e);
      return;
    }
    far.write(bytes - 4, ByteBuffer.wrap(new byte[] {1, 2, 3, 4}));
    VerbsMemoryRegion near = client.memory(4, VerbsAccess.LOCAL_WRITE);
    batch.read(1, near, 0, 4, far.address() + bytes - 4, far.rkey());
    client.pair.post(batch);
    assertEquals(1, client.completions.await(done, LIMIT));
    assertTrue(done.isSuccess(0));
    ByteBuffer back = ByteBuffer.allocate(4);
    near.read(0, back);
    assertEquals(ByteBuffer.wrap(new byte[] {1, 2, 3, 4}), back.flip());
  }

  @Test
  void awaitingEndsByTimeWakeupAndInterrupt() throws Exception {
    assertEquals(0, client.completions.await(done, Duration.ofMillis(20)));
    Thread woken = new Thread(() -> awaitQuietly(Duration.ofMinutes(5)));
    woken.start();
    while (woken.isAlive()) {
      client.completions.wakeup();
      woken.join(1);
    }
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> client.completions.await(done, LIMIT));
    assertFalse(Thread.currentThread().isInterrupted());
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> client.completions.poll(done, LIMIT));
    Thread waiting = new Thread(() -> awaitQuietly(Duration.ofMinutes(5)));
    waiting.start();
    waiting.interrupt();
    waiting.join(5000);
    assertFalse(waiting.isAlive());
  }

  private void awaitQuietly(Duration limit) {
    try {
      client.completions.await(VerbsCompletions.allocate(1), limit);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void closesInOrderOnly() {
    assertThrows(IllegalStateException.class, client.device::close);
    assertThrows(IllegalStateException.class, client.domain::close);
    assertThrows(IllegalStateException.class, client.completions::close);
    client.pair.close();
    client.pair.close();
    assertThrows(IllegalStateException.class, () -> client.pair.abort());
    batch.clear();
    assertThrows(IllegalStateException.class, () -> client.pair.post(batch));
    assertTrue(client.prepared.isClosed());
  }

  @Test
  void requestsOutsideTheRegionAreRefusedAtOnce() {
    VerbsMemoryRegion near = client.memory(4096, VerbsAccess.LOCAL_WRITE);
    assertThrows(IndexOutOfBoundsException.class, () -> batch.read(1, near, 4090, 8, 4096, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> batch.read(1, near, -1, 8, 4096, 1));
    assertThrows(IllegalArgumentException.class, () -> batch.read(1, near, 0, 0, 4096, 1));
    assertTrue(batch.isEmpty());
  }

  @Test
  void completionQueuesCannotOverrun() {
    VerbsQueueSettings deep =
        new VerbsQueueSettings(4096, VerbsAccess.LOCAL_READ, VerbsPath.DEFAULT);
    assertThrows(
        IllegalStateException.class,
        () -> VerbsPreparedQueuePair.open(client.domain, client.completions, deep, 1).close());
  }
}
