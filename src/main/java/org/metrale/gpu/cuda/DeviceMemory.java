package org.metrale.gpu.cuda;

import com.google.errorprone.annotations.MustBeClosed;
import org.bytedeco.javacpp.BytePointer;
import org.metrale.gpu.NativeResource;

/**
 * Memory of a device.
 *
 * <p><b>Ownership:</b> keeps its context open. Close is refused while a copy or a collective uses
 * the memory, and waits, as the driver does, for what else the device is doing, within the bound of
 * {@link CudaContext#openPrimary(CudaDevice, java.time.Duration)}.
 *
 * <p><b>Threading:</b> safe for any number of threads; the bytes are the program's to order.
 */
public final class DeviceMemory extends NativeResource {
  private final CudaContext context;
  private final CudaBuffer all;

  private DeviceMemory(
      CudaContext context, long address, long lengthBytes, CudaLocation.Kind kind) {
    super(context);
    this.context = context;
    CudaLocation location = new CudaLocation(kind, context.ordinal());
    this.all = CudaBuffer.owned(this, address, lengthBytes, location);
  }

  /**
   * Allocates memory of the context's device; its bytes are anything.
   *
   * @param context where
   * @param lengthBytes how many bytes, at least 1
   * @return the memory; close it
   * @throws IllegalArgumentException if the length is not positive
   * @throws CudaException if the device has not that much left
   * @throws IllegalStateException if the context is closed
   * @wraps {@code cuMemAlloc}; cuda.h, CUDA 3.2 and later
   */
  @MustBeClosed
  public static DeviceMemory allocate(CudaContext context, long lengthBytes) {
    requireLength(lengthBytes);
    long address =
        context.makingWithin(
            "cuMemAlloc",
            () -> CudaCalls.cuMemAlloc(context.handle(), context.ordinal(), lengthBytes),
            late -> CudaCalls.cuMemFree(context.handle(), context.ordinal(), late));
    return context.owning(
        () -> new DeviceMemory(context, address, lengthBytes, CudaLocation.Kind.DEVICE),
        () -> CudaCalls.cuMemFree(context.handle(), context.ordinal(), address));
  }

  /**
   * Allocates memory that moves between host and device as it is used.
   *
   * @param context where
   * @param lengthBytes how many bytes, at least 1
   * @return the memory; close it
   * @throws IllegalArgumentException if the length is not positive
   * @throws CudaException if there is not that much left
   * @throws IllegalStateException if the context is closed
   * @wraps {@code cuMemAllocManaged}; cuda.h, CUDA 6.0 and later
   */
  @MustBeClosed
  public static DeviceMemory allocateManaged(CudaContext context, long lengthBytes) {
    requireLength(lengthBytes);
    long address =
        context.makingWithin(
            "cuMemAllocManaged",
            () -> CudaCalls.cuMemAllocManaged(context.handle(), context.ordinal(), lengthBytes),
            late -> CudaCalls.cuMemFree(context.handle(), context.ordinal(), late));
    return context.owning(
        () -> new DeviceMemory(context, address, lengthBytes, CudaLocation.Kind.MANAGED),
        () -> CudaCalls.cuMemFree(context.handle(), context.ordinal(), address));
  }

  static void requireLength(long lengthBytes) {
    if (lengthBytes <= 0) {
      throw new IllegalArgumentException("lengthBytes " + lengthBytes + " is not positive");
    }
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
   * Exports a part as a dma-buf, for network adapters that register device memory that way.
   *
   * @param offsetBytes where it begins; the driver wants a multiple of the host's page size
   * @param partBytes how many bytes it has; likewise
   * @return a file descriptor, which the caller closes
   * @throws IndexOutOfBoundsException if it is not inside
   * @throws CudaException if the device cannot do it
   * @throws IllegalStateException if this memory is closed
   * @wraps {@code cuMemGetHandleForAddressRange}; cuda.h, CUDA 11.7 and later
   */
  public int exportDmaBuf(long offsetBytes, long partBytes) {
    CudaBuffer part = buffer(offsetBytes, partBytes);
    return using(
        () ->
            CudaCalls.cuMemGetHandleForAddressRange(
                context.handle(), context.ordinal(), part.address(), partBytes));
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
    context
        .lateWork()
        .run(
            "cuMemFree",
            all.lengthBytes() + " bytes stay allocated",
            () -> CudaCalls.cuMemFree(context.handle(), context.ordinal(), all.address()));
  }

  @Override
  public String toString() {
    return "memory of " + context.device() + ", " + all;
  }
}
