package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.bytedeco.javacpp.Pointer;
import org.metrale.gpu.NativeResource;
import org.metrale.verbs.ibv_mr;
import org.metrale.verbs.ibv_pd;

/**
 * Memory that an adapter may use, of any length.
 *
 * <p><b>Ownership:</b> the region holds on to what it was made from, so that it is neither freed
 * nor collected while the region is open, and a region cannot be closed while a posted request
 * names it. Memory given as a bare address stays the caller's to keep.
 *
 * <p><b>Threading:</b> safe for any number of threads; nothing orders their bytes.
 */
public final class VerbsMemoryRegion extends NativeResource {
  /**
   * What is registered, held here: a region that was forgotten is still in the adapter's hands, so
   * its memory must not be collected.
   */
  private static final Set<RegionMemory> REGISTERED = ConcurrentHashMap.newKeySet();

  private final VerbsProtectionDomain domain;
  private final RegionMemory memory;
  private final ibv_mr handle;
  private final long baseAddress;
  private final long length;
  private final int lkey;
  private final int rkey;

  private VerbsMemoryRegion(
      VerbsProtectionDomain domain, RegionMemory memory, ibv_mr handle, long keys) {
    super(domain);
    this.domain = domain;
    this.memory = memory;
    this.handle = handle;
    this.baseAddress = memory.address();
    this.length = memory.lengthBytes();
    this.lkey = (int) (keys >>> 32);
    this.rkey = (int) keys;
    REGISTERED.add(memory);
  }

  /**
   * Allocates zeroed memory and registers it.
   *
   * @param domain the protection domain
   * @param lengthBytes how much, from 1; may be above 4 GiB
   * @param access what may be done with it
   * @return the region, which owns the memory
   * @throws VerbsException if it cannot be registered; the message has the process's limit of
   *     locked memory
   * @throws OutOfMemoryError if there is not that much memory
   * @throws IllegalArgumentException if the length is below 1
   * @wraps {@code ibv_reg_mr}; verbs.h
   */
  @MustBeClosed
  public static VerbsMemoryRegion allocate(
      VerbsProtectionDomain domain, long lengthBytes, VerbsAccess access) {
    return register(domain, RegionMemory.allocate(lengthBytes), access);
  }

  /**
   * Registers a direct buffer, mapped files included, from its position to its limit.
   *
   * @param domain the protection domain
   * @param buffer a direct buffer; a read-only one can only be read, by either side
   * @param access what may be done with it
   * @return the region, which keeps the buffer reachable
   * @throws VerbsException if it cannot be registered; a file that is mapped read-only is {@code
   *     EFAULT} before Linux 6.2, unless by {@link java.nio.channels.FileChannel.MapMode#PRIVATE}
   * @throws IllegalArgumentException if the buffer is on the heap, empty, or read-only and {@code
   *     access} allows writes
   * @wraps {@code ibv_reg_mr}; verbs.h
   */
  @MustBeClosed
  public static VerbsMemoryRegion of(
      VerbsProtectionDomain domain, ByteBuffer buffer, VerbsAccess access) {
    if (buffer.isReadOnly() && (access.flags() & VerbsAccess.READ_WRITE.flags() & ~4) != 0) {
      throw new IllegalArgumentException("a read-only buffer cannot be registered for " + access);
    }
    return register(domain, RegionMemory.of(buffer), access);
  }

  /**
   * Registers the memory of a pointer, from its position to its limit.
   *
   * @param domain the protection domain
   * @param pointer memory of known length; not collected while the region is open, and not to be
   *     deallocated by hand
   * @param access what may be done with it
   * @return the region, which keeps the pointer reachable
   * @throws VerbsException if it cannot be registered
   * @throws IllegalArgumentException if the pointer is null or has no length
   * @wraps {@code ibv_reg_mr}; verbs.h
   */
  @MustBeClosed
  public static VerbsMemoryRegion of(
      VerbsProtectionDomain domain, Pointer pointer, VerbsAccess access) {
    return register(domain, RegionMemory.of(pointer), access);
  }

