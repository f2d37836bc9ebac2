package org.metrale.gpu.cufile;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.metrale.gpu.CallLimit;
import org.metrale.gpu.LeavableCall;

/**
 * How the bytes of one file are moved: by cuFile or by the file system's calls, alone or shared,
 * and always by a thread that may be left behind.
 */
final class Mover {
  /** What cuFile itself asks of offsets, lengths and addresses for the way to a device. */
  private static final long DEVICE_STEP_BYTES = 4096;

  private final CuFileDriver driver;
  private final OpenFile file;
  private final CuFilePolicy policy;
  private final long handle;
  private final CuFileRoute route;
  private final boolean limited;

  /** What the middle of a transfer begins and ends at. */
  private final long readStep;

  /** The same of a write: ends and middle must not share a page. */
  private final long writeStep;

  Mover(CuFileDriver driver, OpenFile file, CuFilePolicy policy, long handle, CuFileRoute route) {
    this.driver = driver;
    this.file = file;
    this.policy = policy;
    this.handle = handle;
    this.route = route;
    this.readStep = Math.max(DEVICE_STEP_BYTES, file.offsetAlignment());
    this.writeStep = DirectSpan.step(true, readStep, CuFileCalls.pageBytes());
    this.limited = CallLimit.isLimited(timeout());
  }

  CuFileSpan span(CuFileMemory memory) {
    return new CuFileSpan(memory.contextAddress(), handle, memory.address());
  }

  CuFileException failed(String call, long answer, long offset, long lengthBytes) {
    return CuFileException.ofNegative(
        call, answer, file.where(offset, lengthBytes, "route=" + route));
  }

  Duration timeout() {
    return driver.options().transferTimeout();
  }

  /** What passed by the page cache of a transfer that cuFile was given whole. */
  long directBytes(CuFileOperation.Work work, long doneBytes) {
    boolean aligned =
        (work.fileOffsetBytes() | work.lengthBytes() | work.memoryOffsetBytes()) % DEVICE_STEP_BYTES
            == 0;
    return aligned && route != CuFileRoute.COMPAT ? doneBytes : 0;
  }

  /** Whether transfers have a time at all; if not the caller's thread makes them. */
  boolean isLimited() {
    return limited;
  }

  /**
   * Moves bytes in the caller's thread, however long it takes; the caller keeps both open. What
   * cuFile takes as it is makes no object but the answer.
   */
  CuFileTransfer moveHere(
      boolean write, CuFileMemory memory, long memoryOffset, long fileOffset, long lengthBytes) {
    boolean aligned = (fileOffset | lengthBytes) % (write ? writeStep : readStep) == 0;
    if (!isThroughCuFile(memory)
        || driver.pool().isShared(lengthBytes)
        || !(aligned || !isSplit(memory))) {
      Move move =
          new Move(new CuFileOperation.Work(write, lengthBytes, fileOffset, memoryOffset), memory);
      return move.result(move.run());
    }
    long done =
        write
            ? CuFileCalls.cuFileWrite(handle, memory, lengthBytes, fileOffset, memoryOffset)
            : CuFileCalls.cuFileRead(handle, memory, lengthBytes, fileOffset, memoryOffset);
    if (done < 0) {
      throw failed(write ? "cuFileWrite" : "cuFileRead", done, fileOffset, lengthBytes);
    }
    return new CuFileTransfer(done, route, aligned && route != CuFileRoute.COMPAT ? done : 0);
  }

  /**
   * Moves bytes between the file and a memory.
   *
   * @param after lets go of both; runs when the bytes have been moved, also if nobody waits for
   *     that any more
   * @throws CuFileException if it fails, or has not ended in time
   */
  CuFileTransfer move(
      CuFileOperation.Work work, CuFileMemory memory, Runnable after, Duration timeout) {
    Move move = new Move(work, memory);
    return move.result(
        driver
            .late()
            .run(
                timeout,
                move::run,
                after,
                nothing -> {},
                waited -> move.unfinished(timeout, waited)));
  }

  /** The same for those who may be interrupted: the transfer goes on. */
  CuFileTransfer moveInterruptibly(
      CuFileOperation.Work work, CuFileMemory memory, Runnable after, Duration timeout)
      throws InterruptedException {
    Move move = new Move(work, memory);
    LeavableCall<Long> call = driver.late().start(move::run, after, nothing -> {});
    boolean ended = false;
    try {
      ended = call.await(timeout) || !call.leave();
    } catch (InterruptedException e) {
      call.leave();
      throw e;
    }
    if (!ended) {
      throw move.unfinished(timeout, call.elapsed());
    }
    return move.result(call.answer());
  }

