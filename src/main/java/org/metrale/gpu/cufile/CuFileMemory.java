package org.metrale.gpu.cufile;

import java.nio.ByteBuffer;
import java.util.Objects;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaDriver;
import org.metrale.gpu.cuda.CudaLocation;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cuda.HostMemory;

/**
 * A range of host or device memory that files are read into and written from.
 *
 * <p>A value: it owns nothing. Make it once and keep it where much is transferred.
 */
public final class CuFileMemory {
  private final CudaBuffer range;
  private final boolean onDevice;

  /** The device's context, null for memory of the host. */
  private final CudaContext context;

  private final long contextAddress;

  /** What must stay open, null if nothing of ours. */
  private final NativeResource owner;

  private CuFileMemory(
      CudaBuffer range, boolean onDevice, CudaContext context, NativeResource owner) {
    this.range = range;
    this.onDevice = onDevice;
    this.context = context;
    this.contextAddress = context == null ? 0 : contextAddress(context);
    this.owner = owner;
  }

  /**
   * The host memory of a direct buffer, from its position to its limit.
   *
   * @param direct the buffer; borrowed, kept reachable
   * @return the memory
   * @throws IllegalArgumentException if the buffer is not direct
   */
  public static CuFileMemory of(ByteBuffer direct) {
    return new CuFileMemory(CudaBuffer.of(direct), false, null, null);
  }

  /**
   * All of a device's memory.
   *
   * @param memory the memory; a transfer keeps it open
   * @return the memory
   */
  public static CuFileMemory of(DeviceMemory memory) {
    return new CuFileMemory(memory.buffer(), true, memory.context(), memory);
  }

  /**
   * All of a host's pinned memory.
   *
   * @param memory the memory; a transfer keeps it open
   * @return the memory
   */
  public static CuFileMemory of(HostMemory memory) {
    return new CuFileMemory(memory.buffer(), false, null, memory);
  }

  /**
   * Memory of which the driver says where it lies.
   *
   * @param context any open context of the device
   * @param range the memory; borrowed
   * @return the memory
   */
  public static CuFileMemory of(CudaContext context, CudaBuffer range) {
    CudaLocation.Kind kind = range.location(context).kind();
    boolean device = kind == CudaLocation.Kind.DEVICE || kind == CudaLocation.Kind.MANAGED;
    return new CuFileMemory(range, device, device ? context : null, null);
  }

  /**
   * A part of this memory.
   *
   * @param offsetBytes where it begins
   * @param partBytes how many bytes it has
   * @return the part
   * @throws IndexOutOfBoundsException if it is not inside
   */
  public CuFileMemory slice(long offsetBytes, long partBytes) {
    return new CuFileMemory(range.slice(offsetBytes, partBytes), onDevice, context, owner);
  }

  /**
   * How long it is.
   *
   * @return bytes
   */
  public long lengthBytes() {
    return range.lengthBytes();
  }

  /**
   * Whether it is memory of a device.
   *
   * @return false for memory of the host
   */
  public boolean isOnDevice() {
    return onDevice;
  }

  @Override
  public String toString() {
    return range + (onDevice ? " of a device" : " of the host");
  }

  long address() {
    return range.address();
  }

  private static long contextAddress(CudaContext context) {
    CuFileCalls.useDriver(CudaDriver.functions()); // always the same
    return context.address();
  }

  CudaBuffer range() {
    return range;
  }

  CudaContext context() {
    return Objects.requireNonNull(context, "context");
  }

  /** The device's context, or 0 for memory of the host. */
  long contextAddress() {
    return contextAddress;
  }

  /** What a call about all of this is about. */
  CuFileException.Where where() {
    return new CuFileException.Where(
        "", -1, lengthBytes(), "", "address=0x" + Long.toHexString(address()) + place());
  }

  /** The device in words, nothing for memory of the host. */
  String place() {
    return context == null ? "" : " device=" + context.device().cudaOrdinal();
  }

  void requireOpen() {
    range.requireOpen();
  }

  NativeResource[] owners() {
    return owner == null ? new NativeResource[0] : new NativeResource[] {owner};
  }
}
