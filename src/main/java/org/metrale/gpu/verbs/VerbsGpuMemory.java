package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
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

  private final VerbsMemoryRegion region;
  private final Way way;
  private final String reason;
  private final HostMemory standIn;

  private VerbsGpuMemory(
      DeviceMemory memory, VerbsMemoryRegion region, Way way, String reason, HostMemory standIn) {
    super(memory);
    this.region = region;
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
  @SuppressWarnings("MustBeClosed") // free() closes the region and the stand-in
  public static VerbsGpuMemory register(
      VerbsProtectionDomain domain, DeviceMemory memory, VerbsAccess access) {
    CudaDevice device = memory.context().device();
    StringBuilder reasons = new StringBuilder();
    if (!device.canDmaBuf()) {
      reasons.append("the GPU exports no dma-buf");
    } else if (!VerbsLibrary.supports("ibv_reg_dmabuf_mr")) {
      reasons.append("libibverbs takes no dma-buf");
    } else {
      try {
        VerbsMemoryRegion region = byDmaBuf(domain, memory, access);
        return new VerbsGpuMemory(memory, region, Way.DMA_BUF, "both ends can", null);
      } catch (GpuException e) {
        reasons.append("dma-buf: ").append(e.getMessage());
      }
    }
    if (!device.canGpuDirectRdma()) {
      reasons.append("; the GPU says that adapters cannot reach it");
    } else {
      try {
        CudaBuffer whole = memory.buffer();
        VerbsMemoryRegion region =
            VerbsMemoryRegion.unmapped(domain, whole.address(), whole.lengthBytes(), access);
        return new VerbsGpuMemory(memory, region, Way.PEER_MEMORY, reasons.toString(), null);
      } catch (GpuException e) {
        reasons.append("; peer memory: ").append(e.getMessage());
      }
    }
    return byStandIn(domain, memory, access, reasons.toString());
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

  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // free() closes the region and the stand-in
  private static VerbsGpuMemory byStandIn(
      VerbsProtectionDomain domain, DeviceMemory memory, VerbsAccess access, String reason) {
    HostMemory host = HostMemory.allocate(memory.context(), memory.lengthBytes());
    try {
      VerbsMemoryRegion region =
          VerbsMemoryRegion.borrow(domain, host.buffer().address(), host.lengthBytes(), access);
      return new VerbsGpuMemory(memory, region, Way.PINNED_HOST, reason, host);
    } catch (RuntimeException | Error e) {
      host.close();
      throw e;
    }
  }

  /**
   * The region that requests name.
   *
   * @return the region, open until this is closed
   */
  public VerbsMemoryRegion region() {
    return region;
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
    region.close();
    if (standIn != null) {
      standIn.close();
    }
  }

  @Override
  public String toString() {
    return "GPU memory by " + way + " as " + region;
  }
}