  private boolean isThroughCuFile(CuFileMemory memory) {
    return route != CuFileRoute.POSIX && (memory.isOnDevice() || policy == CuFilePolicy.FORCE_GDS);
  }

  /** A forced way has no other for its ends, and its own mode for compatibility no alignment. */
  private boolean isSplit(CuFileMemory memory) {
    return policy == CuFilePolicy.ALLOW_COMPAT
        && memory.isOnDevice()
        && (route == CuFileRoute.GDS || route == CuFileRoute.P2PDMA);
  }

  /** One transfer. */
  private final class Move {
    private final CuFileOperation.Work work;
    private final CuFileMemory memory;
    private final boolean throughCuFile;
    private final CuFileSpan span;
    private final AtomicLong direct = new AtomicLong();

    Move(CuFileOperation.Work work, CuFileMemory memory) {
      this.work = work;
      this.memory = memory;
      this.throughCuFile = isThroughCuFile(memory);
      this.span = span(memory);
    }

    private String call() {
      String way = throughCuFile ? "cuFile" : "p";
      return way
          + (throughCuFile ? (work.write() ? "Write" : "Read") : (work.write() ? "write" : "read"));
    }

    CuFileException unfinished(Duration limit, Duration waited) {
      return CuFileException.unfinished(
          call(),
          file.where(work.fileOffsetBytes(), work.lengthBytes(), "route=" + route + memory.place()),
          limit,
          waited);
    }

    CuFileTransfer result(long done) {
      CuFileRoute taken = throughCuFile ? route : CuFileRoute.POSIX;
      if (done < 0) {
        throw CuFileException.ofNegative(
            call(), done, file.where(work.fileOffsetBytes(), work.lengthBytes(), "route=" + taken));
      }
      return new CuFileTransfer(done, taken, direct.get());
    }

    /** All of it; answers bytes or a number below 0. */
    private long run() {
      return driver.pool().isShared(work.lengthBytes())
          ? driver.pool().share(work.lengthBytes(), work.fileOffsetBytes(), this::part)
          : part(0, work.lengthBytes());
    }

    private long part(long from, long lengthBytes) {
      long memoryOffset = work.memoryOffsetBytes() + from;
      long fileOffset = work.fileOffsetBytes() + from;
      return throughCuFile
          ? cuFile(memoryOffset, fileOffset, lengthBytes)
          : posix(memoryOffset, fileOffset, lengthBytes);
    }

    /** The aligned middle straight to the device, the ragged ends through the page cache. */
    private long cuFile(long memoryOffset, long fileOffset, long lengthBytes) {
      long step = work.write() ? writeStep : readStep;
      long head = (step - fileOffset % step) % step;
      long middle = Math.max(0, (lengthBytes - head) / step * step);
      if (middle == 0
          || middle == lengthBytes
          || !isSplit(memory)
          || (memory.address() + memoryOffset + head) % DEVICE_STEP_BYTES != 0) {
        return whole(memoryOffset, fileOffset, lengthBytes, middle == lengthBytes);
      }
      long done = head == 0 ? 0 : posix(memoryOffset, fileOffset, head);
      if (done < head) {
        return done;
      }
      long moved = whole(memoryOffset + head, fileOffset + head, middle, true);
      if (moved < middle) {
        return moved < 0 ? (done > 0 ? done : moved) : done + moved;
      }
      done += moved;
      long tail = lengthBytes - done;
      long rest = tail == 0 ? 0 : posix(memoryOffset + done, fileOffset + done, tail);
      return rest < 0 ? done : done + rest;
    }

    private long whole(long memoryOffset, long fileOffset, long lengthBytes, boolean aligned) {
      long done =
          work.write()
              ? CuFileCalls.cuFileWrite(span, lengthBytes, fileOffset, memoryOffset)
              : CuFileCalls.cuFileRead(span, lengthBytes, fileOffset, memoryOffset);
      if (done > 0 && aligned && route != CuFileRoute.COMPAT) {
        direct.addAndGet(done);
      }
      return done;
    }

    private long posix(long memoryOffset, long fileOffset, long lengthBytes) {
      CuFileMemory part = memory.slice(memoryOffset, lengthBytes);
      PosixTransfer transfer = new PosixTransfer(file, work.write());
      long done =
          part.isOnDevice()
              ? driver.bounce(part.context()).move(transfer, work.write(), part.range(), fileOffset)
              : transfer.move(part.address(), lengthBytes, fileOffset);
      direct.addAndGet(transfer.directBytes());
      return done;
    }
  }
}
