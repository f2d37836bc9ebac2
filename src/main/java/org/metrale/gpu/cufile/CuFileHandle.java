package org.metrale.gpu.cufile;

import com.google.errorprone.annotations.MustBeClosed;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaStream;

/**
 * An open file, to be read into and written from host and device memory at any offset and size.
 *
 * <p>Device memory goes through cuFile where the policy allows it and it is there; else through
 * pinned host memory. Host memory goes by the file system's calls, with {@link
 * CuFilePolicy#FORCE_GDS} through cuFile. The aligned middle passes by the page cache and the
 * ragged ends do not; the alignment is asked from the file system. Where cuFile goes through host
 * memory itself, where a file is forced, and where memory and file are not aligned together, cuFile
 * is given the whole.
 *
 * <p><b>Ownership:</b> keeps its driver open, and its memory while a transfer runs.
 *
 * <p><b>Threading:</b> safe for any number of threads. <b>Blocking:</b> transfers wait for the
 * storage, at most as long as they are told, else {@link CuFileOptions#transferTimeout()}. A thread
 * of this package makes the call; one that has not returned in time goes on with it, and file and
 * memory cannot be closed until it has. Handing a call over costs microseconds, much for a few
 * kilobytes from the page cache: a driver whose transfers may take for ever ({@code
 * ChronoUnit.FOREVER}) makes those with registered memory in the caller's thread. An interrupt ends
 * the wait of calls with a time of their own; others keep it for later.
 */
public final class CuFileHandle extends NativeResource {
  private final CuFileDriver driver;
  private final OpenFile file;
  private final Mover mover;

  /** cuFile's handle; only where {@link #route} is not POSIX. */
  private final long handle;

  private final CuFileRoute route;
  private final GpuException fallbackCause;

  private CuFileHandle(
      CuFileDriver driver, OpenFile file, CuFilePolicy policy, Registration found) {
    super(driver);
    this.driver = driver;
    this.file = file;
    this.handle = found.handle();
    this.mover = new Mover(driver, file, policy, found.handle(), found.route());
    this.route = found.route();
    this.fallbackCause = found.problem();
  }

  /**
   * Opens a file.
   *
   * @param driver the driver
   * @param path the file
   * @param policy which ways are allowed
   * @param options {@code READ} (if none is given), {@code WRITE}, {@code CREATE}, {@code
   *     TRUNCATE_EXISTING}
   * @return the file; close it
   * @throws CuFileException if the file cannot be opened, or not in the forced way, or has not been
   *     within {@link CuFileOptions#callTimeout()}
   * @throws org.metrale.gpu.LibraryUnavailableException if the policy needs cuFile and there is
   *     none
   * @throws IllegalArgumentException if it is neither a regular file nor a block device, or an
   *     option is not known
   * @wraps {@code cuFileHandleRegister}; cufile.h, cuFile 1.0 and later
   */
  @MustBeClosed
  public static CuFileHandle open(
      CuFileDriver driver, Path path, CuFilePolicy policy, OpenOption... options) {
    Set<OpenOption> all = Set.of(options);
    return FileOpening.open(
        driver, () -> OpenFile.open(path, all), path.toString(), policy, CuFileHandle::new);
  }

  /**
   * Opens the file of a channel once more; the channel may be closed before this.
   *
   * @param driver the driver
   * @param channel a channel of the JDK's own
   * @param policy which ways are allowed
   * @return the file; close it
   * @throws CuFileException if the file cannot be opened in the forced way, or has not been within
   *     {@link CuFileOptions#callTimeout()}
   * @throws org.metrale.gpu.LibraryUnavailableException if the policy needs cuFile and there is
   *     none
   * @throws IllegalArgumentException if the channel is closed or has no descriptor, or it is
   *     neither a regular file nor a block device
   * @wraps {@code cuFileHandleRegister}; cufile.h, cuFile 1.0 and later
   */
  @MustBeClosed
  public static CuFileHandle open(CuFileDriver driver, FileChannel channel, CuFilePolicy policy) {
    return FileOpening.open(driver, () -> OpenFile.open(channel), "", policy, CuFileHandle::new);
  }

  /**
   * Which way transfers of device memory go.
   *
   * @return the way, as far as it can be told before
   */
  public CuFileRoute route() {
    return route;
  }

  /**
   * Why the file does not go through cuFile although the policy allows it.
   *
   * @return what was refused; empty if it does, or must not
   */
  public Optional<GpuException> fallbackCause() {
    return Optional.ofNullable(fallbackCause);
  }

