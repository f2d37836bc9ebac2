package org.metrale.gpu.verbs;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/** Where registered memory is, who keeps it, and its bytes as far as they can be reached. */
final class RegionMemory {
  /** Adapters and kernels work in pages; 64 KiB is the largest usual one. */
  private static final int ALIGNMENT_BYTES = 64 << 10;

  /** A buffer has an int for its length: longer memory is seen through several. */
  private static final int WINDOW_BITS = 30;

  private final long address;
  private final long lengthBytes;

  /** Views of the memory; empty where the CPU has no business. */
  private final ByteBuffer[] windows;

  /** What must stay reachable, and is freed with the region, or given back, if it is ours. */
  private final Object owner;

  private final boolean owned;

  /** How many have it; whoever is the last to let go of it frees it. */
  private final AtomicInteger users = new AtomicInteger(1);

  private RegionMemory(
      long address, long lengthBytes, ByteBuffer[] windows, Object owner, boolean owned) {
    this.address = address;
    this.lengthBytes = lengthBytes;
    this.windows = windows;
    this.owner = owner;
    this.owned = owned;
  }

  static RegionMemory allocate(long lengthBytes) {
    if (lengthBytes < 1) {
      throw new IllegalArgumentException("lengthBytes: wanted 1 or more, got " + lengthBytes);
    }
    // Not through a pointer's own allocation, which may call the collector and sleep.
    Pointer block = Pointer.calloc(1, Math.addExact(lengthBytes, ALIGNMENT_BYTES));
    if (block == null || block.isNull()) {
      throw new OutOfMemoryError("no " + lengthBytes + " bytes of native memory");
    }
    try {
      long start = (block.address() + ALIGNMENT_BYTES - 1) & -ALIGNMENT_BYTES;
      return new RegionMemory(start, lengthBytes, windows(start, lengthBytes), block, true);
    } catch (RuntimeException | Error e) {
      Pointer.free(block);
      throw e;
    }
  }

  static RegionMemory of(ByteBuffer buffer) {
    if (!buffer.isDirect() || !buffer.hasRemaining()) {
      throw new IllegalArgumentException("wanted a direct buffer that is not empty, got " + buffer);
    }
    ByteBuffer view = buffer.slice();
    long start = new Pointer(view).address();
    return new RegionMemory(start, view.remaining(), new ByteBuffer[] {view}, buffer, false);
  }

  static RegionMemory of(Pointer pointer) {
    long bytes = pointer.isNull() ? 0 : (pointer.limit() - pointer.position()) * pointer.sizeof();
    if (bytes <= 0) {
      throw new IllegalArgumentException("wanted a pointer with a length, got " + pointer);
    }
    long start = pointer.address() + pointer.position() * pointer.sizeof();
    return new RegionMemory(start, bytes, windows(start, bytes), pointer, false);
  }

  static RegionMemory at(long address, long lengthBytes) {
    if (address == 0 || lengthBytes < 1 || address + lengthBytes < address) {
      throw new IllegalArgumentException(
          "no range: address 0x" + Long.toHexString(address) + ", length " + lengthBytes);
    }
    return new RegionMemory(address, lengthBytes, windows(address, lengthBytes), null, false);
  }

  /** The same memory, of somebody who is told when no adapter and no call uses this any more. */
  RegionMemory lent(Runnable back) {
    return new RegionMemory(address, lengthBytes, windows, back, true);
  }

  /** The same memory for one more adapter; while nobody can be just freeing it. */
  RegionMemory shared() {
    RegionMemory out = lent(this::free);
    users.incrementAndGet();
    return out;
  }

  /** Memory where the CPU has no business; somebody else keeps it. */
  static RegionMemory unmapped(long address, long lengthBytes) {
    return new RegionMemory(address, lengthBytes, new ByteBuffer[0], null, false);
  }

  long address() {
    return address;
  }

  long lengthBytes() {
    return lengthBytes;
  }

  Optional<String> note() {
    return windows.length == 0 ? Optional.of("not mapped for the CPU") : Optional.empty();
  }

  void read(long offset, ByteBuffer into) {
    long at = offset;
    while (into.hasRemaining()) {
      ByteBuffer window = window(at);
      int start = (int) (at & ((1L << WINDOW_BITS) - 1));
      int count = Math.min(into.remaining(), window.capacity() - start);
      into.put(into.position(), window, start, count);
      into.position(into.position() + count);
      at += count;
    }
  }

  void write(long offset, ByteBuffer from) {
    long at = offset;
    while (from.hasRemaining()) {
      ByteBuffer window = window(at);
      int start = (int) (at & ((1L << WINDOW_BITS) - 1));
      int count = Math.min(from.remaining(), window.capacity() - start);
      window.put(start, from, from.position(), count);
      from.position(from.position() + count);
      at += count;
    }
  }

  void free() {
    if (users.decrementAndGet() > 0) {
      return;
    }
    if (owned && owner instanceof Runnable back) {
      back.run();
    } else if (owned) {
      Pointer.free((Pointer) owner);
    }
  }

  private ByteBuffer window(long at) {
    if (windows.length == 0) {
      throw new IllegalStateException("this memory is not mapped for the CPU");
    }
    return windows[(int) (at >>> WINDOW_BITS)];
  }

  private static ByteBuffer[] windows(long address, long lengthBytes) {
    int count = Math.toIntExact(((lengthBytes - 1) >>> WINDOW_BITS) + 1);
    ByteBuffer[] out = new ByteBuffer[count];
    for (int i = 0; i < count; i++) {
      long start = (long) i << WINDOW_BITS;
      long length = Math.min(1L << WINDOW_BITS, lengthBytes - start);
      out[i] = new Place(address + start, length).asByteBuffer();
    }
    return out;
  }

  /** A pointer to a given address. */
  private static final class Place extends BytePointer {
    Place(long address, long lengthBytes) {
      super((Pointer) null);
      this.address = address;
      this.limit = lengthBytes;
      this.capacity = lengthBytes;
    }
  }
}
