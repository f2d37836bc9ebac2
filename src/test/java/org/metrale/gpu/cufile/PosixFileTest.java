package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.OwnMount;

/** The file system's way, which needs no library of NVIDIA's. */
@Tag("native")
final class PosixFileTest {
  private static final int SIZE = 1_000_003;
  private static final Path MEMORY = Path.of("/dev/shm");

  @TempDir Path folder;
  private CuFileDriver driver;
  private byte[] bytes;
  private Path file;

  @BeforeEach
  @SuppressWarnings("MustBeClosed") // closed after each test
  void open() throws IOException {
    driver = CuFileDriver.open(CuFileOptions.defaults().withoutCuFile().withThreads(3, 64 << 10));
    bytes = new byte[SIZE];
    new Random(7).nextBytes(bytes);
    file = folder.resolve("data");
    Files.write(file, bytes);
  }

  @AfterEach
  void close() {
    driver.close();
  }

  private void assertReads(CuFileHandle handle, int fileOffset, int length, int memoryOffset) {
    ByteBuffer target = ByteBuffer.allocateDirect(length + memoryOffset + 8192);
    target.position(memoryOffset).limit(memoryOffset + length);
    CuFileTransfer done = handle.read(target, fileOffset);
    target.limit(target.capacity());
    int expected = Math.max(0, Math.min(length, SIZE - fileOffset));
    assertEquals(expected, done.lengthBytes(), "offset " + fileOffset + " length " + length);
    assertEquals(CuFileRoute.POSIX, done.route());
    for (int i = 0; i < expected; i++) {
      if (bytes[fileOffset + i] != target.get(memoryOffset + i)) {
        throw new AssertionError("byte " + i + " of offset " + fileOffset + " length " + length);
      }
    }
    assertEquals(0, target.get(memoryOffset + expected));
  }