  /**
   * What offsets and lengths must be multiples of to pass by the page cache.
   *
   * @return bytes, or 0 if the file system does not offer it
   */
  public long directAlignmentBytes() {
    return file.offsetAlignment();
  }

  /**
   * The kind of the file's file system.
   *
   * @return for example {@code ext4}
   */
  public String fileSystem() {
    return file.fileSystem();
  }

  /**
   * The file's size now.
   *
   * @return bytes
   * @throws CuFileException if the file system says no, or has not answered within {@link
   *     CuFileOptions#callTimeout()}
   */
  public long sizeBytes() {
    acquire();
    return answered(
        "fstat",
        driver.within(
            "fstat",
            file.where(-1, -1, ""),
            () -> CuFileCalls.fileSize(file.buffered()),
            this::release,
            size -> {}));
  }

  /**
   * Waits until what was written is on the storage.
   *
   * @throws CuFileException if the file system says no, or has not answered in time
   */
  public void sync() {
    acquire();
    Duration limit = mover.timeout();
    long answer =
        driver
            .late()
            .run(
                limit,
                () -> (long) CuFileCalls.fdatasync(file.buffered()),
                this::release,
                nothing -> {},
                waited ->
                    CuFileException.unfinished("fdatasync", file.where(-1, -1, ""), limit, waited));
    answered("fdatasync", answer);
  }

  /**
   * Reads into registered memory.
   *
   * @param target where the bytes go
   * @param targetOffsetBytes where in the buffer
   * @param fileOffsetBytes where in the file
   * @param lengthBytes how many bytes
   * @return what was done; fewer bytes where the file ends
   * @throws CuFileException if nothing could be read and the file has not ended
   * @throws IndexOutOfBoundsException if the range is not inside the buffer
   * @throws IllegalStateException if this file or the buffer is closed
   * @wraps {@code cuFileRead}; cufile.h, cuFile 1.0 and later
   */
  public CuFileTransfer read(
      CuFileBuffer target, long targetOffsetBytes, long fileOffsetBytes, long lengthBytes) {
    return transfer(false, target, targetOffsetBytes, fileOffsetBytes, lengthBytes);
  }

  /**
   * Writes from registered memory.
   *
   * @param source where the bytes come from
   * @param sourceOffsetBytes where in the buffer
   * @param fileOffsetBytes where in the file
   * @param lengthBytes how many bytes
   * @return what was done
   * @throws CuFileException if nothing could be written
   * @throws IndexOutOfBoundsException if the range is not inside the buffer
   * @throws IllegalStateException if this file or the buffer is closed
   * @wraps {@code cuFileWrite}; cufile.h, cuFile 1.0 and later
   */
  public CuFileTransfer write(
      CuFileBuffer source, long sourceOffsetBytes, long fileOffsetBytes, long lengthBytes) {
    return transfer(true, source, sourceOffsetBytes, fileOffsetBytes, lengthBytes);
  }

  /**
   * Reads into registered memory, within a time.
   *
   * @param target where the bytes go
   * @param targetOffsetBytes where in the buffer
   * @param fileOffsetBytes where in the file
   * @param lengthBytes how many bytes
   * @param timeout how long to wait at most
   * @return what was done; fewer bytes where the file ends
   * @throws CuFileException if nothing could be read and the file has not ended; with {@link
   *     CuFileException#isUnfinished()} if the time is over
   * @throws InterruptedException if the thread was interrupted while it waited; the read goes on
   * @throws IndexOutOfBoundsException if the range is not inside the buffer
   * @throws IllegalStateException if this file or the buffer is closed
   * @wraps {@code cuFileRead}; cufile.h, cuFile 1.0 and later
   */
  public CuFileTransfer read(
      CuFileBuffer target,
      long targetOffsetBytes,
      long fileOffsetBytes,
      long lengthBytes,
      Duration timeout)
      throws InterruptedException {
    check(target, targetOffsetBytes, fileOffsetBytes, lengthBytes);
    return mover.moveInterruptibly(
        new CuFileOperation.Work(false, lengthBytes, fileOffsetBytes, targetOffsetBytes),
        target.memory(),
        begin(target),
        timeout);
  }

