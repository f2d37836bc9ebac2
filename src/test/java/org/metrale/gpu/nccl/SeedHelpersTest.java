package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.function.Executable;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaEvent;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;

/** What the original's helpers do, by what stands for them here, on the software GPU host. */
@Tag("emulator")
class SeedHelpersTest {
  private final Map<String, Executable> rows = new TreeMap<>();

  SeedHelpersTest() {
    rows.put("create_stream", SeedHelpersTest::createStream);
    rows.put("create_event", SeedHelpersTest::createEvent);
    rows.put("record_event", SeedHelpersTest::recordAndWait);
    rows.put("stream_wait_event", SeedHelpersTest::recordAndWait);
    rows.put("destroy_event", SeedHelpersTest::destroy);
    rows.put("destroy_stream", SeedHelpersTest::destroy);
    rows.put("sync_stream", SeedHelpersTest::synchronize);
    rows.put("stream_ready", SeedHelpersTest::ready);
    rows.put("nccl_mem_alloc", SeedHelpersTest::memory);
    rows.put("nccl_mem_free", SeedHelpersTest::memory);
    rows.put("check", SeedHelpersTest::check);
    rows.put("NcclConfig::non_blocking", SeedHelpersTest::nonBlocking);
  }

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @TestFactory
  List<DynamicTest> everyHelperHasItsEquivalent() {
    return rows.entrySet().stream()
        .map(row -> DynamicTest.dynamicTest(row.getKey(), row.getValue()))
        .toList();
  }

  @Test
  void theTableOfTheMaintainersHasTheSameRows() throws Exception {
    Path file = Path.of(System.getProperty("metrale.basedir", ""), "ARCHITECTURE.md");
    String text = Files.readString(file);
    int begin = text.indexOf("| helper there |");
    String table = text.substring(begin, text.indexOf("\n\n", begin));
    assertEquals(
        new TreeSet<>(rows.keySet()),
        table
            .lines()
            .skip(2)
            .map(line -> line.split("`")[1])
            .collect(Collectors.toCollection(TreeSet::new)));
  }

  private static void createStream() {
    try (CudaContext context = CudaContext.openPrimary(0);
        CudaStream stream = CudaStream.create(context)) {
      assertTrue(stream.isNonBlocking());
    }
  }

  private static void createEvent() {
    try (CudaContext context = CudaContext.openPrimary(0);
        CudaEvent event = CudaEvent.create(context);
        CudaEvent timed = CudaEvent.createTimed(context);
        CudaEvent start = CudaEvent.createTimed(context);
        CudaStream stream = CudaStream.create(context)) {
      assertTrue(event.isDone());
      stream.record(start);
      stream.record(timed);
      assertTrue(timed.synchronize(Ranks.LIMIT));
      assertTrue(timed.elapsedSince(start).isPresent());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void recordAndWait() throws Exception {
    try (CudaContext context = CudaContext.openPrimary(0);
        CudaStream first = CudaStream.create(context);
        CudaStream second = CudaStream.create(context);
        CudaEvent event = CudaEvent.create(context);
        DeviceMemory memory = DeviceMemory.allocate(context, 1 << 20)) {
      first.fill(memory.buffer(), (byte) 1);
      first.record(event);
      second.waitFor(event);
      assertTrue(second.synchronize(Ranks.LIMIT));
      assertTrue(first.isIdle());
      assertTrue(event.isDone());
    }
  }

  private static void destroy() {
    try (CudaContext context = CudaContext.openPrimary(0)) {
      CudaStream stream = CudaStream.create(context);
      CudaEvent event = CudaEvent.create(context);
      event.close();
      event.close();
      assertThrows(IllegalStateException.class, () -> stream.record(event));
      stream.close();
      stream.close();
      assertThrows(IllegalStateException.class, stream::isIdle);
    }
  }

  private static void synchronize() throws Exception {
    try (CudaContext context = CudaContext.openPrimary(0);
        CudaStream stream = CudaStream.create(context);
        DeviceMemory memory = DeviceMemory.allocate(context, 1 << 20)) {
      stream.fill(memory.buffer(), (byte) 1);
      assertTrue(stream.synchronize(Ranks.LIMIT));
    }
  }

  private static void ready() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      Ranks.Rank first = ranks.get(0);
      long waiting = first.reduce();
      // It waits for the other rank.
      assertFalse(first.stream().isIdle());
      ranks.get(1).reduce();
      assertTrue(first.communicator().operation(waiting).await(Ranks.LIMIT));
      assertTrue(first.stream().synchronize(Ranks.LIMIT));
      assertTrue(first.stream().isIdle());
    }
  }

  private static void memory() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      NcclMemory memory = ranks.get(0).communicator().allocate(4096);
      assertEquals(4096, memory.buffer().lengthBytes());
      memory.close();
      memory.close();
      assertThrows(IllegalStateException.class, () -> memory.buffer().requireOpen());
    }
  }

  private static void check() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      NcclException refused = NcclCalls.failed("ncclAllReduce", 4, 0, "rank=0");
      assertEquals("ncclAllReduce", refused.call());
      assertTrue(refused.getMessage().contains("ncclInvalidArgument (4)"), refused.getMessage());
      NcclException unknown = NcclCalls.failed("ncclAllReduce", 4711, 0, "");
      assertEquals(4711, unknown.code());
      assertTrue(ranks.get(0).communicator().failure().isEmpty());
    }
  }

  private static void nonBlocking() throws Exception {
    NcclConfig config = NcclConfig.builder().initTimeout(Ranks.LIMIT).build();
    try (Ranks ranks = new Ranks(1, 64, config)) {
      assertFalse(ranks.get(0).communicator().state().isBlocking());
      assertTrue(ranks.get(0).communicator().operation(ranks.get(0).reduce()).await(Ranks.LIMIT));
    }
  }
}
