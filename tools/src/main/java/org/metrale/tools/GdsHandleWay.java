package org.metrale.tools;

import java.nio.file.Path;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.cufile.CuFileBuffer;
import org.metrale.gpu.cufile.CuFileDriver;
import org.metrale.gpu.cufile.CuFileHandle;
import org.metrale.gpu.cufile.CuFilePolicy;
import org.metrale.gpu.cufile.CuFileRoute;
import org.metrale.gpu.cufile.CuFileTransfer;

/** Reads through a handle: by cuFile, or by the file system's calls past the page cache. */
final class GdsHandleWay implements GdsWay {
  private final String title;
  private final CuFileHandle handle;
  private final CuFileBuffer buffer;
  private final boolean cuFile;
  private CuFileRoute route;
  private boolean allDirect = true;
  private boolean anyDirect;

  private GdsHandleWay(String title, CuFileHandle handle, CuFileBuffer buffer, boolean cuFile) {
    this.title = title;
    this.handle = handle;
    this.buffer = buffer;
    this.cuFile = cuFile;
    this.route = handle.route();
  }

  /** By cuFile, whichever of its routes it takes. */
  static GdsHandleWay cuFile(CuFileDriver driver, Path file, GdsTarget target)
      throws ToolException {
    if (!driver.isCuFileOpen()) {
      throw new ToolException(
          driver.unavailabilityCause().map(Messages::brief).orElse("cuFile is not open"));
    }
    if (!target.isDevice()) {
      throw new ToolException("no GPU: " + target.noGpu());
    }
    GdsHandleWay way =
        open(GdsAdvice.CUFILE, driver, file, target, CuFilePolicy.ALLOW_COMPAT, true);
    if (way.handle.route() == CuFileRoute.POSIX) {
      String cause = way.handle.fallbackCause().map(Messages::brief).orElse("no reason given");
      way.close();
      throw new ToolException("cuFile refuses this file: " + cause);
    }
    return way;
  }

  /** By the file system's calls with O_DIRECT. */
  static GdsHandleWay direct(CuFileDriver driver, Path file, GdsTarget target)
      throws ToolException {
    GdsHandleWay way = open("POSIX direct", driver, file, target, CuFilePolicy.FORCE_POSIX, false);
    if (way.handle.directAlignmentBytes() == 0) {
      String fileSystem = way.handle.fileSystem();
      way.close();
      throw new ToolException(fileSystem + " does not offer O_DIRECT");
    }
    return way;
  }

  @SuppressWarnings("MustBeClosed") // close() closes both
  private static GdsHandleWay open(
      String title,
      CuFileDriver driver,
      Path file,
      GdsTarget target,
      CuFilePolicy policy,
      boolean cuFile) {
    CuFileHandle handle = CuFileHandle.open(driver, file, policy);
    try {
      return new GdsHandleWay(
          title, handle, CuFileBuffer.register(driver, target.memory()), cuFile);
    } catch (GpuException e) {
      handle.close();
      throw e;
    }
  }

  @Override
  public String title() {
    return title;
  }

  @Override
  public String route() {
    if (cuFile) {
      return route.toString();
    }
    return !anyDirect ? "page cache" : allDirect ? "O_DIRECT" : "O_DIRECT and page cache";
  }

  @Override
  public boolean isDirect() {
    // In its compatible mode cuFile does not tell.
    return cuFile
        ? route == CuFileRoute.GDS || route == CuFileRoute.P2PDMA
        : allDirect && anyDirect;
  }

  @Override
  public long read(long offsetBytes, int lengthBytes) {
    CuFileTransfer done = handle.read(buffer, 0, offsetBytes, lengthBytes);
    route = done.route();
    // The ragged end of a file cannot pass by the page cache; that alone is no flaw.
    long ragged = lengthBytes % Math.max(1, handle.directAlignmentBytes());
    anyDirect |= done.directBytes() > 0;
    allDirect &= done.directBytes() >= done.lengthBytes() - ragged;
    return done.lengthBytes();
  }

  @Override
  public void close() {
    buffer.close();
    handle.close();
  }
}
