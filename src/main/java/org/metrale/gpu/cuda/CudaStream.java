package org.metrale.gpu.cuda;

import com.google.errorprone.annotations.MustBeClosed;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.NativeResource;

/**
 * A queue of work for a device, done in order.
 *
 * <p><b>Ownership:</b> keeps its context open. Made here or adopted it is destroyed by close;
 * borrowed it is left as it is. Closing does not wait for queued work, which goes on.
 *
 * <p><b>Threading:</b> safe for any number of threads. Closing waits for short calls in flight.
 */
public final class CudaStream extends NativeResource {
  private static final int DRAIN_MILLIS = 1000;
  private static final long LEGACY_DEFAULT = 1;

  private final CudaContext context;
  private final long handle;
  private final boolean owned;
  private final boolean nonBlocking;
  private final long slot;
  private final long generation;
  private final StreamWork work = new StreamWork(this);

  private CudaStream(CudaContext context, long handle, boolean owned, boolean nonBlocking) {
    super(context);
    this.context = context;
    this.handle = handle;
    this.owned = owned;
    this.nonBlocking = nonBlocking;
    this.slot = CudaCalls.openSlot(context.handle(), handle);
    this.generation = CudaCalls.slotGeneration(slot);
    context.streamOpened(handle == LEGACY_DEFAULT, nonBlocking);
  }

  /**
   * Makes a stream that does not wait for the legacy default stream, of ordinary priority.
   *
   * @param context where
   * @return the stream; close it
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if the context is closed
   * @wraps {@code cuStreamCreateWithPriority}; cuda.h, CUDA 5.5 and later
   */
  @MustBeClosed
  public static CudaStream create(CudaContext context) {
    return create(context, true, 0);
  }

  /**
   * Makes a stream.
   *
   * @param context where
   * @param nonBlocking whether it ignores the legacy default stream; if not, the two wait for each
   *     other
   * @param priority within {@link CudaContext#streamPriorities()}, smaller is more urgent; numbers
   *     outside are moved inside by the driver
   * @return the stream; close it
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if the context is closed
   * @wraps {@code cuStreamCreateWithPriority}; cuda.h, CUDA 5.5 and later
   */
  @MustBeClosed
  public static CudaStream create(CudaContext context, boolean nonBlocking, int priority) {
    int flags = nonBlocking ? CudaCalls.STREAM_NON_BLOCKING : 0;
    return context.making(
        () -> {
          long handle =
              CudaCalls.cuStreamCreateWithPriority(
                  context.handle(), context.ordinal(), flags, priority);
          return new CudaStream(context, handle, true, nonBlocking);
        });
  }

  /**
   * Takes a stream over from an existing program: close destroys it.
   *
   * @param context the context it was made in
   * @param stream the stream; from now on the result's
   * @return the stream; close it
   * @throws IllegalArgumentException if the pointer is null
   * @throws IllegalStateException if the context is closed
   */
  @MustBeClosed
  public static CudaStream adopt(CudaContext context, CUstream_st stream) {
    return existing(context, stream, true);
  }

  /**
   * Uses a stream of an existing program: close leaves it as it is.
   *
   * @param context the context it was made in
   * @param stream the stream; borrowed, must stay until the result is closed
   * @return the stream; close it
   * @throws IllegalArgumentException if the pointer is null; for stream 0 see {@link
   *     #legacyDefault}
   * @throws IllegalStateException if the context is closed
   */
  @MustBeClosed
  public static CudaStream borrow(CudaContext context, CUstream_st stream) {
    return existing(context, stream, false);
  }

  /**
   * The legacy default stream, which other programs call stream 0.
   *
   * <p>It waits for all streams of its context and they for it, except for those made non-blocking,
   * which it does <em>not</em> order against. Using both is logged once and shown by {@link
   * CudaContext#hasUnorderedStreams()}.
   *
   * @param context where
   * @return the stream; close it
   * @throws IllegalStateException if the context is closed
   */
  @MustBeClosed
  public static CudaStream legacyDefault(CudaContext context) {
    requireOpen(context);
    return new CudaStream(context, LEGACY_DEFAULT, false, false);
  }

  @MustBeClosed
  private static CudaStream existing(CudaContext context, CUstream_st stream, boolean owned) {
    requireOpen(context);
    long handle = CudaCalls.address(Objects.requireNonNull(stream, "stream"));
    if (handle == 0) {
      throw new IllegalArgumentException("the stream is null: use CudaStream.legacyDefault");
    }
    return new CudaStream(context, handle, owned, false);
  }

  static void requireOpen(CudaContext context) {
    if (context.isClosed()) {
      throw new IllegalStateException(context + " is closed");
    }
  }

  /**
   * The stream's context.
   *
   * @return the context
   */
  public CudaContext context() {
    return context;
  }