  /**
   * Registers memory by its address.
   *
   * @param domain the protection domain
   * @param address where it begins
   * @param lengthBytes how long it is
   * @param access what may be done with it
   * @return the region; the caller keeps the memory valid until it is closed
   * @throws VerbsException if it cannot be registered; pages that are not there are {@code EFAULT}
   * @throws IllegalArgumentException if the address is 0, or the range is empty or wraps around
   * @wraps {@code ibv_reg_mr}; verbs.h
   */
  @MustBeClosed
  public static VerbsMemoryRegion borrow(
      VerbsProtectionDomain domain, long address, long lengthBytes, VerbsAccess access) {
    return register(domain, RegionMemory.at(address, lengthBytes), access);
  }

  /**
   * Registers the memory of another region, for another adapter. What the other one owns is freed
   * when both adapters have let go of it, whichever region is closed first.
   *
   * @param domain the protection domain
   * @param other whose memory it is; cannot be closed meanwhile
   * @param access what may be done with it
   * @return the region
   * @throws VerbsException if it cannot be registered
   * @throws IllegalStateException if the other region is closed
   * @wraps {@code ibv_reg_mr}; verbs.h
   */
  @MustBeClosed
  public static VerbsMemoryRegion of(
      VerbsProtectionDomain domain, VerbsMemoryRegion other, VerbsAccess access) {
    other.pin();
    try {
      return register(domain, other.memory.shared(), access);
    } finally {
      other.unpin();
    }
  }

  /**
   * Registers part of a dma-buf, as memory of GPUs is passed on.
   *
   * @param domain the protection domain
   * @param part the descriptor, which stays the caller's, and the range; a call that has not
   *     returned in time still uses the descriptor, until {@link VerbsDevice#unfinishedCalls()}
   *     says that it has
   * @param access what may be done with it
   * @return the region; its bytes cannot be read or written through this object
   * @throws VerbsException if the device or the kernel cannot
   * @throws IllegalStateException if libibverbs is too old, see {@link VerbsLibrary#supports}
   * @wraps {@code ibv_reg_dmabuf_mr}; verbs.h, rdma-core 34 and later
   */
  @MustBeClosed
  public static VerbsMemoryRegion ofDmaBuf(
      VerbsProtectionDomain domain, VerbsDmaBuf part, VerbsAccess access) {
    RegionMemory there = RegionMemory.unmapped(part.address(), part.lengthBytes());
    return ofDmaBuf(domain, there, part, access, usual(domain, part.lengthBytes()));
  }

  /**
   * The rest of a registration.
   *
   * @param time how long it may take
   * @param after runs when the call has returned, or if it is not made
   */
  record Terms(Duration time, Runnable after) {}

  /** As {@link #ofDmaBuf(VerbsProtectionDomain, VerbsDmaBuf, VerbsAccess)}. */
  @MustBeClosed
  static VerbsMemoryRegion ofDmaBuf(
      VerbsProtectionDomain domain,
      RegionMemory there,
      VerbsDmaBuf part,
      VerbsAccess access,
      Terms terms) {
    return register(
        domain, there, pd -> VerbsObjectCalls.registerDmaBuf(pd, part, access.flags()), terms);
  }

  /** Registers memory by its address, which need not be the CPU's to use. */
  @MustBeClosed
  static VerbsMemoryRegion at(
      VerbsProtectionDomain domain, RegionMemory memory, VerbsAccess access, Terms terms) {
    return register(domain, memory, byAddress(memory, access), terms);
  }

  @MustBeClosed
  private static VerbsMemoryRegion register(
      VerbsProtectionDomain domain, RegionMemory memory, VerbsAccess access) {
    return at(domain, memory, access, usual(domain, memory.lengthBytes()));
  }

  private static Function<ibv_pd, ibv_mr> byAddress(RegionMemory memory, VerbsAccess access) {
    return pd ->
        VerbsObjectCalls.register(pd, memory.address(), memory.lengthBytes(), access.flags());
  }

