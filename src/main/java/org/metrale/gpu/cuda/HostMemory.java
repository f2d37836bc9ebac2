package org.metrale.gpu.cuda;

import com.google.errorprone.annotations.MustBeClosed;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.bytedeco.javacpp.BytePointer;
import org.metrale.gpu.NativeResource;

/**
 * Pinned host memory, which devices read and write by themselves at full speed.
 *
 * <p><b>Ownership:</b> keeps its context open, and a registered buffer reachable. Close is refused
 * while a copy or a collective uses the memory, and waits for what else devices do with it, within
 * the bound of {@link CudaContext#openPrimary(CudaDevice, java.time.Duration)}.
 *
 * <p><b>Threading:</b> safe for any number of threads; the bytes are the program's to order.
 */
public final class HostMemory extends NativeResource {
  private final CudaContext context;
  private final CudaBuffer all;

  /** The program's buffer, or null if the memory was allocated here. */
  private final ByteBuffer registered;

  private HostMemory(CudaContext context, long address, long lengthBytes, ByteBuffer registered) {
    super(context);
    this.context = context;
    this.registered = registered;
    CudaLocation location = new CudaLocation(CudaLocation.Kind.PINNED_HOST, context.ordinal());
    this.all = CudaBuffer.owned(this, address, lengthBytes, location);
  }

  /**
   * Allocates pinned memory; its bytes are anything.
   *
   * @param context where
   * @param lengthBytes how many bytes, at least 1
   * @return the memory; close it
   * @throws IllegalArgumentException if the length is not positive
   * @throws CudaException if the host cannot pin that much
   * @throws IllegalStateException if the context is closed
   * @wraps {@code cuMemHostAlloc}; cuda.h, CUDA 2.2 and later
   */
  @MustBeClosed
  public static HostMemory allocate(CudaContext context, long lengthBytes) {
    DeviceMemory.requireLength(lengthBytes);
    long address =
        context.makingWithin(
            "cuMemHostAlloc",
            () -> CudaCalls.cuMemHostAlloc(context.handle(), context.ordinal(), lengthBytes),
            late -> CudaCalls.cuMemFreeHost(context.handle(), context.ordinal(), late));
    return context.owning(
        () -> new HostMemory(context, address, lengthBytes, null),
        () -> CudaCalls.cuMemFreeHost(context.handle(), context.ordinal(), address));
  }

  /**
   * Pins memory that the program has.
   *
   * @param context where
   * @param direct a direct buffer, from its position to its limit; borrowed, and kept reachable
   * @return the memory; close it to unpin
   * @throws IllegalArgumentException if the buffer is not direct or has no bytes
   * @throws CudaException if the driver refuses, for example because it is pinned already
   * @throws IllegalStateException if the context is closed
   * @wraps {@code cuMemHostRegister}; cuda.h, CUDA 4.0 and later
   */
  @MustBeClosed
  public static HostMemory register(CudaContext context, ByteBuffer direct) {
    CudaBuffer range = CudaBuffer.of(direct);
    DeviceMemory.requireLength(range.lengthBytes());
    long address =
        context.makingWithin(
            "cuMemHostRegister",
            () -> {
              // The range keeps the buffer reachable as long as the call runs.
              CudaCalls.cuMemHostRegister(
                  context.handle(), context.ordinal(), range.address(), range.lengthBytes());
              return range.address();
            },
            late -> CudaCalls.cuMemHostUnregister(context.handle(), context.ordinal(), late));
    return context.owning(
        () -> new HostMemory(context, address, range.lengthBytes(), direct),
        () -> CudaCalls.cuMemHostUnregister(context.handle(), context.ordinal(), address));
  }

  /**
   * The memory's context.
   *
   * @return the context
   */
  public CudaContext context() {
    return context;
  }

  /**
   * The whole memory as a range.
   *
   * @return always the same object
   */
  public CudaBuffer buffer() {
    return all;
  }

  /**
   * A part of the memory.
   *
   * @param offsetBytes where it begins
   * @param partBytes how many bytes it has
   * @return the part
   * @throws IndexOutOfBoundsException if it is not inside
   */
  public CudaBuffer buffer(long offsetBytes, long partBytes) {
    return all.slice(offsetBytes, partBytes);
  }

  /**
   * How many bytes there are.
   *
   * @return bytes
   */
  public long lengthBytes() {
    return all.lengthBytes();
  }

  /**
   * The address by which devices reach this memory.
   *
   * @return usually the same as the host's
   * @throws CudaException if the driver refuses
   * @throws IllegalStateException if this memory is closed
   * @wraps {@code cuMemHostGetDevicePointer}; cuda.h, CUDA 3.2 and later
   */
  public long deviceAddress() {
    return using(
        () ->
            CudaCalls.cuMemHostGetDevicePointer(
                context.handle(), context.ordinal(), all.address()));
  }

  /**
   * Writes bytes into the memory.
   *
   * @param offsetBytes where to begin
   * @param source from its position to its limit, which is consumed
   * @throws IndexOutOfBoundsException if they do not fit
   * @throws IllegalStateException if this memory is closed
   */
  public void write(long offsetBytes, ByteBuffer source) {
    Objects.checkFromIndexSize(offsetBytes, source.remaining(), lengthBytes());
    acquire();
    try {
      view(offsetBytes, source.remaining()).put(source);
    } finally {
      release();
    }
  }

  /**
   * Reads bytes out of the memory.
   *
   * @param offsetBytes where to begin
   * @param target filled from its position to its limit
   * @throws IndexOutOfBoundsException if there are not so many
   * @throws IllegalStateException if this memory is closed
   */
  public void read(long offsetBytes, ByteBuffer target) {
    Objects.checkFromIndexSize(offsetBytes, target.remaining(), lengthBytes());
    acquire();
    try {
      target.put(view(offsetBytes, target.remaining()));
    } finally {
      release();
    }
  }

  /**
   * The memory as a JavaCPP object, for a program that also calls CUDA itself.
   *
   * @return a pointer that owns nothing; not to be used after this is closed
   */
  public BytePointer pointer() {
    return CudaCalls.pointer(all.address(), all.lengthBytes());
  }

  @Override
  protected void free() {
    String call = registered == null ? "cuMemFreeHost" : "cuMemHostUnregister";
    context.lateWork().run(call, all.lengthBytes() + " bytes stay pinned", this::unpin);
  }

  private void unpin() {
    if (registered == null) {
      CudaCalls.cuMemFreeHost(context.handle(), context.ordinal(), all.address());
    } else {
      CudaCalls.cuMemHostUnregister(context.handle(), context.ordinal(), all.address());
    }
  }

  @Override
  public String toString() {
    return "pinned host memory, " + all;
  }

  private ByteBuffer view(long offsetBytes, int partBytes) {
    return CudaCalls.pointer(all.address() + offsetBytes, partBytes).asByteBuffer();
  }
}
