package org.metrale.gpu.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.cuda.cudart.CUctx_st;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.javacpp.IntPointer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.global.cuda;
import org.metrale.gpu.Allocation;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.SoftwareHost;

@Tag("emulator")
class CudaStreamTest {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private CudaContext context;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @BeforeEach
  void open() {
    context = CudaContext.openPrimary(0);
  }

  @AfterEach
  void close() {
    context.close();
  }

  @Test
  void copiesInEveryWorkerOfTheCommonPoolAtOnce() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CudaProbe.class, "copyInAllWorkers")
            .property("java.util.concurrent.ForkJoinPool.common.parallelism", 4)
            .run()
            .succeeded();
    assertEquals(List.of("true", "true", "true", "true"), result.values("copied"), result.output());
  }

  @Test
  void copiesThereAndBack() throws Exception {
    try (DeviceMemory memory = DeviceMemory.allocate(context, 64);
        HostMemory host = HostMemory.allocate(context, 64)) {
      ByteBuffer written = ByteBuffer.allocateDirect(64);
      for (int i = 0; i < 64; i++) {
        written.put(i, (byte) (3 * i));
      }
      assertTrue(context.copy(CudaBuffer.of(written), memory.buffer(), LIMIT));
      assertTrue(context.copy(memory.buffer(), host.buffer(), LIMIT));
      ByteBuffer read = ByteBuffer.allocate(64);
      host.read(0, read);
      assertEquals(written, read.flip());
    }
  }

  @Test
  void fillsElementsOfEverySize() throws Exception {
    try (CudaStream stream = CudaStream.create(context);
        DeviceMemory memory = DeviceMemory.allocate(context, 8)) {
      stream.fill(memory.buffer(0, 2), (byte) 0x11);
      stream.fill(memory.buffer(2, 2), (short) 0x2233);
      stream.fill(memory.buffer(4, 4), 0x44556677);
      assertTrue(stream.synchronize(LIMIT));
      ByteBuffer read = ByteBuffer.allocateDirect(8);
      assertTrue(context.copy(memory.buffer(), CudaBuffer.of(read), LIMIT));
      assertEquals(0x4455667722331111L, Long.reverseBytes(read.getLong(0)));
    }
  }

  @Test
  void queryRecordAndWaitAllocateNothing() throws Exception {
    try (CudaStream stream = CudaStream.create(context);
        CudaEvent event = CudaEvent.create(context)) {
      assertEquals(0, bytesOf100(stream::isIdle), "bytes of 100 queries");
      assertEquals(0, bytesOf100(() -> stream.record(event)), "bytes of 100 records");
      assertEquals(0, bytesOf100(() -> stream.waitFor(event)), "bytes of 100 waits");
      assertEquals(0, bytesOf100(event::isDone), "bytes of 100 queries of an event");
      assertTrue(stream.synchronize(LIMIT));
    }
  }

  private static long bytesOf100(Runnable call) throws Exception {
    return Allocation.fewest(
        20,
        () -> {
          for (int i = 0; i < 100; i++) {
            call.run();
          }
        });
  }

  @Test
  void refusesRangesThatDoNotFit() {
    try (DeviceMemory memory = DeviceMemory.allocate(context, 16);
        CudaStream stream = CudaStream.create(context)) {
      assertThrows(IndexOutOfBoundsException.class, () -> memory.buffer(8, 9));
      assertThrows(IndexOutOfBoundsException.class, () -> memory.buffer(-1, 4));
      assertThrows(
          IllegalArgumentException.class,
          () -> stream.copy(memory.buffer(0, 8), memory.buffer(8, 7)));
      assertThrows(
          IllegalArgumentException.class, () -> stream.fill(memory.buffer(1, 2), (short) 1));
      assertThrows(IllegalArgumentException.class, () -> CudaBuffer.of(ByteBuffer.allocate(4)));
      assertThrows(IllegalArgumentException.class, () -> DeviceMemory.allocate(context, 0));
    }
  }

  @Test
  void namesTheClosedObject() {
    CudaStream stream = CudaStream.create(context);
    CudaEvent event = CudaEvent.create(context);
    DeviceMemory memory = DeviceMemory.allocate(context, 4);
    event.close();
    assertTrue(
        assertThrows(IllegalStateException.class, () -> stream.record(event))
            .getMessage()
            .startsWith("event 0x"));
    stream.close();
    stream.close();
    assertTrue(
        assertThrows(IllegalStateException.class, stream::isIdle)
            .getMessage()
            .startsWith("stream 0x"));
    assertThrows(IllegalStateException.class, event::isDone);
    CudaBuffer buffer = memory.buffer();
    memory.close();
    assertThrows(IllegalStateException.class, buffer::requireOpen);
    try (CudaStream other = CudaStream.create(context)) {
      assertThrows(IllegalStateException.class, () -> other.fill(buffer, (byte) 0));
      assertThrows(IllegalStateException.class, () -> other.waitFor(event));
    }
  }

  @Test
  void keepsTheContextOpenForWhatIsMadeInIt() {
    CudaContext other = CudaContext.openPrimary(0);
    CudaStream stream = CudaStream.create(other);
    assertThrows(IllegalStateException.class, other::close);
    stream.close();
    other.close();
    assertThrows(IllegalStateException.class, () -> CudaStream.create(other));
  }

  @Test
  void ordersStreamsByEvents() throws Exception {
    try (CudaStream first = CudaStream.create(context);
        CudaStream second = CudaStream.create(context);
        CudaEvent event = CudaEvent.create(context);
        DeviceMemory memory = DeviceMemory.allocate(context, 1 << 20)) {
      first.fill(memory.buffer(), (byte) 1);
      first.record(event);
      second.waitFor(event);
      second.fill(memory.buffer(), (byte) 2);
      assertTrue(second.synchronize(LIMIT));
      assertTrue(event.isDone());
      ByteBuffer read = ByteBuffer.allocateDirect(1);
      context.copy(memory.buffer(100, 1), CudaBuffer.of(read), LIMIT);
      assertEquals(2, read.get(0));
    }
  }

  @Test
  void measuresTime() throws Exception {
    try (CudaStream stream = CudaStream.create(context);
        CudaEvent begin = CudaEvent.createTimed(context);
        CudaEvent end = CudaEvent.createTimed(context);
        CudaEvent untimed = CudaEvent.create(context)) {
      stream.record(begin);
      stream.record(untimed);
      stream.record(end);
      assertTrue(end.synchronize(LIMIT));
      assertFalse(end.elapsedSince(begin).orElseThrow().isNegative());
      CudaException failure = assertThrows(CudaException.class, () -> untimed.elapsedSince(begin));
      assertEquals(CudaResult.INVALID_HANDLE.code(), failure.code());
      assertEquals("cuEventElapsedTime", failure.call());
      assertEquals(0, failure.device());
      assertFalse(failure.contextLost());
    }
  }

  @Test
  void completesStagesWithoutBlocking() throws Exception {
    try (CudaStream stream = CudaStream.create(context);
        CudaEvent event = CudaEvent.create(context);
        DeviceMemory memory = DeviceMemory.allocate(context, 1 << 16)) {
      AtomicInteger done = new AtomicInteger();
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        all.add(
            stream
                .fill(memory.buffer(), (byte) i)
                .thenRun(done::incrementAndGet)
                .toCompletableFuture());
      }
      stream.record(event);
      event.completion().toCompletableFuture().get(10, TimeUnit.SECONDS);
      stream.completion().toCompletableFuture().get(10, TimeUnit.SECONDS);
      for (Future<?> one : all) {
        one.get(10, TimeUnit.SECONDS);
      }
      assertEquals(50, done.get());
    }
  }

  @Test
  void handsStreamsAndEventsToAndFroJavaCpp() {
    try (CudaStream stream = CudaStream.create(context, false, 0);
        CudaEvent event = CudaEvent.create(context);
        CudaStream borrowed = CudaStream.borrow(context, stream.pointer());
        CudaEvent same = CudaEvent.borrow(context, event.pointer())) {
      assertEquals(stream.address(), borrowed.address());
      borrowed.record(same);
      assertFalse(stream.isNonBlocking());
      stream.priority();
    }
    try (CudaContext borrowed = CudaContext.borrow(context.pointer())) {
      assertEquals(0, borrowed.device().cudaOrdinal());
    }
  }

  @Test
  void destroysWhatItAdopted() {
    CUstream_st stream = new CUstream_st();
    CUevent_st event = new CUevent_st();
    assertEquals(0, cuda.cuCtxPushCurrent(context.pointer()));
    try {
      assertEquals(0, cuda.cuStreamCreate(stream, 1));
      assertEquals(0, cuda.cuEventCreate(event, 2));
      try (CudaStream adopted = CudaStream.adopt(context, stream);
          CudaEvent same = CudaEvent.adopt(context, event)) {
        adopted.record(same);
        assertEquals(0, cuda.cuStreamQuery(stream) % CudaCalls.NOT_READY);
      }
      if (SoftwareHost.isSoftware()) {
        // A driver may crash on such a handle; the software GPU host looks it up.
        assertEquals(CudaResult.INVALID_HANDLE.code(), cuda.cuStreamQuery(stream));
        assertEquals(CudaResult.INVALID_HANDLE.code(), cuda.cuEventQuery(event));
      }
    } finally {
      cuda.cuCtxPopCurrent(new CUctx_st());
    }
  }

  @Test
  void leavesAnotherContextCurrent() throws Exception {
    SoftwareHost.requireDevices(2);
    try (CudaContext second = CudaContext.openPrimary(1);
        CudaStream stream = CudaStream.create(context);
        CudaEvent event = CudaEvent.create(context);
        DeviceMemory memory = DeviceMemory.allocate(context, 64)) {
      assertEquals(0, cuda.cuCtxPushCurrent(second.pointer()));
      try {
        stream.fill(memory.buffer(), (byte) 1);
        stream.record(event);
        assertTrue(event.synchronize(LIMIT));
        assertEquals(second.address(), CudaCalls.cuCtxGetCurrent());
      } finally {
        cuda.cuCtxPopCurrent(new CUctx_st());
      }
      assertEquals(0, CudaCalls.cuCtxGetCurrent());
    }
  }

  @Test
  void memoryCanBeClosedAsSoonAsItsStreamIsIdle() throws Exception {
    try (CudaStream stream = CudaStream.create(context)) {
      for (int i = 0; i < 500; i++) {
        DeviceMemory memory = DeviceMemory.allocate(context, 64);
        stream.fill(memory.buffer(), (byte) i);
        assertTrue(stream.synchronize(LIMIT));
        memory.close();
      }
    }
  }

  @Test
  void copiesBetweenDevices() throws Exception {
    SoftwareHost.requireDevices(2);
    try (CudaContext second = CudaContext.openPrimary(1);
        CudaStream stream = CudaStream.create(context);
        DeviceMemory from = DeviceMemory.allocate(context, 64);
        DeviceMemory to = DeviceMemory.allocate(second, 64)) {
      stream.fill(from.buffer(), (byte) 7);
      stream
          .copyPeer(from.buffer(), context, to.buffer(), second)
          .toCompletableFuture()
          .get(10, TimeUnit.SECONDS);
      ByteBuffer read = ByteBuffer.allocateDirect(64);
      assertTrue(second.copy(to.buffer(), CudaBuffer.of(read), LIMIT));
      assertEquals(7, read.get(63));
      assertThrows(
          IllegalArgumentException.class,
          () -> stream.copyPeer(from.buffer(), context, to.buffer(0, 8), second));
    }
  }

  @Test
  void takesJavaCppPointersFromTheirPositionToTheirLimit() throws Exception {
    try (DeviceMemory memory = DeviceMemory.allocate(context, 16);
        IntPointer ints = new IntPointer(1, 2, 3, 4, 5)) {
      CudaBuffer four = CudaBuffer.of(ints.position(1));
      assertEquals(16, four.lengthBytes());
      assertTrue(context.copy(four, memory.buffer(), LIMIT));
      ByteBuffer read = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder());
      assertTrue(context.copy(memory.buffer(), CudaBuffer.of(read), LIMIT));
      assertEquals(List.of(2, 5), List.of(read.getInt(0), read.getInt(12)));
    }
  }

  @Test
  void tellsOfStreamsThatDoNotOrder() {
    try (CudaStream legacy = CudaStream.legacyDefault(context)) {
      assertTrue(legacy.isIdle());
      assertFalse(context.hasUnorderedStreams());
      try (CudaStream other = CudaStream.create(context)) {
        assertTrue(other.isNonBlocking());
        assertTrue(context.hasUnorderedStreams());
      }
    }
    assertFalse(context.hasUnorderedStreams());
  }

  @Test
  void worksOnEveryDeviceFromAnyThread() throws Exception {
    SoftwareHost.requireDevices(2);
    ExecutorService pool = Executors.newFixedThreadPool(4);
    try (CudaContext second = CudaContext.openPrimary(1);
        CudaStream a = CudaStream.create(context);
        CudaStream b = CudaStream.create(second)) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        CudaContext mine = i % 2 == 0 ? context : second;
        CudaStream stream = i % 2 == 0 ? a : b;
        all.add(
            pool.submit(
                () -> {
                  try (DeviceMemory memory = DeviceMemory.allocate(mine, 128);
                      CudaEvent event = CudaEvent.create(mine)) {
                    stream.record(event);
                    assertTrue(event.synchronize(LIMIT));
                    CudaBuffer bare = CudaBuffer.of(memory.buffer().address(), 128);
                    assertEquals(mine.device().cudaOrdinal(), bare.location(mine).cudaOrdinal());
                  }
                  assertEquals(0, CudaCalls.cuCtxGetCurrent());
                  return null;
                }));
      }
      for (Future<?> one : all) {
        one.get(20, TimeUnit.SECONDS);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void closesUnderConcurrentUseWithoutHarm() throws Exception {
    for (int round = 0; round < 200; round++) {
      CudaStream stream = CudaStream.create(context);
      AtomicReference<Throwable> wrong = new AtomicReference<>();
      Thread user =
          new Thread(
              () -> {
                try {
                  while (true) {
                    stream.isIdle();
                  }
                } catch (IllegalStateException e) {
                  // Closed: the only way this may end.
                } catch (RuntimeException e) {
                  wrong.set(e);
                }
              });
      user.start();
      Thread.onSpinWait();
      stream.close();
      user.join(10_000);
      assertFalse(user.isAlive());
      assertEquals(null, wrong.get());
    }
  }

  @Test
  void knowsWhereMemoryIs() {
    try (DeviceMemory device = DeviceMemory.allocate(context, 8);
        DeviceMemory managed = DeviceMemory.allocateManaged(context, 8);
        HostMemory pinned = HostMemory.register(context, ByteBuffer.allocateDirect(4096))) {
      assertEquals(CudaLocation.Kind.DEVICE, bare(device.buffer()).location(context).kind());
      assertEquals(CudaLocation.Kind.MANAGED, managed.buffer().location(context).kind());
      assertEquals(CudaLocation.Kind.PINNED_HOST, bare(pinned.buffer()).location(context).kind());
      CudaLocation ordinary = CudaBuffer.of(ByteBuffer.allocateDirect(8)).location(context);
      assertEquals(CudaLocation.Kind.PAGEABLE_HOST, ordinary.kind());
      assertFalse(ordinary.isReachableByDevices());
    }
  }

  @Test
  void describesDevices() {
    SoftwareHost.requireDevices(2);
    assertTrue(CudaDriver.version() >= 12000);
    assertTrue(CudaDriver.deviceCount() >= 2);
    CudaDevice device = CudaDriver.device(1);
    assertFalse(device.name().isEmpty());
    assertTrue(device.memoryBytes() > 1L << 30);
    assertTrue(device.computeCapability().major() >= 8);
    assertEquals(device, CudaDriver.byUuid(device.uuid()).orElseThrow());
    assertEquals(device, CudaDriver.byPciAddress(device.pciAddress()).orElseThrow());
    assertNotEquals(device.uuid(), CudaDriver.device(0).uuid());
    assertTrue(context.memory().freeBytes() <= context.memory().totalBytes());
    assertTrue(context.streamPriorities().greatest() <= context.streamPriorities().least());
    assertEquals(
        SoftwareHost.isSoftware(), CudaLibrary.version().orElseThrow().endsWith("EMULATED"));
    assertThrows(IllegalArgumentException.class, () -> CudaDriver.device(99));
    CudaException tooMuch =
        assertThrows(CudaException.class, () -> DeviceMemory.allocate(context, 1L << 50));
    assertEquals(CudaResult.OUT_OF_MEMORY.symbol(), tooMuch.symbol());
    assertFalse(tooMuch.text().isEmpty());
  }

  private static CudaBuffer bare(CudaBuffer owned) {
    return CudaBuffer.of(owned.address(), owned.lengthBytes());
  }
}