  private static Terms usual(VerbsProtectionDomain domain, long bytes) {
    return new Terms(domain.device().timeFor(bytes), () -> {});
  }

  /** The memory is freed if nothing comes of it, but not before the device has answered. */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // its callers' callers close it
  private static VerbsMemoryRegion register(
      VerbsProtectionDomain domain,
      RegionMemory memory,
      Function<ibv_pd, ibv_mr> call,
      Terms terms) {
    AtomicBoolean taken = new AtomicBoolean();
    return domain
        .device()
        .within(
            terms.time(),
            "ibv_reg_mr",
            () -> {
              VerbsMemoryRegion out = domain.with(pd -> takeOver(domain, memory, call.apply(pd)));
              taken.set(true);
              return out;
            },
            () -> {
              if (!taken.get()) {
                memory.free();
              }
              terms.after().run();
            },
            VerbsMemoryRegion::close);
  }

  /** Takes a registration over; if that fails, as for want of memory, it is ended. */
  @SuppressWarnings("MustBeClosed") // its callers' callers close it
  private static VerbsMemoryRegion takeOver(
      VerbsProtectionDomain domain, RegionMemory memory, ibv_mr handle) {
    try {
      return new VerbsMemoryRegion(domain, memory, handle, VerbsObjectCalls.keys(handle));
    } catch (RuntimeException | Error e) {
      VerbsObjectCalls.deregister(handle);
      throw e;
    }
  }

  /**
   * The protection domain.
   *
   * @return the domain, open as long as this is
   */
  public VerbsProtectionDomain domain() {
    return domain;
  }

  /**
   * Where the memory begins.
   *
   * @return the address that a peer uses for the first byte
   */
  public long address() {
    return baseAddress;
  }

  /**
   * How long the memory is.
   *
   * @return bytes
   */
  public long lengthBytes() {
    return length;
  }

  /**
   * The key for the own adapter.
   *
   * @return 32 bits
   */
  public int lkey() {
    return lkey;
  }

  /**
   * The key for the peer.
   *
   * @return 32 bits; opens the memory to whoever knows it, as far as the rights go
   */
  public int rkey() {
    return rkey;
  }

  /**
   * Copies bytes out of the memory.
   *
   * @param offset where to begin, in bytes
   * @param into where they go; as many as fit
   * @throws IndexOutOfBoundsException if the range is not inside
   * @throws IllegalStateException if this is closed, or the memory is a GPU's
   */
  public void read(long offset, ByteBuffer into) {
    Objects.checkFromIndexSize(offset, into.remaining(), lengthBytes());
    acquire();
    try {
      memory.read(offset, into);
    } finally {
      release();
    }
  }

  /**
   * Copies bytes into the memory.
   *
   * @param offset where to begin, in bytes
   * @param from the bytes
   * @throws IndexOutOfBoundsException if the range is not inside
   * @throws IllegalStateException if this is closed, or the memory is a GPU's
   */
  public void write(long offset, ByteBuffer from) {
    Objects.checkFromIndexSize(offset, from.remaining(), lengthBytes());
    acquire();
    try {
      memory.write(offset, from);
    } finally {
      release();
    }
  }

  /** Keeps this open for a run of posted requests. */
  void pin() {
    hold();
  }

  /** Ends what {@link #pin()} began. */
  void unpin() {
    letGo();
  }

  /**
   * What else the memory is, if there is something to tell.
   *
   * @return for example that it is a stand-in for a GPU's memory
   */
  public Optional<String> note() {
    return memory.note();
  }

  /** If the adapter does not let go of the memory, that stays allocated. */
  @Override
  protected void free() {
    domain.device().end("ibv_dereg_mr", lengthBytes(), this::deregister, keepNeeds());
  }

  private void deregister() {
    VerbsObjectCalls.deregister(handle);
    REGISTERED.remove(memory);
    memory.free();
  }

  @Override
  public String toString() {
    return "memory region 0x"
        + Long.toHexString(baseAddress)
        + " of "
        + lengthBytes()
        + " bytes on "
        + domain.device();
  }
}