  /**
   * Whether everything queued so far is done.
   *
   * @return false while work is queued or running; that is no error
   * @throws CudaException if work on the stream failed
   * @throws IllegalStateException if this stream is closed
   * @wraps {@code cuStreamQuery}; cuda.h, CUDA 2.0 and later
   */
  public boolean isIdle() {
    int code = CudaCalls.cuStreamQuery(slot, generation);
    if (code == CudaCalls.SUCCESS) {
      return true;
    }
    if (code == CudaCalls.NOT_READY) {
      return false;
    }
    throw failed("cuStreamQuery", code, null);
  }

  /**
   * Marks this point of the stream.
   *
   * @param event passes when everything queued before is done; an earlier mark of it is forgotten
   * @throws CudaException if the driver refuses, for example for an event of another context
   * @throws IllegalStateException if this stream or the event is closed
   * @wraps {@code cuEventRecord}; cuda.h, CUDA 2.0 and later
   */
  public void record(CudaEvent event) {
    int code = CudaCalls.cuEventRecord(event.slot(), event.generation(), slot, generation);
    if (code != CudaCalls.SUCCESS) {
      throw failed("cuEventRecord", code, event);
    }
  }

  /**
   * Lets everything queued from now on wait until an event passes; the host does not wait.
   *
   * @param event an event of any stream and device; one that was never recorded is passed already
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if this stream or the event is closed
   * @wraps {@code cuStreamWaitEvent}; cuda.h, CUDA 3.2 and later
   */
  public void waitFor(CudaEvent event) {
    int code = CudaCalls.cuStreamWaitEvent(slot, generation, event.slot(), event.generation());
    if (code != CudaCalls.SUCCESS) {
      throw failed("cuStreamWaitEvent", code, event);
    }
  }

  /**
   * Waits until everything queued so far, and what is queued while waiting, is done.
   *
   * <p><b>Blocking:</b> at most {@code timeout}; sleeps rather than spins when it is long.
   *
   * @param timeout how long to wait at most
   * @return false if the time ended first
   * @throws CudaException if work on the stream failed
   * @throws IllegalStateException if this stream is closed, also while waiting
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code cuStreamQuery}; cuda.h, CUDA 2.0 and later
   */
  public boolean synchronize(Duration timeout) throws InterruptedException {
    return Backoff.await(this::isIdle, timeout);
  }

  /**
   * Completes when everything queued so far is done; no thread of the program waits.
   *
   * @return completes normally, or with a {@link CudaException} if work failed
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if this stream is closed
   * @wraps {@code cuEventRecord}; cuda.h, CUDA 2.0 and later
   */
  public CompletionStage<Void> completion() {
    Completions.prepare();
    return work.completion(context.takeEvent(), null);
  }

  /**
   * Queues a copy between any two ranges that CUDA can reach, host or device.
   *
   * <p><b>Ownership:</b> the memory stays open until the copy is done.
   *
   * <p><b>Blocking:</b> not at all if both ranges are pinned or on devices. The driver copies
   * pageable host memory while the caller waits, behind what the stream has: at most the bound of
   * {@link CudaContext#openPrimary(CudaDevice, Duration)}.
   *
   * @param source what to read
   * @param target where to write, as long as the source
   * @return completes when the copy is done
   * @throws IllegalArgumentException if the lengths differ
   * @throws CudaException if the driver refuses, or takes too long for pageable memory; then the
   *     copy goes on and keeps its memory open, but its place among later work is not known
   * @throws IllegalStateException if this stream or the memory is closed
   * @wraps {@code cuMemcpyAsync}; cuda.h, CUDA 4.0 and later
   */
  public CompletionStage<Void> copy(CudaBuffer source, CudaBuffer target) {
    Duration limit = context.lateWork().limit();
    return tryCopy(source, target, limit)
        .orElseThrow(
            () ->
                new CudaException(
                    "cuMemcpyAsync",
                    CudaResult.TIMEOUT,
                    "not back within " + limit + "; the copy goes on and keeps its memory open",
                    context.ordinal(),
                    ""));
  }

  /** A copy that is queued within a limit, or empty; then it goes on by itself. */
  Optional<CompletionStage<Void>> tryCopy(CudaBuffer source, CudaBuffer target, Duration limit) {
    return work.tryCopy(source, target, limit);
  }

  /**
   * Queues a copy between the memories of two devices, also where they cannot reach each other.
   *
   * @param source what to read
   * @param from the source's context
   * @param target where to write, as long as the source
   * @param to the target's context
   * @return completes when the copy is done
   * @throws IllegalArgumentException if the lengths differ
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if this stream, the contexts or the memory are closed
   * @wraps {@code cuMemcpyPeerAsync}; cuda.h, CUDA 4.0 and later
   */
  public CompletionStage<Void> copyPeer(
      CudaBuffer source, CudaContext from, CudaBuffer target, CudaContext to) {
    return work.copyPeer(source, from, target, to);
  }

