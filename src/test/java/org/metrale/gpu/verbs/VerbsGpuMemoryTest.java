package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.DeviceMemory;

/** A GPU's memory at the near end of a read, on hosts that can and cannot. */
@Tag("emulator")
@Timeout(60)
final class VerbsGpuMemoryTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final int BYTES = 1 << 16;

  @ParameterizedTest
  @CsvSource({
    "gpu.kind = h200, DMA_BUF",
    "gpu.kind = gb10, PINNED_HOST",
    "'gpu.kind = h200; ibv.dma_buf = false', PEER_MEMORY",
  })
  void isReachedInTheBestWayThereIs(String configuration, String way, @TempDir Path folder)
      throws Exception {
    String said =
        SoftwareHost.running(folder, configuration, Probe.class).run().succeeded().value("way");
    assertEquals(way, said);
  }

  /** Reads into a GPU's memory and says how. */
  static final class Probe {
    private Probe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      String[] names = VerbsDevice.list().toArray(String[]::new);
      VerbsQueueSettings serving =
          new VerbsQueueSettings(2, VerbsAccess.REMOTE_READ, VerbsPath.DEFAULT);
      VerbsEnd[] ends = VerbsEnd.pair(names[0], VerbsQueueSettings.DEFAULT, names[1], serving);
      try (VerbsEnd client = ends[0];
          VerbsEnd server = ends[1];
          CudaContext context = CudaContext.openPrimary(0);
          DeviceMemory device = DeviceMemory.allocate(context, BYTES);
          VerbsGpuMemory near =
              VerbsGpuMemory.register(client.domain, device, VerbsAccess.LOCAL_WRITE)) {
        assertThrows(IllegalStateException.class, device::close);
        VerbsMemoryRegion far = server.memory(BYTES, VerbsAccess.REMOTE_READ);
        far.write(5, ByteBuffer.wrap(new byte[] {1, 2, 3}));
        VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
        VerbsCompletions done = VerbsCompletions.allocate(1);
        batch.read(1, near.region(), 0, BYTES, far.address(), far.rkey());
        client.pair.post(batch);
        assertEquals(1, client.completions.await(done, LIMIT));
        assertTrue(done.isSuccess(0), () -> done.failure(0).toString());
        if (near.standIn().isPresent()) {
          context.copy(near.standIn().get().buffer(), device.buffer(), LIMIT);
        }
        ByteBuffer back = ByteBuffer.allocateDirect(BYTES);
        context.copy(device.buffer(), CudaBuffer.of(back), LIMIT);
        assertEquals(3, back.get(7));
        System.out.println("way=" + near.way());
      }
    }
  }

  /** Adapters would write to what is somebody else's by then. */
  @ParameterizedTest
  @CsvSource({
    "gpu.kind = h200, DMA_BUF",
    "gpu.kind = gb10, PINNED_HOST",
    "'gpu.kind = h200; ibv.dma_buf = false', PEER_MEMORY",
  })
  void nothingCanBeClosedThatIsRegisteredOrJustBeing(
      String configuration, String way, @TempDir Path folder) throws Exception {
    String slow =
        "fault = ibverbs.ibv_reg_mr delay=500; fault = ibverbs.ibv_reg_dmabuf_mr delay=500; ";
    String said =
        SoftwareHost.running(folder, slow + configuration, HeldProbe.class)
            .run()
            .succeeded()
            .value("way");
    assertEquals(way, said);
  }

  /** Tries to close memory at the wrong times. */
  static final class HeldProbe {
    private HeldProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // below
    public static void main(String[] arguments) throws Exception {
      try (VerbsDevice device = VerbsDevice.open(VerbsDevice.list().get(0));
          VerbsProtectionDomain domain = VerbsProtectionDomain.open(device);
          CudaContext context = CudaContext.openPrimary(0);
          DeviceMemory memory = DeviceMemory.allocate(context, BYTES)) {
        FutureTask<VerbsGpuMemory> making =
            new FutureTask<>(
                () -> VerbsGpuMemory.register(domain, memory, VerbsAccess.LOCAL_WRITE));
        Thread maker = new Thread(making);
        maker.start();
        while (!maker.getState().equals(Thread.State.TIMED_WAITING)) {
          Thread.onSpinWait();
        }
        assertThrows(IllegalStateException.class, memory::close);
        try (VerbsGpuMemory made = making.get()) {
          assertThrows(IllegalStateException.class, memory::close);
          if (made.standIn().isPresent()) {
            assertThrows(IllegalStateException.class, made.standIn().get()::close);
          }
          // As long as a request is in flight.
          made.region().pin();
          assertThrows(IllegalStateException.class, made::close);
          assertFalse(made.isClosed());
          assertThrows(IllegalStateException.class, memory::close);
          made.region().unpin();
          System.out.println("way=" + made.way());
        }
      }
    }
  }

  /**
   * A call that does not return has used the time up: nothing else is tried, on no other device,
   * and what the call was given stays open for it.
   */
  @ParameterizedTest
  @CsvSource({
    "gpu.kind = h200; fault = ibverbs.ibv_reg_dmabuf_mr hang, 1, false",
    "gpu.kind = h200; ibv.dma_buf = false, 0, false",
    "gpu.kind = gb10, 1, true",
  })
  void aDeviceThatNeverAnswersEndsTheSearch(
      String configuration, int kept, boolean closed, @TempDir Path folder) throws Exception {
    String hang = "fault = ibverbs.ibv_reg_mr hang; ";
    ForkedJvm.Result said =
        SoftwareHost.running(folder, hang + configuration, StuckProbe.class).run().succeeded();
    assertEquals("1 0", said.value("unfinished"), said::toString);
    assertEquals(kept, Integer.parseInt(said.value("descriptors")), said::toString);
    assertEquals(closed, Boolean.parseBoolean(said.value("closed")), said::toString);
  }

  /** Says how many calls are left behind, and what they keep. */
  static final class StuckProbe {
    private StuckProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // what a stuck device has cannot be closed
    public static void main(String[] arguments) throws Exception {
      List<VerbsDevice> devices =
          VerbsDevice.list().stream()
              .map(name -> VerbsDevice.open(name, Duration.ofMillis(300)))
              .toList();
      List<VerbsProtectionDomain> domains =
          devices.stream().map(VerbsProtectionDomain::open).toList();
      CudaContext context = CudaContext.openPrimary(0);
      DeviceMemory device = DeviceMemory.allocate(context, BYTES);
      long before = descriptors();
      VerbsException e =
          assertThrows(
              VerbsException.class,
              () -> VerbsGpuMemory.register(domains, device, VerbsAccess.LOCAL_WRITE).close());
      assertTrue(e.isUnfinished(), e::toString);
      System.out.println(
          "unfinished="
              + devices.stream()
                  .map(one -> String.valueOf(one.unfinishedCalls()))
                  .collect(Collectors.joining(" ")));
      System.out.println("descriptors=" + (descriptors() - before));
      try {
        device.close();
      } catch (IllegalStateException kept) {
        assertFalse(device.isClosed());
      }
      System.out.println("closed=" + device.isClosed());
      assertThrows(IllegalStateException.class, context::close);
    }

    /** Those that stand for memory of a GPU, or for pinned memory. */
    private static long descriptors() throws IOException {
      try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
        return all.filter(StuckProbe::isMemory).count();
      }
    }

    private static boolean isMemory(Path descriptor) {
      try {
        return Files.readSymbolicLink(descriptor).toString().contains("memfd:metrale-emulator");
      } catch (IOException e) {
        return false; // it was the listing's own
      }
    }
  }
}
