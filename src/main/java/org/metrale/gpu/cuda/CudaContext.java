package org.metrale.gpu.cuda;

import com.google.errorprone.annotations.MustBeClosed;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.bytedeco.cuda.cudart.CUctx_st;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeResource;

/**
 * A device's primary context, the one that NCCL and the CUDA runtime use too.
 *
 * <p>Nobody has to make it current: each call does that for itself within one native call and
 * restores what was current. So thread pools and virtual threads need no care.
 *
 * <p><b>Ownership:</b> what is made in a context keeps it open. Opening the same device twice
 * counts. Closing waits for the device, within the bound for calls without a deadline.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class CudaContext extends NativeResource {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.cuda");

  private final CudaDevice device;
  private final long handle;
  private final boolean retained;
  private final LateWork lateWork;
  private final ArrayDeque<CudaEvent> idleEvents = new ArrayDeque<>();
  private final AtomicInteger nonBlockingStreams = new AtomicInteger();
  private final AtomicInteger defaultStreams = new AtomicInteger();

  /** Serves blocking copies; made when first needed, closed with this. */
  private CudaStream copyStream;

  private CudaContext(CudaDevice device, long handle, boolean retained, LateWork lateWork) {
    this.device = device;
    this.handle = handle;
    this.retained = retained;
    this.lateWork = lateWork;
  }

  /**
   * Opens a device's primary context, making it if nobody has.
   *
   * <p><b>Blocking:</b> at most a minute, as all calls in the context that have no deadline of
   * their own.
   *
   * @param device the device
   * @return the context; close it
   * @throws CudaException if the driver refuses, for example for want of memory, or takes too long
   * @wraps {@code cuDevicePrimaryCtxRetain}; cuda.h, CUDA 7.0 and later
   */
  @MustBeClosed
  public static CudaContext openPrimary(CudaDevice device) {
    return openPrimary(device, CudaDriver.CALL_TIMEOUT);
  }

  /**
   * The same with another bound for calls that have no deadline of their own: opening and closing
   * the context, allocating, pinning and freeing memory, queueing copies of memory that is not
   * pinned. One that takes longer is a {@link CudaException} with {@link CudaResult#TIMEOUT}; the
   * call goes on, and the exception says what is true until it comes back.
   *
   * @param device the device
   * @param callTimeout how long such a call may take
   * @return the context; close it
   * @throws IllegalArgumentException if the timeout is not positive
   * @throws CudaException if the driver refuses, for example for want of memory, or takes too long
   * @wraps {@code cuDevicePrimaryCtxRetain}; cuda.h, CUDA 7.0 and later
   */
  @MustBeClosed
  public static CudaContext openPrimary(CudaDevice device, Duration callTimeout) {
    Objects.requireNonNull(device, "device");
    if (callTimeout.isNegative() || callTimeout.isZero()) {
      throw new IllegalArgumentException("a timeout of " + callTimeout + " is no time");
    }
    LateWork calls = new LateWork(device.cudaOrdinal(), callTimeout);
    long handle =
        calls.run(
            "cuDevicePrimaryCtxRetain",
            "there is no context",
            () -> CudaCalls.cuDevicePrimaryCtxRetain(device.handle()),
            made -> CudaCalls.cuDevicePrimaryCtxRelease(device.handle()));
    return new CudaContext(device, handle, true, calls);
  }

  /**
   * Opens the primary context of a device.
   *
   * @param cudaOrdinal the device's ordinal
   * @return the context; close it
   * @throws IllegalArgumentException if there is no such device
   * @throws LibraryUnavailableException if the library is not here
   * @throws CudaException if the driver refuses
   * @wraps {@code cuDevicePrimaryCtxRetain}; cuda.h, CUDA 7.0 and later
   */
  @MustBeClosed
  public static CudaContext openPrimary(int cudaOrdinal) {
    return openPrimary(CudaDriver.device(cudaOrdinal));
  }

  /**
   * Uses a context of an existing program; closing the result leaves the context as it is.
   *
   * @param context the context; borrowed, must stay until the result is closed
   * @return the same context as an object of this package; close it
   * @throws LibraryUnavailableException if the library is not here
   * @throws CudaException if the driver does not know the context
   * @wraps {@code cuCtxGetDevice}; cuda.h, CUDA 2.0 and later
   */
  @MustBeClosed
  public static CudaContext borrow(CUctx_st context) {
    Objects.requireNonNull(context, "context");
    CudaDriver.initialize();
    long handle = CudaCalls.address(context);
    CudaDevice device = CudaDriver.device(CudaCalls.cuCtxGetDevice(handle));
    LateWork calls = new LateWork(device.cudaOrdinal(), CudaDriver.CALL_TIMEOUT);
    return new CudaContext(device, handle, false, calls);
  }

  /**
   * The context's device.
   *
   * @return the device
   */
  public CudaDevice device() {
    return device;
  }

  /**
   * How much memory the device has left.
   *
   * @return free and total bytes
   * @throws CudaException if the driver fails
   * @throws IllegalStateException if this context is closed
   * @wraps {@code cuMemGetInfo}; cuda.h, CUDA 3.2 and later
   */
  public MemoryInfo memory() {
    long[] two = using(() -> CudaCalls.cuMemGetInfo(handle, device.cudaOrdinal()));
    return new MemoryInfo(two[0], two[1]);
  }

  /**
   * The range of stream priorities; smaller numbers are more urgent.
   *
   * @return the range; both 0 if the device has no priorities
   * @throws CudaException if the driver fails
   * @throws IllegalStateException if this context is closed
   * @wraps {@code cuCtxGetStreamPriorityRange}; cuda.h, CUDA 5.5 and later
   */
  public PriorityRange streamPriorities() {
    int[] two = using(() -> CudaCalls.cuCtxGetStreamPriorityRange(handle, device.cudaOrdinal()));
    return new PriorityRange(two[0], two[1]);
  }

  /**
   * Copies and waits until the copy is done.
   *
   * <p><b>Blocking:</b> at most {@code timeout}; the copy goes on after that and keeps its memory
   * open.
   *
   * @param source what to read; any memory
   * @param target where to write, as long as the source; any memory
   * @param timeout how long to wait at most
   * @return false if the time ended first
   * @throws IllegalArgumentException if the lengths differ
   * @throws IllegalStateException if this context or the memory is closed
   * @throws CudaException if the driver refuses or the copy fails
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code cuMemcpyAsync}; cuda.h, CUDA 4.0 and later
   */
  public boolean copy(CudaBuffer source, CudaBuffer target, Duration timeout)
      throws InterruptedException {
    long end = System.nanoTime() + Math.min(Backoff.nanos(timeout), Long.MAX_VALUE / 4);
    Optional<CompletionStage<Void>> queued = copyStream().tryCopy(source, target, timeout);
    return queued.isPresent()
        && Waiting.await(queued.get(), Duration.ofNanos(Math.max(0, end - System.nanoTime())));
  }

  /**
   * Fills memory with a byte and waits until that is done.
   *
   * <p><b>Blocking:</b> at most {@code timeout}.
   *
   * @param target what to fill; device or managed memory
   * @param value the byte
   * @param timeout how long to wait at most
   * @return false if the time ended first
   * @throws IllegalStateException if this context or the memory is closed
   * @throws CudaException if the driver refuses
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code cuMemsetD8Async}; cuda.h, CUDA 3.2 and later
   */
  public boolean fill(CudaBuffer target, byte value, Duration timeout) throws InterruptedException {
    return Waiting.await(copyStream().fill(target, value), timeout);
  }

  /**
   * Whether streams are in use here that do not order against each other although it looks so: the
   * legacy default stream next to streams made non-blocking.
   *
   * @return true if both sorts are open
   */
  public boolean hasUnorderedStreams() {
    return nonBlockingStreams.get() > 0 && defaultStreams.get() > 0;
  }

  /**
   * The context as a JavaCPP object, for a program that also calls CUDA itself.
   *
   * @return a pointer that owns nothing; not to be used after this is closed
   */
  public CUctx_st pointer() {
    return CudaCalls.context(handle);
  }

  /**
   * Keeps this context current on the calling thread, so that calls need not make it current each
   * for itself; for threads that issue much work. Nothing needs it.
   *
   * @return close it on the same thread
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if this context is closed, or the thread is a virtual one
   * @wraps {@code cuCtxPushCurrent}; cuda.h, CUDA 4.0 and later
   */
  @MustBeClosed
  public CudaAttachment attach() {
    return CudaAttachment.of(this);
  }

  /**
   * The context as a number, for the glue of a library that works on CUDA's contexts.
   *
   * @return the handle
   */
  public long address() {
    return handle;
  }

  @Override
  protected void closeOwn() {
    synchronized (idleEvents) {
      if (copyStream != null) {
        copyStream.close();
        copyStream = null;
      }
      while (!idleEvents.isEmpty()) {
        idleEvents.pop().close();
      }
    }
  }

  @Override
  protected void free() {
    int late = lateWork.running();
    if (retained && late > 0) {
      throw new CudaException(
          "cuDevicePrimaryCtxRelease",
          CudaResult.TIMEOUT,
          late + " calls in the context never came back; it stays retained in this process",
          ordinal(),
          "");
    }
    if (retained) {
      lateWork.run(
          "cuDevicePrimaryCtxRelease",
          "the context stays",
          () -> CudaCalls.cuDevicePrimaryCtxRelease(device.handle()));
    }
  }

  @Override
  public String toString() {
    return "context of " + device;
  }

  long handle() {
    return handle;
  }

  /** Makes something in this context, which cannot be closed meanwhile. */
  <T> T making(Supplier<T> make) {
    return using(make);
  }

  /** Makes something that is told by a number, within the bound; undone if it comes too late. */
  long makingWithin(String call, LongSupplier make, LongConsumer undo) {
    return using(() -> lateWork.run(call, "nothing is allocated", make::getAsLong, undo::accept));
  }

  /** Makes the owner of something native, or frees it if that fails. */
  <T> T owning(Supplier<T> make, Runnable free) {
    try {
      return make.get();
    } catch (RuntimeException e) {
      try {
        free.run();
      } catch (RuntimeException second) {
        e.addSuppressed(second);
      }
      throw e;
    }
  }

  LateWork lateWork() {
    return lateWork;
  }

  int ordinal() {
    return device.cudaOrdinal();
  }

  CudaLocation locate(long address) {
    int[] two = using(() -> CudaCalls.cuPointerGetAttribute(handle, ordinal(), address));
    return CudaLocation.of(two[0], two[1]);
  }

  /** An event without timing that nobody uses. */
  @SuppressWarnings("MustBeClosed") // given back by whoever took it, closed by closeOwn
  CudaEvent takeEvent() {
    synchronized (idleEvents) {
      if (!idleEvents.isEmpty()) {
        return idleEvents.pop();
      }
    }
    return CudaEvent.create(this);
  }

  void giveBack(CudaEvent event) {
    synchronized (idleEvents) {
      idleEvents.push(event);
    }
  }

  /** Counts streams of the two sorts that do not order against each other, and says so once. */
  void streamOpened(boolean legacyDefault, boolean nonBlocking) {
    boolean before = hasUnorderedStreams();
    if (legacyDefault) {
      defaultStreams.incrementAndGet();
    } else if (nonBlocking) {
      nonBlockingStreams.incrementAndGet();
    }
    if (!before && hasUnorderedStreams()) {
      LOG.log(
          Level.WARNING,
          "{0}: the legacy default stream is used next to non-blocking streams; they do not order"
              + " against each other, use events between them",
          this);
    }
  }

  void streamClosed(boolean legacyDefault, boolean nonBlocking) {
    if (legacyDefault) {
      defaultStreams.decrementAndGet();
    } else if (nonBlocking) {
      nonBlockingStreams.decrementAndGet();
    }
  }

  @SuppressWarnings("MustBeClosed") // closed by closeOwn
  CudaStream copyStream() {
    synchronized (idleEvents) {
      if (copyStream == null) {
        copyStream = CudaStream.create(this);
      }
      return copyStream;
    }
  }

  /**
   * A device's memory.
   *
   * @param freeBytes what can still be allocated
   * @param totalBytes what there is
   */
  public record MemoryInfo(long freeBytes, long totalBytes) {}

  /**
   * The priorities that streams can have.
   *
   * @param least the least urgent, the greatest number
   * @param greatest the most urgent, the smallest number
   */
  public record PriorityRange(int least, int greatest) {}
}