  @Test
  @Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void refusesAPipeInsteadOfWaitingForItsOtherEnd() throws Exception {
    Path pipe = folder.resolve("pipe");
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () -> CuFileHandle.open(driver, pipe, CuFilePolicy.FORCE_POSIX));
    assertTrue(refusal.getMessage().contains("neither a regular file"), refusal.getMessage());
  }

  @Test
  void readsAnyOffsetSizeAndMemoryOffset() {
    Random random = new Random(20261130);
    try (CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT)) {
      for (int i = 0; i < 300; i++) {
        assertReads(
            handle, random.nextInt(SIZE + 9000), random.nextInt(300_000), random.nextInt(4097));
      }
      assertReads(handle, 0, SIZE, 0);
      assertReads(handle, SIZE, 10, 0);
      assertReads(handle, 4096, 0, 0);
    }
  }

  @Test
  void writesAnyOffsetSizeAndMemoryOffset() throws IOException {
    Random random = new Random(5);
    try (CuFileHandle handle =
        CuFileHandle.open(
            driver,
            file,
            CuFilePolicy.FORCE_POSIX,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
      for (int i = 0; i < 100; i++) {
        int offset = random.nextInt(SIZE - 300_000);
        int memoryOffset = random.nextInt(4097);
        byte[] part = new byte[random.nextInt(300_000)];
        random.nextBytes(part);
        ByteBuffer source = ByteBuffer.allocateDirect(part.length + memoryOffset);
        source.position(memoryOffset).put(part).position(memoryOffset);
        assertEquals(part.length, handle.write(source, offset).lengthBytes());
        System.arraycopy(part, 0, bytes, offset, part.length);
      }
      handle.sync();
      assertEquals(SIZE, handle.sizeBytes());
    }
    org.junit.jupiter.api.Assertions.assertArrayEquals(bytes, Files.readAllBytes(file));
  }

  @Test
  @DisabledIfSystemProperty(
      named = "metrale.slower",
      matches = ".+",
      disabledReason = "the statx of an emulated processor does not tell of direct transfers")
  void passesAlignedMiddleByThePageCache() {
    try (CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.FORCE_POSIX)) {
      int alignment = (int) handle.directAlignmentBytes();
      assumeTrue(alignment > 0, "direct transfers on " + handle.fileSystem());
      ByteBuffer target = ByteBuffer.allocateDirect(60_000 + 8192).alignedSlice(4096);
      target.position(100).limit(100 + 50_000);
      CuFileTransfer done = handle.read(target, 4096 + 100);
      assertEquals(50_000, done.lengthBytes());
      assertTrue(done.directBytes() > 50_000 - 2 * 4096, done.toString());
      assertEquals(0, done.directBytes() % alignment);
      target.position(101).limit(101 + 50_000);
      assertEquals(0, handle.read(target, 4096 + 100).directBytes());
    }
  }

  @Test
  void fallsBackOnFileSystemInMemory() throws IOException {
    assumeTrue(Files.isWritable(MEMORY), "a tmpfs at " + MEMORY);
    Path there = Files.createTempFile(MEMORY, "metrale", ".bin");
    try {
      Files.write(there, bytes);
      try (CuFileHandle handle = CuFileHandle.open(driver, there, CuFilePolicy.ALLOW_COMPAT)) {
        assertEquals("tmpfs", handle.fileSystem());
        assertReads(handle, 4096, 300_000, 0);
      }
      GdsStatus status = driver.status(there);
      assertTrue(status.toString().contains("tmpfs"), status.toString());
      assertFalse(status.reasons().isEmpty());
    } finally {
      Files.delete(there);
    }
  }

  @Test
  void readsKernelFileWithoutDirectTransfers() {
    Path version = Path.of("/proc/version");
    try (CuFileHandle handle = CuFileHandle.open(driver, version, CuFilePolicy.ALLOW_COMPAT)) {
      ByteBuffer target = ByteBuffer.allocateDirect(16);
      assertEquals(16, handle.read(target, 0).lengthBytes());
      assertEquals(0, handle.directAlignmentBytes());
    }
  }

  @Test
  void surfacesShortReadOfTruncatedFile() throws IOException {
    try (CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT);
        FileChannel other = FileChannel.open(file, StandardOpenOption.WRITE)) {
      other.truncate(500_001);
      ByteBuffer target = ByteBuffer.allocateDirect(SIZE);
      assertEquals(500_001, handle.read(target, 0).lengthBytes());
      assertEquals(500_001, target.position());
      assertEquals(0, handle.read(target, 600_000).lengthBytes());
    }
  }

  @Test
  void saysWhatFailedWhere() {
    try (CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT)) {
      ByteBuffer source = ByteBuffer.allocateDirect(10);
      CuFileException e = assertThrows(CuFileException.class, () -> handle.write(source, 20));
      assertEquals("EBADF", e.symbol());
      assertEquals(file.toString(), e.path());
      assertEquals(20, e.offsetBytes());
      assertEquals(10, e.lengthBytes());
      assertTrue(e.getMessage().contains("route=POSIX"), e.getMessage());
    }
  }

  @Test
  void saysWhichFileIsAbsent() {
    Path absent = folder.resolve("absent");
    CuFileException e =
        assertThrows(
            CuFileException.class,
            () -> CuFileHandle.open(driver, absent, CuFilePolicy.ALLOW_COMPAT).close());
    assertEquals("ENOENT", e.symbol());
    assertEquals(absent.toString(), e.path());
  }

  @Test
  void readsWhereNobodyMayWrite(@TempDir Path mounted) throws Exception {
    Path written = Files.write(mounted.resolve("data"), new byte[3000]);
    ForkedJvm.Result result =
        ForkedJvm.running(CuFileScenario.class, "read-only", written.toString())
            .by(OwnMount.readOnly(mounted))
            .run()
            .succeeded();
    String refused = result.value("write");
    assertTrue(refused.startsWith("CuFileException open: EROFS (30)"), refused);
    assertTrue(refused.contains("path=" + written), refused);
    assertEquals("3000", result.value("read"));
  }

  @Test
  void refusesToForceWhatCannotBeHad() {
    CuFileException e =
        assertThrows(
            CuFileException.class,
            () -> CuFileHandle.open(driver, file, CuFilePolicy.FORCE_GDS).close());
    assertEquals("CU_FILE_DRIVER_NOT_INITIALIZED", e.symbol());
  }

  @Test
  void refusesFolder() {
    assertThrows(
        IllegalArgumentException.class,
        () -> CuFileHandle.open(driver, folder, CuFilePolicy.ALLOW_COMPAT).close());
  }

  @Test
  void refusesHeapBufferAndWrongRange() {
    try (CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT);
        CuFileBuffer buffer =
            CuFileBuffer.register(driver, CuFileMemory.of(ByteBuffer.allocateDirect(64)))) {
      assertThrows(IllegalArgumentException.class, () -> handle.read(ByteBuffer.allocate(8), 0));
      assertThrows(IndexOutOfBoundsException.class, () -> handle.read(buffer, 60, 0, 8));
      assertThrows(IndexOutOfBoundsException.class, () -> handle.read(buffer, 0, -1, 8));
      assertThrows(
          IndexOutOfBoundsException.class, () -> handle.read(buffer, 0, Long.MAX_VALUE, 8));
      assertFalse(buffer.isRegistered());
    }
  }

  @Test
  void outlivesChannelItWasMadeFrom() throws IOException {
    FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
    try (CuFileHandle handle = CuFileHandle.open(driver, channel, CuFilePolicy.ALLOW_COMPAT)) {
      channel.close();
      assertReads(handle, 12_345, 100_000, 3);
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> CuFileHandle.open(driver, channel, CuFilePolicy.ALLOW_COMPAT).close());
  }

  @Test
  void closesInOrderOnly() {
    CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT);
    assertThrows(IllegalStateException.class, driver::close);
    handle.close();
    handle.close();
    assertThrows(IllegalStateException.class, handle::sizeBytes);
  }

  @Test
  void batchesWithoutCuFile() throws Exception {
    try (CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT);
        CuFileBuffer buffer =
            CuFileBuffer.register(driver, CuFileMemory.of(ByteBuffer.allocateDirect(8192)));
        CuFileBatch batch = CuFileBatch.create(driver, 2)) {
      batch.submit(
          java.util.List.of(
              new CuFileBatch.Request(handle, false, buffer, 0, 0, 4096),
              new CuFileBatch.Request(handle, true, buffer, 0, 0, 4096)));
      assertThrows(IllegalStateException.class, batch::close);
      java.util.List<CuFileBatch.Event> events = batch.poll(2, java.time.Duration.ZERO);
      assertEquals(2, events.size());
      assertEquals(4096, events.get(0).transfer().get().lengthBytes());
      assertEquals(CuFileBatch.Status.FAILED, events.get(1).status());
      assertTrue(events.get(1).problem().get().getMessage().contains("EBADF"));
    }
  }

  /** Threads that hang in one file's storage do not hold up the transfers of another. */
  @Test
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void sharesNothingWithThreadsThatHang() throws Exception {
    CountDownLatch inside = new CountDownLatch(3);
    CountDownLatch end = new CountDownLatch(1);
    long[] answers = new long[1];
    Thread hanging =
        new Thread(
            () ->
                answers[0] =
                    driver
                        .pool()
                        .share(
                            SIZE,
                            0,
                            (from, length) -> {
                              inside.countDown();
                              awaitThroughInterrupts(end);
                              return length;
                            }));
    hanging.start();
    try {
      inside.await();
      try (CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT)) {
        assertReads(handle, 0, SIZE, 0);
      }
    } finally {
      end.countDown();
      hanging.join();
    }
    assertEquals(SIZE, answers[0]);
  }

  private static void awaitThroughInterrupts(CountDownLatch latch) {
    boolean over = false;
    while (!over) {
      try {
        latch.await();
        over = true;
      } catch (InterruptedException e) {
        // Storage that hangs cares for no interrupt.
      }
    }
  }
}
