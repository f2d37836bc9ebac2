package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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
}
