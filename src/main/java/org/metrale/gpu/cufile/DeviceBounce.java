package org.metrale.gpu.cufile;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.HostMemory;

/**
 * The way between a file and device memory without cuFile: pinned memory of one task's size and a
 * copy. A buffer is used again only after its copy is done.
 */
final class DeviceBounce {
  private static final Duration COPY_TIMEOUT = Duration.ofMinutes(1);

  private final CudaContext context;
  private final long taskBytes;
  private final CudaStream stream;
  private final Deque<HostMemory> idle = new ArrayDeque<>();
  private final List<HostMemory> all = new ArrayList<>();

  @SuppressWarnings("MustBeClosed") // closed by close(), with the driver
  DeviceBounce(CudaContext context, long taskBytes) {
    this.context = context;
    this.taskBytes = taskBytes;
    this.stream = CudaStream.create(context);
  }

  CudaContext context() {
    return context;
  }

  /** Answers bytes, or minus an errno if there were none. */
  long move(PosixTransfer file, boolean write, CudaBuffer device, long offset) {
    HostMemory bounce = take();
    long done = 0;
    while (done < device.lengthBytes()) {
      long wanted = Math.min(taskBytes, device.lengthBytes() - done);
      CudaBuffer part = device.slice(done, wanted);
      CudaBuffer host = bounce.buffer(0, wanted);
      if (write) {
        await(stream.copy(part, host).toCompletableFuture());
      }
      long moved = file.move(host.address(), wanted, offset + done);
      if (moved < 0) {
        giveBack(bounce);
        return done > 0 ? done : moved;
      }
      if (!write && moved > 0) {
        await(
            stream.copy(bounce.buffer(0, moved), device.slice(done, moved)).toCompletableFuture());
      }
      done += moved;
      if (moved < wanted) {
        break;
      }
    }
    giveBack(bounce);
    return done;
  }

  synchronized void close() {
    RuntimeException first = null;
    List<AutoCloseable> closing = new ArrayList<>(all);
    closing.add(stream);
    for (AutoCloseable one : closing) {
      try {
        one.close();
      } catch (Exception e) {
        first = first == null ? new IllegalStateException("closing " + one + " failed", e) : first;
      }
    }
    all.clear();
    idle.clear();
    if (first != null) {
      throw first;
    }
  }

  @SuppressWarnings("MustBeClosed") // closed by close(), with the driver
  private synchronized HostMemory take() {
    if (!idle.isEmpty()) {
      return idle.pop();
    }
    HostMemory fresh = HostMemory.allocate(context, taskBytes);
    all.add(fresh);
    return fresh;
  }

  private synchronized void giveBack(HostMemory bounce) {
    idle.push(bounce);
  }

  /**
   * The copy uses the bounce buffer, so an interrupt must not end the wait: it is kept for later.
   */
  private static void await(CompletableFuture<Void> copy) {
    boolean interrupted = false;
    long deadline = System.nanoTime() + COPY_TIMEOUT.toNanos();
    try {
      while (true) {
        try {
          copy.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
          return;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException problem
          ? problem
          : new CompletionException(e.getCause());
    } catch (TimeoutException e) {
      throw new IllegalStateException("a copy has not ended in " + COPY_TIMEOUT, e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
