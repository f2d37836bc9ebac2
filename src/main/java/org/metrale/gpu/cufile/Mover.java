package org.metrale.gpu.cufile;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How the bytes of one file are moved: by cuFile or by the file system's calls, alone or shared.
 */
final class Mover {
  private final CuFileDriver driver;
  private final OpenFile file;
  private final CuFilePolicy policy;
  private final long handle;
  private final CuFileRoute route;

  Mover(CuFileDriver driver, OpenFile file, CuFilePolicy policy, long handle, CuFileRoute route) {
    this.driver = driver;
    this.file = file;
    this.policy = policy;
    this.handle = handle;
    this.route = route;
  }

  CuFileSpan span(CuFileMemory memory) {
    return new CuFileSpan(memory.contextAddress(), handle, memory.address());
  }

  CuFileException failed(String call, long answer, long offset, long lengthBytes) {
    return CuFileException.ofNegative(
        call, answer, file.where(offset, lengthBytes, "route=" + route));
  }

  /** Moves bytes between the file and memory that the caller keeps open. */
  CuFileTransfer move(
      boolean write, CuFileMemory memory, long memoryOffset, long fileOffset, long lengthBytes) {
    boolean throughCuFile =
        route != CuFileRoute.POSIX && (memory.isOnDevice() || policy == CuFilePolicy.FORCE_GDS);
    return throughCuFile
        ? cuFile(write, memory, memoryOffset, fileOffset, lengthBytes)
        : posix(write, memory.slice(memoryOffset, lengthBytes), fileOffset);
  }

  private CuFileTransfer cuFile(
      boolean write, CuFileMemory memory, long memoryOffset, long fileOffset, long lengthBytes) {
    CuFileSpan span = span(memory);
    long done;
    if (driver.pool().isShared(lengthBytes)) {
      done =
          driver
              .pool()
              .share(
                  lengthBytes,
                  fileOffset,
                  (from, part) ->
                      cuFileOnce(write, span, part, fileOffset + from, memoryOffset + from));
    } else {
      done = cuFileOnce(write, span, lengthBytes, fileOffset, memoryOffset);
    }
    if (done < 0) {
      throw failed(write ? "cuFileWrite" : "cuFileRead", done, fileOffset, lengthBytes);
    }
    return new CuFileTransfer(done, route, route == CuFileRoute.COMPAT ? 0 : done);
  }

  private static long cuFileOnce(
      boolean write, CuFileSpan span, long lengthBytes, long fileOffset, long baseOffset) {
    return write
        ? CuFileCalls.cuFileWrite(span, lengthBytes, fileOffset, baseOffset)
        : CuFileCalls.cuFileRead(span, lengthBytes, fileOffset, baseOffset);
  }

  private CuFileTransfer posix(boolean write, CuFileMemory memory, long fileOffset) {
    long lengthBytes = memory.lengthBytes();
    AtomicLong direct = new AtomicLong();
    long done =
        driver.pool().isShared(lengthBytes)
            ? driver
                .pool()
                .share(
                    lengthBytes,
                    fileOffset,
                    (from, part) ->
                        posixOnce(write, memory.slice(from, part), fileOffset + from, direct))
            : posixOnce(write, memory, fileOffset, direct);
    if (done < 0) {
      throw CuFileException.ofNegative(
          write ? "pwrite" : "pread", done, file.where(fileOffset, lengthBytes, "route=POSIX"));
    }
    return new CuFileTransfer(done, CuFileRoute.POSIX, direct.get());
  }

  private long posixOnce(boolean write, CuFileMemory memory, long fileOffset, AtomicLong direct) {
    PosixTransfer transfer = new PosixTransfer(file, write);
    long done =
        memory.isOnDevice()
            ? driver.bounce(memory.context()).move(transfer, write, memory.range(), fileOffset)
            : transfer.move(memory.address(), memory.lengthBytes(), fileOffset);
    direct.addAndGet(transfer.directBytes());
    return done;
  }
}
