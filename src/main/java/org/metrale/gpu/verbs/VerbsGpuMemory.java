package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaDevice;
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
 * <p><b>Ownership:</b> the GPU's memory stays the caller's and is kept open; the stand-in is closed
 * with this.
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

  private VerbsGpuMemory(
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
   * @throws VerbsException if not even pinned host memory can be registered
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
   * @throws VerbsException if not even pinned host memory can be registered
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
    CudaDevice device = memory.context().device();
    CudaBuffer whole = memory.buffer();
    StringBuilder reasons = new StringBuilder();
    if (!device.canDmaBuf()) {
      reasons.append("the GPU exports no dma-buf");
    } else if (!VerbsLibrary.supports("ibv_reg_dmabuf_mr")) {
      reasons.append("libibverbs takes no dma-buf");
    } else {
      try {
        List<VerbsMemoryRegion> regions = onEach(domains, one -> byDmaBuf(one, memory, access));
        return new VerbsGpuMemory(memory, regions, Way.DMA_BUF, "both ends can", null);
      } catch (GpuException e) {
        reasons.append("dma-buf: ").append(e.getMessage());
      }
    }
    if (!device.canGpuDirectRdma()) {
      reasons.append("; the GPU says that adapters cannot reach it");
    } else {
      try {
        List<VerbsMemoryRegion> regions =
            onEach(
                domains,
                one ->
                    VerbsMemoryRegion.unmapped(one, whole.address(), whole.lengthBytes(), access));
        return new VerbsGpuMemory(memory, regions, Way.PEER_MEMORY, reasons.toString(), null);
      } catch (GpuException e) {
        reasons.append("; peer memory: ").append(e.getMessage());
      }
    }
    HostMemory host = HostMemory.allocate(memory.context(), memory.lengthBytes());
    try {
      long address = host.buffer().address();
      List<VerbsMemoryRegion> regions =
          onEach(
              domains, one -> VerbsMemoryRegion.borrow(one, address, host.lengthBytes(), access));
      return new VerbsGpuMemory(memory, regions, Way.PINNED_HOST, reasons.toString(), host);
    } catch (RuntimeException | Error e) {
      host.close();
      throw e;
    }
  }

  /** Registers with one adapter. */
  private interface Registration {
    VerbsMemoryRegion on(VerbsProtectionDomain domain);
  }

  /** Registers with each adapter, or with none. */
  private static List<VerbsMemoryRegion> onEach(
      List<VerbsProtectionDomain> domains, Registration registration) {
    List<VerbsMemoryRegion> regions = new ArrayList<>();
    try {
      for (VerbsProtectionDomain domain : domains) {
        regions.add(registration.on(domain));
      }
      return regions;
    } catch (RuntimeException | Error e) {
      for (VerbsMemoryRegion region : regions) {
        try {
          region.close();
        } catch (RuntimeException second) {
          e.addSuppressed(second);
        }
      }
      throw e;
    }
  }

  @MustBeClosed
  private static VerbsMemoryRegion byDmaBuf(
      VerbsProtectionDomain domain, DeviceMemory memory, VerbsAccess access) {
    CudaBuffer whole = memory.buffer();
    int descriptor = memory.exportDmaBuf(0, whole.lengthBytes());
    try {
      return VerbsMemoryRegion.ofDmaBuf(
          domain, new VerbsDmaBuf(descriptor, 0, whole.address(), whole.lengthBytes()), access);
    } finally {
      VerbsWorkCalls.closeDescriptor(descriptor);
    }
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
   * @return the stand-in, or empty if the adapter reaches the GPU's own memory
   */
  public Optional<HostMemory> standIn() {
    return Optional.ofNullable(standIn);
  }

  @Override
  protected void free() {
    regions.forEach(VerbsMemoryRegion::close);
    if (standIn != null) {
      standIn.close();
    }
  }

  @Override
  public String toString() {
    return "GPU memory by " + way + " as " + regions;
  }
}
