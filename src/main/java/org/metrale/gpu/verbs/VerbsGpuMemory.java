package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.List;
import java.util.Optional;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cuda.HostMemory;

/**
 * A GPU's memory for an adapter: registered itself where adapter, kernel and GPU can, else with
 * pinned host memory as its stand-in. Which of them it is, and why, is part of the answer.
 *
 * <p>A dma-buf is made of whole pages: memory whose length is not a multiple of the host's page
 * size is reached in another way.
 *
 * <p>Nothing is copied here: with a stand-in the caller copies between it and the GPU's memory,
 * before a write and after a read.
 *
 * <p><b>Blocking:</b> registering takes as long as one call on the slowest of the devices may, see
 * {@link VerbsDevice#open(String, java.time.Duration)}, and as much again to undo what was done. A
 * call that does not return has used that up: no other way is tried.
 *
 * <p><b>Ownership:</b> the GPU's memory stays the caller's and is kept open, from the first call on
 * until the adapters have let go of it; the stand-in is closed with this, and not before that. This
 * cannot be closed while a posted request names one of its regions; the others are closed then.
 */
public final class VerbsGpuMemory extends NativeResource {
  /** How an adapter gets at the bytes. */
  public enum Way {
    /** Straight, by a dma-buf. */
    DMA_BUF,
    /** Straight, by the kernel's peer memory module. */
    PEER_MEMORY,
    /** By way of pinned host memory. */
    PINNED_HOST
  }

  private final List<VerbsMemoryRegion> regions;
  private final Way way;
  private final String reason;
  private final HostMemory standIn;

  /** What went wrong when the regions were closed; null if nothing did. */
  private RuntimeException failure;

  /** The last region to be closed closes the stand-in, if there is one. */
  VerbsGpuMemory(
      DeviceMemory memory,
      List<VerbsMemoryRegion> regions,
      Way way,
      String reason,
      HostMemory standIn) {
    super(memory);
    this.regions = List.copyOf(regions);
    this.way = way;
    this.reason = reason;
    this.standIn = standIn;
  }

  /**
   * Registers a GPU's memory in the best way that works here.
   *
   * @param domain the protection domain
   * @param memory the GPU's memory, whole
   * @param access what may be done with it
   * @return the memory as the adapter sees it
   * @throws VerbsException if not even pinned host memory can be registered, or a device does not
   *     answer in time
   * @wraps {@code ibv_reg_dmabuf_mr}, {@code ibv_reg_mr}; verbs.h
   */
  @MustBeClosed
  public static VerbsGpuMemory register(
      VerbsProtectionDomain domain, DeviceMemory memory, VerbsAccess access) {
    return register(List.of(domain), memory, access);
  }

  /**
   * Registers a GPU's memory with several adapters, in the best way that works for all of them:
   * what one brings into a stand-in has to be where the others bring theirs.
   *
   * @param domains the protection domains, one an adapter
   * @param memory the GPU's memory, whole
   * @param access what may be done with it
   * @return the memory as the adapters see it
   * @throws VerbsException if not even pinned host memory can be registered, or a device does not
   *     answer in time
   * @throws IllegalArgumentException if there is no domain
   * @wraps {@code ibv_reg_dmabuf_mr}, {@code ibv_reg_mr}; verbs.h
   */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // free() closes the regions and the stand-in
  public static VerbsGpuMemory register(
      List<VerbsProtectionDomain> domains, DeviceMemory memory, VerbsAccess access) {
    if (domains.isEmpty()) {
      throw new IllegalArgumentException("no domain");
    }
    return new GpuRegistration(domains, memory, access).make();
  }

  /**
   * The region that requests name; the first adapter's, if there are several.
   *
   * @return the region, open until this is closed
   */
  public VerbsMemoryRegion region() {
    return regions.get(0);
  }

  /**
   * The regions that requests name.
   *
   * @return one an adapter, in the order of the domains, open until this is closed
   */
  public List<VerbsMemoryRegion> regions() {
    return regions;
  }

  /**
   * How the adapter gets at the bytes.
   *
   * @return the way that was found
   */
  public Way way() {
    return way;
  }

  /**
   * Why not a better way.
   *
   * @return what stood in the way of the others
   */
  public String reason() {
    return reason;
  }

  /**
   * The host memory that the adapter uses instead, to be copied to or from.
   *
   * @return the stand-in, which cannot be closed before this, or empty if the adapter reaches the
   *     GPU's own memory
   */
  public Optional<HostMemory> standIn() {
    return Optional.ofNullable(standIn);
  }

  /** Closes the regions; refused as long as a posted request names one, which stays open. */
  @Override
  protected void closeOwn() {
    RuntimeException refused = null;
    for (VerbsMemoryRegion region : regions) {
      try {
        region.close();
      } catch (RuntimeException e) {
        if (region.isClosed()) {
          failure = with(failure, e);
        } else {
          refused = with(refused, e);
        }
      }
    }
    if (refused != null) {
      throw refused;
    }
  }

  private static RuntimeException with(RuntimeException first, RuntimeException next) {
    if (first == null) {
      return next;
    }
    first.addSuppressed(next);
    return first;
  }

  @Override
  protected void free() {
    if (failure != null) {
      throw failure;
    }
  }

  @Override
  public String toString() {
    return "GPU memory by " + way + " as " + regions;
  }
}