  /**
   * Writes from registered memory, within a time.
   *
   * @param source where the bytes come from
   * @param sourceOffsetBytes where in the buffer
   * @param fileOffsetBytes where in the file
   * @param lengthBytes how many bytes
   * @param timeout how long to wait at most
   * @return what was done
   * @throws CuFileException if nothing could be written; with {@link
   *     CuFileException#isUnfinished()} if the time is over
   * @throws InterruptedException if the thread was interrupted while it waited; the write goes on
   * @throws IndexOutOfBoundsException if the range is not inside the buffer
   * @throws IllegalStateException if this file or the buffer is closed
   * @wraps {@code cuFileWrite}; cufile.h, cuFile 1.0 and later
   */
  public CuFileTransfer write(
      CuFileBuffer source,
      long sourceOffsetBytes,
      long fileOffsetBytes,
      long lengthBytes,
      Duration timeout)
      throws InterruptedException {
    check(source, sourceOffsetBytes, fileOffsetBytes, lengthBytes);
    return mover.moveInterruptibly(
        new CuFileOperation.Work(true, lengthBytes, fileOffsetBytes, sourceOffsetBytes),
        source.memory(),
        begin(source),
        timeout);
  }

  /**
   * Fills memory that is not registered.
   *
   * @param target where the bytes go, all of it
   * @param fileOffsetBytes where in the file
   * @return what was done; fewer bytes where the file ends
   * @throws CuFileException if nothing could be read and the file has not ended
   * @throws IllegalStateException if this file or the memory is closed
   * @wraps {@code cuFileRead}; cufile.h, cuFile 1.0 and later
   */
  public CuFileTransfer read(CuFileMemory target, long fileOffsetBytes) {
    return transfer(false, target, fileOffsetBytes);
  }

  /**
   * Writes memory that is not registered.
   *
   * @param source where the bytes come from, all of it
   * @param fileOffsetBytes where in the file
   * @return what was done
   * @throws CuFileException if nothing could be written
   * @throws IllegalStateException if this file or the memory is closed
   * @wraps {@code cuFileWrite}; cufile.h, cuFile 1.0 and later
   */
  public CuFileTransfer write(CuFileMemory source, long fileOffsetBytes) {
    return transfer(true, source, fileOffsetBytes);
  }

  /**
   * Fills a direct buffer from its position to its limit, and advances its position.
   *
   * @param target where the bytes go
   * @param fileOffsetBytes where in the file
   * @return what was done; fewer bytes where the file ends
   * @throws CuFileException if nothing could be read and the file has not ended
   * @throws IllegalArgumentException if the buffer is not direct
   */
  public CuFileTransfer read(ByteBuffer target, long fileOffsetBytes) {
    CuFileTransfer done = read(CuFileMemory.of(target), fileOffsetBytes);
    target.position(target.position() + (int) done.lengthBytes());
    return done;
  }

  /**
   * Writes a direct buffer from its position to its limit, and advances its position.
   *
   * @param source where the bytes come from
   * @param fileOffsetBytes where in the file
   * @return what was done
   * @throws CuFileException if nothing could be written
   * @throws IllegalArgumentException if the buffer is not direct
   */
  public CuFileTransfer write(ByteBuffer source, long fileOffsetBytes) {
    CuFileTransfer done = write(CuFileMemory.of(source), fileOffsetBytes);
    source.position(source.position() + (int) done.lengthBytes());
    return done;
  }

  /**
   * Queues a read on a stream.
   *
   * @param target registered memory; stays open until the operation is closed
   * @param targetOffsetBytes where in the buffer
   * @param fileOffsetBytes where in the file
   * @param lengthBytes how many bytes
   * @param stream the stream
   * @return the operation; close it when it is done
   * @throws CuFileException if cuFile refuses
   * @throws org.metrale.gpu.LibraryUnavailableException if the library has no such call
   * @wraps {@code cuFileReadAsync}; cufile.h, cuFile 1.4 and later
   */
  @MustBeClosed
  public CuFileOperation readAsync(
      CuFileBuffer target,
      long targetOffsetBytes,
      long fileOffsetBytes,
      long lengthBytes,
      CudaStream stream) {
    Objects.checkFromIndexSize(targetOffsetBytes, lengthBytes, target.memory().lengthBytes());
    requireOffset(fileOffsetBytes, lengthBytes);
    return CuFileOperation.start(
        this,
        target,
        stream,
        new CuFileOperation.Work(false, lengthBytes, fileOffsetBytes, targetOffsetBytes));
  }

  /**
   * Queues a write on a stream.
   *
   * @param source registered memory; stays open until the operation is closed
   * @param sourceOffsetBytes where in the buffer
   * @param fileOffsetBytes where in the file
   * @param lengthBytes how many bytes
   * @param stream the stream
   * @return the operation; close it when it is done
   * @throws CuFileException if cuFile refuses
   * @throws org.metrale.gpu.LibraryUnavailableException if the library has no such call
   * @wraps {@code cuFileWriteAsync}; cufile.h, cuFile 1.4 and later
   */
  @MustBeClosed
  public CuFileOperation writeAsync(
      CuFileBuffer source,
      long sourceOffsetBytes,
      long fileOffsetBytes,
      long lengthBytes,
      CudaStream stream) {
    Objects.checkFromIndexSize(sourceOffsetBytes, lengthBytes, source.memory().lengthBytes());
    requireOffset(fileOffsetBytes, lengthBytes);
    return CuFileOperation.start(
        this,
        source,
        stream,
        new CuFileOperation.Work(true, lengthBytes, fileOffsetBytes, sourceOffsetBytes));
  }

