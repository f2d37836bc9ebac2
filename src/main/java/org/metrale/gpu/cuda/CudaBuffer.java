package org.metrale.gpu.cuda;

import java.nio.ByteBuffer;
import java.util.Objects;
import org.bytedeco.javacpp.Pointer;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.PendingWork;

/**
 * A range of memory that CUDA can copy and NCCL can use: an address, a length, and what keeps it.
 *
 * <p>A value: it owns nothing and needs no closing. The length is always known, so every use is
 * checked against it. Keep and reuse buffers and slices on hot paths; making one allocates.
 *
 * <p><b>Ownership:</b> made from memory of this package it knows its owner, and use after the
 * owner's close is an exception, as is closing the owner while a device works on the memory. Made
 * from a JavaCPP pointer or a {@link ByteBuffer} it keeps that reachable. Made from a bare address
 * it trusts the caller.
 *
 * <p><b>Threading:</b> immutable; safe for any number of threads.
 */
public final class CudaBuffer {
  private final long address;
  private final long lengthBytes;

  /** Null if the memory belongs to nobody of this package. */
  private final NativeResource owner;

  /** Kept reachable as long as this is; may be null. */
  private final Object keeper;

  /** What the driver said, asked once; an immutable value, so that a race only asks twice. */
  private CudaLocation location;

  /** Who checked this last; a race only makes somebody check again. */
  private Object checker;

  private CudaBuffer(
      long address, long lengthBytes, NativeResource owner, Object keeper, CudaLocation location) {
    this.address = address;
    this.lengthBytes = lengthBytes;
    this.owner = owner;
    this.keeper = keeper;
    this.location = location;
  }

  static CudaBuffer owned(
      NativeResource owner, long address, long lengthBytes, CudaLocation location) {
    PendingWork.lend(owner);
    return new CudaBuffer(address, lengthBytes, owner, owner, location);
  }

  /**
   * The range of a bare address, which the caller answers for.
   *
   * @param address where it begins
   * @param lengthBytes how many bytes it has
   * @return the buffer
   * @throws IllegalArgumentException if the length is negative or the range leaves the address
   *     space
   */
  public static CudaBuffer of(long address, long lengthBytes) {
    if (address < 0 || lengthBytes < 0 || address + lengthBytes < 0) {
      throw new IllegalArgumentException(
          "no range of memory: address 0x"
              + Long.toHexString(address)
              + ", lengthBytes "
              + lengthBytes);
    }
    return new CudaBuffer(address, lengthBytes, null, null, null);
  }

  /**
   * The range of memory that another owner made.
   *
   * @param owner who frees it; use after its close is an exception, and so is its close while a
   *     device works on it
   * @param address where it begins
   * @param lengthBytes how many bytes it has
   * @return the buffer
   * @throws IllegalArgumentException if the length is negative or the range leaves the address
   *     space
   */
  public static CudaBuffer of(NativeResource owner, long address, long lengthBytes) {
    CudaBuffer range = of(address, lengthBytes);
    PendingWork.lend(owner);
    return new CudaBuffer(range.address, lengthBytes, owner, owner, null);
  }

  /**
   * The range of a JavaCPP pointer from its position to its limit.
   *
   * @param pointer the pointer; borrowed, and kept reachable
   * @return the buffer
   * @throws IllegalArgumentException if the pointer is null or has no limit: its length is unknown
   */
  public static CudaBuffer of(Pointer pointer) {
    Objects.requireNonNull(pointer, "pointer");
    if (pointer.isNull() || pointer.limit() <= pointer.position()) {
      throw new IllegalArgumentException(
          "the pointer is null or has no limit, so its length is unknown: set limit(elements), or"
              + " use of(address, lengthBytes)");
    }
    long elements = pointer.limit() - pointer.position();
    if (elements > Long.MAX_VALUE / pointer.sizeof()) {
      throw new IllegalArgumentException(
          "no range of memory: " + elements + " elements of " + pointer.sizeof() + " bytes");
    }
    CudaBuffer range = of(CudaCalls.address(pointer), elements * pointer.sizeof());
    return new CudaBuffer(range.address, range.lengthBytes, null, pointer, null);
  }

  /**
   * The range of a direct buffer from its position to its limit.
   *
   * @param direct the buffer; borrowed, and kept reachable
   * @return the buffer
   * @throws IllegalArgumentException if the buffer is not direct
   */
  public static CudaBuffer of(ByteBuffer direct) {
    if (!direct.isDirect()) {
      throw new IllegalArgumentException("the buffer is on the Java heap: allocate it direct");
    }
    return new CudaBuffer(
        CudaCalls.address(direct) + direct.position(), direct.remaining(), null, direct, null);
  }

  /**
   * Where the range begins.
   *
   * @return the address
   */
  public long address() {
    return address;
  }

  /**
   * How long the range is.
   *
   * @return bytes
   */
  public long lengthBytes() {
    return lengthBytes;
  }

  /**
   * A part of this range, with the same owner.
   *
   * @param offsetBytes where it begins
   * @param partBytes how many bytes it has
   * @return the part
   * @throws IndexOutOfBoundsException if it is not inside
   */
  public CudaBuffer slice(long offsetBytes, long partBytes) {
    Objects.checkFromIndexSize(offsetBytes, partBytes, lengthBytes);
    return new CudaBuffer(address + offsetBytes, partBytes, owner, keeper, location);
  }

  /**
   * Where the memory lies; the driver is asked once.
   *
   * @param context any open context
   * @return what the driver says
   * @throws CudaException if the driver fails
   * @wraps {@code cuPointerGetAttribute}; cuda.h, CUDA 4.0 and later
   */
  public CudaLocation location(CudaContext context) {
    CudaLocation known = location;
    if (known == null) {
      known = context.locate(address);
      location = known;
    }
    return known;
  }

  /**
   * Makes sure that the memory was not closed.
   *
   * @throws IllegalStateException if its owner is closed
   */
  public void requireOpen() {
    NativeResource mine = owner;
    if (mine != null && mine.isClosed()) {
      throw new IllegalStateException(mine + " is closed");
    }
  }

  /**
   * Whether the range is part of a memory.
   *
   * @param memory any resource
   * @return true if that resource frees it
   */
  public boolean isOwnedBy(NativeResource memory) {
    return owner == memory;
  }

  /**
   * What must stay open as long as the memory is used; for the constructor of what uses it.
   *
   * @return the owner; empty if the memory belongs to nobody of this module
   */
  public NativeResource[] owners() {
    return owner == null ? new NativeResource[0] : new NativeResource[] {owner};
  }

  /**
   * Whether nobody has checked this since somebody did, for who issues work on it again and again
   * and learns elsewhere that memory was closed. Not for programs.
   *
   * @param who given to {@link #checkedBy}
   * @return false if it is to be checked again
   */
  public boolean isCheckedBy(Object who) {
    return checker == who;
  }

  /**
   * Notes who has found this open and where it can be used. Not for programs.
   *
   * @param who for {@link #isCheckedBy}
   */
  public void checkedBy(Object who) {
    checker = who;
  }

  @Override
  public String toString() {
    return lengthBytes + " bytes at 0x" + Long.toHexString(address);
  }
}
