package org.metrale.tools;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.cufile.CuFileDriver;

/**
 * Reads a file in every pattern by every way. A way that fails is reported, not counted as slow.
 */
final class GdsBench {
  private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs");

  private final Path file;
  private final long fileBytes;
  private final CuFileDriver driver;
  private final GdsTarget target;
  private final Runnable afterEach;

  GdsBench(Path file, long fileBytes, CuFileDriver driver, GdsTarget target, Runnable afterEach) {
    this.file = file;
    this.fileBytes = fileBytes;
    this.driver = driver;
    this.target = target;
    this.afterEach = afterEach;
  }

  /** Opens a way, or says why it is not to be had. */
  private interface Opener {
    GdsWay open() throws IOException, ToolException;
  }

  private record Candidate(String title, Opener opener) {}

  private List<Candidate> candidates() {
    return List.of(
        new Candidate(GdsAdvice.CUFILE, () -> GdsHandleWay.cuFile(driver, file, target)),
        new Candidate("POSIX direct", () -> GdsHandleWay.direct(driver, file, target)),
        new Candidate("POSIX buffered", () -> new GdsBufferedWay(file, target)));
  }

  int ways() {
    return candidates().size();
  }

  List<GdsResult> run(GdsPattern pattern) throws InterruptedException {
    List<GdsResult> out = new ArrayList<>();
    for (Candidate candidate : candidates()) {
      try (GdsWay way = candidate.opener.open()) {
        out.add(measure(way, pattern));
      } catch (GpuException | IOException | ToolException e) {
        out.add(GdsResult.missing(candidate.title, pattern.title(), Messages.brief(e)));
      }
    }
    return out;
  }

  private GdsResult measure(GdsWay way, GdsPattern pattern)
      throws IOException, ToolException, InterruptedException {
    int reads = pattern.offsets().length;
    if (reads == 0) {
      return GdsResult.missing(
          way.title(),
          pattern.title(),
          "the file is shorter than one read of " + Quantities.bytes(pattern.blockBytes()));
    }
    check(way, pattern, 0);
    check(way, pattern, reads - 1);
    // There the page cache is the storage.
    boolean inMemory = IN_MEMORY.contains(driver.status(file).fileSystem());
    boolean dropped = PageCache.drop(file);
    long[] nanos = new long[reads];
    long bytes = 0;
    for (int i = 0; i < reads; i++) {
      int length = pattern.lengthAt(i, fileBytes);
      long start = System.nanoTime();
      long got = way.read(pattern.offsets()[i], length);
      nanos[i] = System.nanoTime() - start;
      requireWhole(got, length, pattern.offsets()[i]);
      bytes += got;
      afterEach.run();
    }
    long total = Arrays.stream(nanos).sum();
    Arrays.sort(nanos);
    return new GdsResult(
        way.title(),
        pattern.title(),
        way.route(),
        !inMemory && (dropped || way.isDirect()),
        bytes * 1e9 / Math.max(1, total),
        nanos[reads / 2],
        nanos[reads - 1],
        "");
  }

  /** Compares what a way delivers with what a plain program reads. */
  private void check(GdsWay way, GdsPattern pattern, int read)
      throws IOException, ToolException, InterruptedException {
    long offset = pattern.offsets()[read];
    int length = pattern.lengthAt(read, fileBytes);
    requireWhole(way.read(offset, length), length, offset);
    ByteBuffer expected = ByteBuffer.allocateDirect(length);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      while (expected.hasRemaining()) {
        if (channel.read(expected, offset + expected.position()) < 0) {
          throw new ToolException("the file became shorter while it was read");
        }
      }
    }
    int differs = expected.flip().mismatch(target.contents(length));
    if (differs >= 0) {
      throw new ToolException("wrong data at offset " + (offset + differs) + " of the file");
    }
  }

  private static void requireWhole(long got, int length, long offset) throws ToolException {
    if (got != length) {
      throw new ToolException(got + " of " + length + " bytes came at offset " + offset);
    }
  }
}