  /**
   * Queues the filling of memory with a byte.
   *
   * @param target what to fill
   * @param value the byte
   * @return completes when that is done
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if this stream or the memory is closed
   * @wraps {@code cuMemsetD8Async}; cuda.h, CUDA 3.2 and later
   */
  public CompletionStage<Void> fill(CudaBuffer target, byte value) {
    return work.fill(target, value, Byte.BYTES);
  }

  /**
   * Queues the filling of memory with a 16-bit value.
   *
   * @param target what to fill; a multiple of 2 bytes, at a multiple of 2
   * @param value the value
   * @return completes when that is done
   * @throws IllegalArgumentException if the range is not a multiple of 2 bytes
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if this stream or the memory is closed
   * @wraps {@code cuMemsetD16Async}; cuda.h, CUDA 3.2 and later
   */
  public CompletionStage<Void> fill(CudaBuffer target, short value) {
    return work.fill(target, value, Short.BYTES);
  }

  /**
   * Queues the filling of memory with a 32-bit value.
   *
   * @param target what to fill; a multiple of 4 bytes, at a multiple of 4
   * @param value the value
   * @return completes when that is done
   * @throws IllegalArgumentException if the range is not a multiple of 4 bytes
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if this stream or the memory is closed
   * @wraps {@code cuMemsetD32Async}; cuda.h, CUDA 3.2 and later
   */
  public CompletionStage<Void> fill(CudaBuffer target, int value) {
    return work.fill(target, value, Integer.BYTES);
  }

  /**
   * The stream's priority.
   *
   * @return smaller is more urgent
   * @throws CudaException if the driver fails
   * @throws IllegalStateException if this stream is closed
   * @wraps {@code cuStreamGetPriority}; cuda.h, CUDA 5.5 and later
   */
  public int priority() {
    long answer = CudaCalls.cuStreamGetPriority(slot, generation);
    return (int) (answered("cuStreamGetPriority", answer) - (1L << 31));
  }

  /**
   * Whether the stream ignores the legacy default stream.
   *
   * @return what the driver says
   * @throws CudaException if the driver fails
   * @throws IllegalStateException if this stream is closed
   * @wraps {@code cuStreamGetFlags}; cuda.h, CUDA 5.5 and later
   */
  public boolean isNonBlocking() {
    long answer = CudaCalls.cuStreamGetFlags(slot, generation);
    return (answered("cuStreamGetFlags", answer) & CudaCalls.STREAM_NON_BLOCKING) != 0;
  }

  /**
   * The stream as a JavaCPP object, for a program that also calls CUDA itself.
   *
   * @return a pointer that owns nothing; not to be used after this is closed
   */
  public CUstream_st pointer() {
    return CudaCalls.stream(handle);
  }

  /**
   * The stream as a number, for the glue of a library that works on CUDA's streams.
   *
   * @return the handle
   */
  public long address() {
    return handle;
  }

  @Override
  protected void free() {
    context.streamClosed(handle == LEGACY_DEFAULT, nonBlocking);
    if (!CudaCalls.closeSlot(slot, DRAIN_MILLIS)) {
      throw new IllegalStateException(
          this + " is closed, but a call on it still runs; its native stream was left as it is");
    }
    if (owned) {
      context
          .lateWork()
          .run(
              "cuStreamDestroy",
              "the native stream stays",
              () -> CudaCalls.cuStreamDestroy(context.handle(), context.ordinal(), handle));
    }
    CudaCalls.recycleSlot(slot);
  }

  @Override
  public String toString() {
    return "stream 0x" + Long.toHexString(handle) + " of " + context.device();
  }

  /**
   * What guards this stream against being destroyed under a call, for the glue of a library that
   * works on CUDA's streams. Not for programs.
   *
   * @return the address of its slot
   */
  public long slot() {
    return slot;
  }

  /**
   * Which use of the slot is this stream's. Not for programs.
   *
   * @return the generation
   */
  public long generation() {
    return generation;
  }

  private long answered(String call, long answer) {
    if (answer == CudaCalls.CLOSED) {
      throw failed(call, CudaCalls.CLOSED, null);
    }
    if (answer < 0) {
      throw failed(call, (int) (-1000 - answer), null);
    }
    return answer;
  }

  /** The exception for a code; which object is closed if one is. */
  RuntimeException failed(String call, int code, CudaEvent event) {
    if (code == CudaCalls.CLOSED) {
      Object closed = event != null && event.isClosed() ? event : this;
      return new IllegalStateException(closed + " is closed");
    }
    return CudaCalls.failed(call, code, context.ordinal(), "");
  }
}
