package org.metrale.gpu.rail;

import com.google.errorprone.annotations.MustBeClosed;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsGpuMemory;
import org.metrale.gpu.verbs.VerbsMemoryRegion;
import org.metrale.gpu.verbs.VerbsProtectionDomain;

/**
 * Memory of this side that is registered on every rail of a set, once.
 *
 * <p><b>Ownership:</b> cannot be closed while a transfer uses it; a transfer that was given up uses
 * it until its rail is down.
 *
 * <p><b>Threading:</b> safe for any number of threads; nothing orders their bytes.
 */
public final class RailMemory extends NativeResource {
  private final RailSet rails;
  private final List<VerbsMemoryRegion> regions;

  /** What the regions are part of, and closed with; null if they are this object's own. */
  private final VerbsGpuMemory gpu;

  private RailMemory(RailSet rails, List<VerbsMemoryRegion> regions, VerbsGpuMemory gpu) {
    super(rails);
    this.rails = rails;
    this.regions = regions;
    this.gpu = gpu;
  }

  /**
   * Allocates zeroed memory and registers it.
   *
   * @param rails the rails to register it on
   * @param lengthBytes how much, from 1
   * @param access what may be done with it; {@link VerbsAccess#LOCAL_WRITE} to read into it
   * @return the memory
   * @throws org.metrale.gpu.verbs.VerbsException if it cannot be registered; nothing is left of it
   * @throws OutOfMemoryError if there is not that much memory
   */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // the memory closes its regions
  public static RailMemory allocate(RailSet rails, long lengthBytes, VerbsAccess access) {
    return register(
        rails, access, domain -> VerbsMemoryRegion.allocate(domain, lengthBytes, access));
  }

  /**
   * Registers a direct buffer, mapped files included, from its position to its limit.
   *
   * @param rails the rails to register it on
   * @param buffer a direct buffer
   * @param access what may be done with it
   * @return the memory, which keeps the buffer reachable
   * @throws org.metrale.gpu.verbs.VerbsException if it cannot be registered; nothing is left of it
   * @throws IllegalArgumentException if the buffer cannot be used
   */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // the memory closes its regions
  public static RailMemory of(RailSet rails, ByteBuffer buffer, VerbsAccess access) {
    return register(rails, access, domain -> VerbsMemoryRegion.of(domain, buffer, access));
  }

  /**
   * Registers memory by its address.
   *
   * @param rails the rails to register it on
   * @param buffer where it is; the caller keeps it valid until this is closed
   * @param access what may be done with it
   * @return the memory
   * @throws org.metrale.gpu.verbs.VerbsException if it cannot be registered; nothing is left of it
   */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // the memory closes its regions
  public static RailMemory borrow(RailSet rails, RailBuffer buffer, VerbsAccess access) {
    return register(
        rails,
        access,
        domain -> VerbsMemoryRegion.borrow(domain, buffer.address(), buffer.lengthBytes(), access));
  }

  /**
   * A GPU's memory, or pinned host memory as its stand-in where one of the adapters cannot reach
   * it:
   *
   * <pre>{@code
   * RailMemory.ofGpu(
   *     rails, domains -> VerbsGpuMemory.register(domains, memory, VerbsAccess.LOCAL_WRITE));
   * }</pre>
   *
   * @param rails the rails to register it on
   * @param register registers it on all of the rails' protection domains
   * @return the memory; which of the two it is, {@link #gpu()} says
   * @throws org.metrale.gpu.verbs.VerbsException if it cannot be registered; nothing is left of it
   */
  @MustBeClosed
  public static RailMemory ofGpu(
      RailSet rails, Function<List<VerbsProtectionDomain>, VerbsGpuMemory> register) {
    VerbsGpuMemory gpu = register.apply(rails.domains());
    try {
      if (gpu.regions().size() != rails.size()) {
        throw new IllegalArgumentException(
            gpu + ": wanted a region for each of " + rails.size() + " rails");
      }
      return new RailMemory(rails, gpu.regions(), gpu);
    } catch (RuntimeException | Error e) {
      Closing.afterFailure(e, List.of(gpu));
      throw e;
    }
  }

  /** Makes the region of the first rail, whose memory the others share. */
  private interface First {
    VerbsMemoryRegion on(VerbsProtectionDomain domain);
  }

  @SuppressWarnings("MustBeClosed") // the memory closes them
  private static RailMemory register(RailSet rails, VerbsAccess access, First first) {
    List<VerbsMemoryRegion> regions = new ArrayList<>();
    try {
      regions.add(first.on(rails.domain(0)));
      for (int rail = 1; rail < rails.size(); rail++) {
        regions.add(VerbsMemoryRegion.of(rails.domain(rail), regions.get(0), access));
      }
      return new RailMemory(rails, regions, null);
    } catch (RuntimeException | Error e) {
      Closing.afterFailure(e, regions);
      throw e;
    }
  }

  /**
   * How long the memory is.
   *
   * @return bytes
   */
  public long lengthBytes() {
    return regions.get(0).lengthBytes();
  }

  /**
   * Where the memory is.
   *
   * @return the address, on every rail the same
   */
  public long address() {
    return regions.get(0).address();
  }

  /**
   * Copies bytes out of the memory.
   *
   * @param offset where to begin, in bytes
   * @param into where they go; as many as fit
   * @throws IndexOutOfBoundsException if the range is not inside
   * @throws IllegalStateException if this is closed, or a GPU's memory without a stand-in
   */
  public void read(long offset, ByteBuffer into) {
    regions.get(0).read(offset, into);
  }

  /**
   * Copies bytes into the memory.
   *
   * @param offset where to begin, in bytes
   * @param from the bytes
   * @throws IndexOutOfBoundsException if the range is not inside
   * @throws IllegalStateException if this is closed, or a GPU's memory without a stand-in
   */
  public void write(long offset, ByteBuffer from) {
    regions.get(0).write(offset, from);
  }

  /**
   * The GPU's memory that this is.
   *
   * @return the memory with the way that adapters get at it, or empty if this is no GPU's
   */
  public Optional<VerbsGpuMemory> gpu() {
    return Optional.ofNullable(gpu);
  }

  RailSet rails() {
    return rails;
  }

  VerbsMemoryRegion region(int rail) {
    return regions.get(rail);
  }

  /** Keeps this open for a transfer. */
  void pin() {
    hold();
  }

  /** Ends what {@link #pin()} began. */
  void unpin() {
    letGo();
  }

  @Override
  protected void free() {
    Closing.all(gpu == null ? regions : List.of(gpu));
  }

  @Override
  public String toString() {
    return "rail memory of " + lengthBytes() + " bytes on " + rails;
  }
}
