package org.metrale.gpu.cufile;

import com.google.errorprone.annotations.MustBeClosed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.PendingWork;
import org.metrale.gpu.cuda.CudaStream;

/**
 * One stream-ordered read or write, and what it needs: the file, the buffer, the stream and the
 * numbers that cuFile reads when the stream gets there.
 *
 * <p>Close it when it is done; before, closing is refused. Where the file does not go through
 * cuFile the transfer is made in the caller's thread, once the stream is idle, and is done when the
 * call returns.
 *
 * <p>If the call that queues it has not returned within {@link CuFileOptions#transferTimeout()},
 * its caller gets an exception instead of this object. What it uses stays open until cuFile is done
 * with it; {@link CuFileDriver#abandonedOperations()} counts such operations.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class CuFileOperation extends NativeResource {
  /** Not yet answered; no number of bytes and no code. */
  private static final long PENDING = Long.MIN_VALUE;

  private static final long ARGUMENT_BYTES = 4 * Long.BYTES;
  private static final int ANSWER = 3 * Long.BYTES;
  private static final Duration STREAM_TIMEOUT = Duration.ofMinutes(1);

  /**
   * Operations that nobody was given, since the call that makes them had not returned in time or
   * failed. Guarded by itself.
   */
  private static final List<CuFileOperation> LEFT = new ArrayList<>();

  private final CuFileHandle file;
  private final Work work;

  /** Four numbers in native memory, 0 if the transfer was made at once. */
  private final long arguments;

  private final CuFileTransfer madeAtOnce;

  /** Whether a thread is in the call that queues this. */
  private volatile boolean queueing;

  static {
    PendingWork.add(new Left());
  }

  private CuFileOperation(
      CuFileHandle file,
      Work work,
      long arguments,
      CuFileTransfer madeAtOnce,
      NativeResource... needs) {
    super(needs);
    this.file = file;
    this.work = work;
    this.arguments = arguments;
    this.madeAtOnce = madeAtOnce;
  }

  /** What to transfer. */
  record Work(boolean write, long lengthBytes, long fileOffsetBytes, long memoryOffsetBytes) {}

  /** Closes what was left behind once nothing uses it any more. */
  private static final class Left implements PendingWork.Source {
    @Override
    public String userOf(NativeResource memory) {
      return null; // each operation is a dependent of its memory
    }

    @Override
    public void settle() {
      synchronized (LEFT) {
        LEFT.removeIf(CuFileOperation::closeIfOver);
      }
    }
  }

  /** How many operations of a driver were left behind and are not over. */
  static int left(CuFileDriver driver) {
    synchronized (LEFT) {
      LEFT.removeIf(CuFileOperation::closeIfOver);
      return (int) LEFT.stream().filter(one -> one.file.driver() == driver).count();
    }
  }

  @MustBeClosed
  static CuFileOperation start(
      CuFileHandle file, CuFileBuffer buffer, CudaStream stream, Work work) {
    if (file.route() == CuFileRoute.POSIX) {
      return atOnce(file, buffer, stream, work);
    }
    long arguments = CuFileCalls.allocate(ARGUMENT_BYTES, Long.BYTES);
    CuFileCalls.store(arguments, work.lengthBytes);
    CuFileCalls.store(arguments + Long.BYTES, work.fileOffsetBytes);
    CuFileCalls.store(arguments + 2 * Long.BYTES, work.memoryOffsetBytes);
    CuFileCalls.store(arguments + ANSWER, 0); // nothing is pending before the call
    CuFileOperation out;
    try {
      out = new CuFileOperation(file, work, arguments, null, file, buffer, stream);
    } catch (RuntimeException | Error e) {
      CuFileCalls.free(arguments);
      throw e;
    }
    try {
      out.submit(buffer, stream);
      return out;
    } catch (RuntimeException | Error e) {
      out.leave();
      throw e;
    }
  }

  /** Closes this, at once or when what has not returned yet, and may still use all of it, has. */
  private void leave() {
    synchronized (LEFT) {
      if (!closeIfOver()) {
        LEFT.add(this);
      }
    }
  }

  private boolean closeIfOver() {
    if (queueing || CuFileCalls.load(arguments + ANSWER) == PENDING) {
      return false;
    }
    close();
    return true;
  }

  @MustBeClosed
  private static CuFileOperation atOnce(
      CuFileHandle file, CuFileBuffer buffer, CudaStream stream, Work work) {
    try (CuFileHold hold = CuFileHold.open("a transfer in its caller", file, buffer, stream)) {
      if (!stream.synchronize(STREAM_TIMEOUT)) {
        throw new IllegalStateException(hold + ": " + stream + " is busy after " + STREAM_TIMEOUT);
      }
      CuFileTransfer done = file.moveNow(buffer, work);
      return new CuFileOperation(file, work, 0, done, file, buffer, stream);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for " + stream, e);
    }
  }

  private void submit(CuFileBuffer buffer, CudaStream stream) {
    CuFileSpan span = file.span(buffer.memory());
    CuFileException.Where where =
        file.file()
            .where(
                work.fileOffsetBytes,
                work.lengthBytes,
                "route=" + file.route() + buffer.memory().place());
    Duration limit = file.transferTimeout();
    acquire();
    queueing = true;
    file.driver()
        .late()
        .run(
            limit,
            () -> submit(span, stream.address(), where),
            this::returned,
            nothing -> {},
            waited -> CuFileException.unfinished(call(), where, limit, waited));
  }

  private String call() {
    return work.write ? "cuFileWriteAsync" : "cuFileReadAsync";
  }

  private Object submit(CuFileSpan span, long stream, CuFileException.Where where) {
    boolean queued = false;
    CuFileCalls.store(arguments + ANSWER, PENDING);
    try {
      if (work.write) {
        CuFileCalls.cuFileWriteAsync(span, arguments, stream, where);
      } else {
        CuFileCalls.cuFileReadAsync(span, arguments, stream, where);
      }
      queued = true;
    } finally {
      if (!queued) {
        CuFileCalls.store(arguments + ANSWER, 0);
      }
    }
    return null;
  }

  private void returned() {
    release();
    queueing = false;
  }

  /**
   * Whether the transfer is over.
   *
   * @return true if it was done or has failed
   */
  public boolean isDone() {
    return arguments == 0 || using(() -> CuFileCalls.load(arguments + ANSWER)) != PENDING;
  }

  /**
   * What the transfer did.
   *
   * @return the result, empty while it is not over
   * @throws CuFileException if it has failed
   * @throws IllegalStateException if this is closed
   */
  public Optional<CuFileTransfer> result() {
    if (madeAtOnce != null) {
      return Optional.of(madeAtOnce);
    }
    long answer = using(() -> CuFileCalls.load(arguments + ANSWER));
    if (answer == PENDING) {
      return Optional.empty();
    }
    if (answer < 0) {
      throw file.failed(call(), answer, work.fileOffsetBytes, work.lengthBytes);
    }
    CuFileRoute route = file.route();
    return Optional.of(new CuFileTransfer(answer, route, file.directBytes(work, answer)));
  }

  /**
   * Waits until the transfer is over.
   *
   * <p><b>Blocking:</b> at most {@code timeout}.
   *
   * @param timeout how long to wait at most
   * @return the result, empty if the time ended first
   * @throws CuFileException if the transfer has failed
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public Optional<CuFileTransfer> await(Duration timeout) throws InterruptedException {
    return Backoff.await(this::isDone, timeout) ? result() : Optional.empty();
  }

  @Override
  protected void closeOwn() {
    if (arguments != 0 && CuFileCalls.load(arguments + ANSWER) == PENDING) {
      throw new IllegalStateException(this + " is not over");
    }
  }

  @Override
  protected void free() {
    if (arguments != 0) {
      CuFileCalls.free(arguments);
    }
  }

  @Override
  public String toString() {
    return (work.write ? "write of " : "read of ") + work.lengthBytes + " bytes, " + file;
  }
}
