package org.metrale.gpu.hardware;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaDevice;
import org.metrale.gpu.cuda.CudaDriver;
import org.metrale.gpu.cuda.CudaEvent;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cuda.HostMemory;
import org.metrale.gpu.cufile.CuFileDriver;
import org.metrale.gpu.cufile.CuFileHandle;
import org.metrale.gpu.cufile.CuFileMemory;
import org.metrale.gpu.cufile.CuFilePolicy;
import org.metrale.gpu.cufile.CuFileTransfer;
import org.metrale.gpu.nccl.NcclCommunicator;
import org.metrale.gpu.nccl.NcclConfig;
import org.metrale.gpu.nccl.NcclDataType;
import org.metrale.gpu.nccl.NcclRedOp;
import org.metrale.gpu.nvml.Nvml;
import org.metrale.gpu.nvml.NvmlDevice;
import org.metrale.gpu.nvml.NvmlReading;

/**
 * The same on every device of this machine, whatever stands behind it: GPUs, or the software GPU
 * host where the library path names it.
 */
@Tag("gpu")
final class HardwareTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int BYTES = 8 << 20;

  @TempDir Path folder;

  @BeforeAll
  static void devices() {
    assumeTrue(
        NativeLibrary.CUDA.isAvailable(), "no CUDA driver: " + NativeLibrary.CUDA.attempts());
    assumeTrue(CudaDriver.deviceCount() > 0, "no device");
  }

  @Test
  void memoryKeepsWhatIsCopied() throws Exception {
    for (CudaDevice device : CudaDriver.devices()) {
      byte[] bytes = new byte[BYTES];
      new Random(device.cudaOrdinal()).nextBytes(bytes);
      try (CudaContext context = CudaContext.openPrimary(device);
          DeviceMemory memory = DeviceMemory.allocate(context, BYTES);
          HostMemory pinned = HostMemory.allocate(context, BYTES)) {
        pinned.write(0, ByteBuffer.wrap(bytes));
        assertTrue(context.copy(pinned.buffer(), memory.buffer(), LIMIT));
        assertTrue(context.fill(pinned.buffer(), (byte) 0, LIMIT));
        assertTrue(context.copy(memory.buffer(), pinned.buffer(), LIMIT));
        ByteBuffer read = ByteBuffer.allocate(BYTES);
        pinned.read(0, read);
        assertArrayEquals(bytes, read.array(), device.toString());
      }
    }
  }

  @Test
  void eventsAreInTheOrderOfTheirStream() throws Exception {
    try (CudaContext context = CudaContext.openPrimary(0);
        CudaStream stream = CudaStream.create(context);
        DeviceMemory memory = DeviceMemory.allocate(context, BYTES);
        CudaEvent before = CudaEvent.createTimed(context);
        CudaEvent after = CudaEvent.createTimed(context)) {
      stream.record(before);
      CompletionStage<Void> filled = stream.fill(memory.buffer(), (byte) 7);
      stream.record(after);
      assertTrue(after.synchronize(LIMIT));
      assertTrue(before.isDone());
      // Until then the memory is in use.
      filled.toCompletableFuture().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
      assertFalse(after.elapsedSince(before).orElseThrow().isNegative());
      assertTrue(stream.isIdle());
    }
  }

  @Test
  void allDevicesAddUp() throws Exception {
    int count = BYTES / Float.BYTES;
    List<AutoCloseable> opened = new ArrayList<>();
    try {
      List<CudaContext> contexts = new ArrayList<>();
      for (CudaDevice device : CudaDriver.devices()) {
        CudaContext context = CudaContext.openPrimary(device);
        opened.add(context);
        contexts.add(context);
      }
      List<CudaStream> streams = new ArrayList<>();
      List<DeviceMemory> memory = new ArrayList<>();
      for (int rank = 0; rank < contexts.size(); rank++) {
        CudaStream stream = CudaStream.create(contexts.get(rank));
        opened.add(stream);
        streams.add(stream);
        DeviceMemory mine = DeviceMemory.allocate(contexts.get(rank), BYTES);
        opened.add(mine);
        memory.add(mine);
        stream
            .fill(mine.buffer(), Float.floatToRawIntBits(rank + 1))
            .toCompletableFuture()
            .get(LIMIT.toSeconds(), TimeUnit.SECONDS);
      }
      List<NcclCommunicator> all =
          NcclCommunicator.joinLocal(
              contexts, NcclConfig.builder().initTimeout(LIMIT).operationTimeout(LIMIT).build());
      opened.addAll(all);
      List<Long> operations = new ArrayList<>();
      for (int rank = 0; rank < all.size(); rank++) {
        CudaBuffer buffer = memory.get(rank).buffer();
        operations.add(
            all.get(rank)
                .allReduce(
                    buffer, buffer, count, NcclDataType.FLOAT32, NcclRedOp.SUM, streams.get(rank)));
      }
      float expected = all.size() * (all.size() + 1) / 2f;
      for (int rank = 0; rank < all.size(); rank++) {
        assertTrue(all.get(rank).operation(operations.get(rank)).await(LIMIT));
        ByteBuffer host = ByteBuffer.allocateDirect(BYTES).order(ByteOrder.nativeOrder());
        assertTrue(contexts.get(rank).copy(memory.get(rank).buffer(), CudaBuffer.of(host), LIMIT));
        for (int i = 0; i < count; i++) {
          assertEquals(expected, host.getFloat(i * Float.BYTES), "rank " + rank + ", " + i);
        }
      }
    } finally {
      for (int i = opened.size() - 1; i >= 0; i--) {
        opened.get(i).close();
      }
    }
  }

  @Test
  void everyDeviceTellsWhoItIs() {
    assumeTrue(NativeLibrary.NVML.isAvailable(), "no NVML");
    try (Nvml nvml = Nvml.open()) {
      assertFalse(nvml.driverVersion().isEmpty());
      for (CudaDevice device : CudaDriver.devices()) {
        NvmlDevice same = nvml.cudaDevice(device);
        NvmlReading<String> name = same.identity().name();
        assertEquals(device.name(), assertInstanceOf(NvmlReading.Value.class, name).value());
        assertInstanceOf(NvmlReading.Value.class, same.uuid());
        assertFalse(
            same.thermals().celsius() instanceof NvmlReading.Failed, same.thermals().toString());
      }
    }
  }

  @Test
  void readsFilesIntoDeviceMemory() throws Exception {
    byte[] bytes = new byte[BYTES];
    new Random(5).nextBytes(bytes);
    Path file = Files.write(folder.resolve("data"), bytes);
    try (CudaContext context = CudaContext.openPrimary(0);
        DeviceMemory memory = DeviceMemory.allocate(context, BYTES);
        CuFileDriver driver = CuFileDriver.open();
        CuFileHandle handle =
            CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT, StandardOpenOption.READ)) {
      CuFileTransfer transfer = handle.read(CuFileMemory.of(memory), 0);
      assertEquals(BYTES, transfer.lengthBytes());
      System.out.println("read by " + transfer.route());
      ByteBuffer host = ByteBuffer.allocateDirect(BYTES);
      assertTrue(context.copy(memory.buffer(), CudaBuffer.of(host), LIMIT));
      byte[] read = new byte[BYTES];
      host.get(read);
      assertArrayEquals(bytes, read);
    }
  }
}