  /**
   * Closes the file.
   *
   * @throws CuFileException if that is not over within {@link CuFileOptions#callTimeout()}; the
   *     driver stays open then until it is
   */
  @Override
  protected void free() {
    driver.end(
        route != CuFileRoute.POSIX ? "cuFileHandleDeregister" : "close",
        file.where(-1, -1, ""),
        () -> {
          try {
            if (route != CuFileRoute.POSIX) {
              CuFileCalls.cuFileHandleDeregister(handle);
            }
          } finally {
            file.close();
          }
        });
  }

  @Override
  public String toString() {
    return "cuFile handle of " + file.path();
  }

  long handle() {
    return handle;
  }

  CuFileSpan span(CuFileMemory memory) {
    return mover.span(memory);
  }

  OpenFile file() {
    return file;
  }

  CuFileDriver driver() {
    return driver;
  }

  Duration transferTimeout() {
    return mover.timeout();
  }

  /** Of a transfer that cuFile was given whole. */
  long directBytes(CuFileOperation.Work work, long doneBytes) {
    return mover.directBytes(work, doneBytes);
  }

  CuFileException failed(String call, long answer, long offset, long lengthBytes) {
    return mover.failed(call, answer, offset, lengthBytes);
  }

  static void requireOffset(long fileOffsetBytes, long lengthBytes) {
    if (fileOffsetBytes < 0 || lengthBytes < 0 || fileOffsetBytes + lengthBytes < 0) {
      throw new IndexOutOfBoundsException(
          "no range of a file: offset " + fileOffsetBytes + ", length " + lengthBytes);
    }
  }

  private CuFileTransfer transfer(
      boolean write, CuFileBuffer buffer, long bufferOffset, long fileOffset, long lengthBytes) {
    check(buffer, bufferOffset, fileOffset, lengthBytes);
    if (mover.isLimited()) {
      return moveNow(
          buffer, new CuFileOperation.Work(write, lengthBytes, fileOffset, bufferOffset));
    }
    acquire();
    try {
      buffer.begin();
      try {
        return mover.moveHere(write, buffer.memory(), bufferOffset, fileOffset, lengthBytes);
      } finally {
        buffer.end();
      }
    } finally {
      release();
    }
  }

  private static void check(
      CuFileBuffer buffer, long bufferOffset, long fileOffset, long lengthBytes) {
    Objects.checkFromIndexSize(bufferOffset, lengthBytes, buffer.memory().lengthBytes());
    requireOffset(fileOffset, lengthBytes);
  }

  /** Keeps this and a buffer open until what it answers is run, once. */
  private Runnable begin(CuFileBuffer buffer) {
    acquire();
    boolean begun = false;
    try {
      buffer.begin();
      begun = true;
    } finally {
      if (!begun) {
        release();
      }
    }
    return () -> {
      buffer.end();
      release();
    };
  }

  @SuppressWarnings("MustBeClosed") // the mover closes the hold
  private CuFileTransfer transfer(boolean write, CuFileMemory memory, long fileOffset) {
    requireOffset(fileOffset, memory.lengthBytes());
    memory.requireOpen();
    return mover.move(
        new CuFileOperation.Work(write, memory.lengthBytes(), fileOffset, 0),
        memory,
        hold(memory)::close,
        mover.timeout());
  }

  @MustBeClosed
  private CuFileHold hold(CuFileMemory memory) {
    NativeResource[] owners = memory.owners();
    NativeResource[] all = new NativeResource[owners.length + 1];
    all[0] = this;
    System.arraycopy(owners, 0, all, 1, owners.length);
    return CuFileHold.open("a transfer", all);
  }

  private long answered(String call, long answer) {
    if (answer < 0) {
      throw CuFileException.ofNegative(call, answer, file.where(-1, -1, ""));
    }
    return answer;
  }

  /** A transfer at once, also of an operation or a batch. */
  CuFileTransfer moveNow(CuFileBuffer buffer, CuFileOperation.Work work) {
    return mover.move(work, buffer.memory(), begin(buffer), mover.timeout());
  }
}
