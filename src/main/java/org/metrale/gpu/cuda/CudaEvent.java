package org.metrale.gpu.cuda;

import com.google.errorprone.annotations.MustBeClosed;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.NativeResource;

/**
 * A mark in a stream that passes when the work before it is done.
 *
 * <p><b>Ownership:</b> keeps its context open. Made here or adopted it is destroyed by close;
 * borrowed it is left as it is.
 *
 * <p><b>Threading:</b> safe for any number of threads. Closing waits for short calls in flight.
 */
public final class CudaEvent extends NativeResource {
  private static final int DRAIN_MILLIS = 1000;
  private static final double NANOS_A_MILLI = 1e6;

  private final CudaContext context;
  private final long handle;
  private final boolean owned;
  private final long slot;
  private final long generation;

  private CudaEvent(CudaContext context, long handle, boolean owned) {
    super(context);
    this.context = context;
    this.handle = handle;
    this.owned = owned;
    this.slot = CudaCalls.openSlot(context.handle(), handle);
    this.generation = CudaCalls.slotGeneration(slot);
  }

  /**
   * Makes an event without timing, the cheap sort.
   *
   * @param context where
   * @return the event; close it
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if the context is closed
   * @wraps {@code cuEventCreate}; cuda.h, CUDA 2.0 and later
   */
  @MustBeClosed
  public static CudaEvent create(CudaContext context) {
    return create(context, CudaCalls.EVENT_DISABLE_TIMING);
  }

  /**
   * Makes an event that remembers when it passed, for {@link #elapsedSince}.
   *
   * @param context where
   * @return the event; close it
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if the context is closed
   * @wraps {@code cuEventCreate}; cuda.h, CUDA 2.0 and later
   */
  @MustBeClosed
  public static CudaEvent createTimed(CudaContext context) {
    return create(context, 0);
  }

  @MustBeClosed
  private static CudaEvent create(CudaContext context, int flags) {
    return context.making(
        () -> {
          long handle = CudaCalls.cuEventCreate(context.handle(), context.ordinal(), flags);
          return new CudaEvent(context, handle, true);
        });
  }

  /**
   * Takes an event over from an existing program: close destroys it.
   *
   * @param context the context it was made in
   * @param event the event; from now on the result's
   * @return the event; close it
   * @throws IllegalArgumentException if the pointer is null
   * @throws IllegalStateException if the context is closed
   */
  @MustBeClosed
  public static CudaEvent adopt(CudaContext context, CUevent_st event) {
    return existing(context, event, true);
  }

  /**
   * Uses an event of an existing program: close leaves it as it is.
   *
   * @param context the context it was made in
   * @param event the event; borrowed, must stay until the result is closed
   * @return the event; close it
   * @throws IllegalArgumentException if the pointer is null
   * @throws IllegalStateException if the context is closed
   */
  @MustBeClosed
  public static CudaEvent borrow(CudaContext context, CUevent_st event) {
    return existing(context, event, false);
  }

  @MustBeClosed
  private static CudaEvent existing(CudaContext context, CUevent_st event, boolean owned) {
    CudaStream.requireOpen(context);
    long handle = CudaCalls.address(Objects.requireNonNull(event, "event"));
    if (handle == 0) {
      throw new IllegalArgumentException("the event is null");
    }
    return new CudaEvent(context, handle, owned);
  }

  /**
   * The event's context.
   *
   * @return the context
   */
  public CudaContext context() {
    return context;
  }

  /**
   * Whether the work before the newest mark is done.
   *
   * @return true also if the event was never recorded; false is no error
   * @throws CudaException if that work failed
   * @throws IllegalStateException if this event is closed
   * @wraps {@code cuEventQuery}; cuda.h, CUDA 2.0 and later
   */
  public boolean isDone() {
    int code = CudaCalls.cuEventQuery(slot, generation);
    if (code == CudaCalls.SUCCESS) {
      return true;
    }
    if (code == CudaCalls.NOT_READY) {
      return false;
    }
    throw failed("cuEventQuery", code, this);
  }

  /**
   * Waits until the event passes.
   *
   * <p><b>Blocking:</b> at most {@code timeout}; sleeps rather than spins when it is long.
   *
   * @param timeout how long to wait at most
   * @return false if the time ended first
   * @throws CudaException if the work before it failed
   * @throws IllegalStateException if this event is closed, also while waiting
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code cuEventQuery}; cuda.h, CUDA 2.0 and later
   */
  public boolean synchronize(Duration timeout) throws InterruptedException {
    return Backoff.await(this::isDone, timeout);
  }

  /**
   * Completes when the event passes; no thread of the program waits. The event must stay open and
   * must not be recorded again until then.
   *
   * @return completes normally, or with a {@link CudaException} if the work before it failed
   */
  public CompletionStage<Void> completion() {
    return Completions.watch(this::isDone, () -> {});
  }

  /**
   * The time from another event to this one, as the device measured it.
   *
   * @param start an event of the same context, made with timing like this one
   * @return the time, or empty while one of them has not passed
   * @throws CudaException if one of them was made without timing or never recorded
   * @throws IllegalStateException if one of them is closed
   * @wraps {@code cuEventElapsedTime}; cuda.h, CUDA 2.0 and later
   */
  public Optional<Duration> elapsedSince(CudaEvent start) {
    long packed = CudaCalls.cuEventElapsedTime(slot, generation, start.slot, start.generation);
    int code = (int) (packed >> 32);
    if (code == CudaCalls.NOT_READY) {
      return Optional.empty();
    }
    if (code != CudaCalls.SUCCESS) {
      throw failed("cuEventElapsedTime", code, start.isClosed() ? start : this);
    }
    float milliseconds = Float.intBitsToFloat((int) packed);
    return Optional.of(Duration.ofNanos(Math.round(milliseconds * NANOS_A_MILLI)));
  }

  /**
   * The event as a JavaCPP object, for a program that also calls CUDA itself.
   *
   * @return a pointer that owns nothing; not to be used after this is closed
   */
  public CUevent_st pointer() {
    return CudaCalls.event(handle);
  }

  /**
   * The event as a number, for the glue of a library that works on CUDA's events.
   *
   * @return the handle
   */
  public long address() {
    return handle;
  }

  @Override
  protected void free() {
    if (!CudaCalls.closeSlot(slot, DRAIN_MILLIS)) {
      throw new IllegalStateException(
          this + " is closed, but a call on it still runs; its native event was left as it is");
    }
    if (owned) {
      CudaCalls.cuEventDestroy(context.handle(), context.ordinal(), handle);
    }
    CudaCalls.recycleSlot(slot);
  }

  @Override
  public String toString() {
    return "event 0x" + Long.toHexString(handle) + " of " + context.device();
  }

  long slot() {
    return slot;
  }

  long generation() {
    return generation;
  }

  private RuntimeException failed(String call, int code, CudaEvent closed) {
    if (code == CudaCalls.CLOSED) {
      return new IllegalStateException(closed + " is closed");
    }
    return CudaCalls.failed(call, code, context.ordinal(), "");
  }
}
