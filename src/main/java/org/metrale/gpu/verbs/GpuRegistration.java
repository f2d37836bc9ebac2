package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.metrale.gpu.CallLimit;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaDevice;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cuda.HostMemory;
import org.metrale.gpu.verbs.VerbsGpuMemory.Way;

/**
 * Tries the ways of registering a GPU's memory with some adapters, within the time that one call of
 * the slowest may take.
 */
final class GpuRegistration {
  private final List<VerbsProtectionDomain> domains;
  private final DeviceMemory memory;
  private final CudaBuffer whole;
  private final VerbsAccess access;
  private final long beginNanos = System.nanoTime();
  private final Duration limit;
  private final List<String> reasons = new ArrayList<>();

  GpuRegistration(List<VerbsProtectionDomain> domains, DeviceMemory memory, VerbsAccess access) {
    this.domains = domains;
    this.memory = memory;
    this.whole = memory.buffer();
    this.access = access;
    this.limit = domains.stream().map(this::longest).max(Duration::compareTo).orElseThrow();
  }

  @MustBeClosed
  VerbsGpuMemory make() {
    Loan loan = new Loan(memory, () -> {});
    try {
      return make(loan);
    } finally {
      loan.giveBack();
    }
  }

  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // the memory closes them
  private VerbsGpuMemory make(Loan loan) {
    RegionMemory there = RegionMemory.unmapped(whole.address(), whole.lengthBytes());
    List<VerbsMemoryRegion> regions = byDmaBuf(loan, there);
    if (regions != null) {
      return new VerbsGpuMemory(memory, regions, Way.DMA_BUF, "both ends can", null);
    }
    regions = byPeerMemory(loan, there);
    if (regions != null) {
      return new VerbsGpuMemory(memory, regions, Way.PEER_MEMORY, reason(), null);
    }
    HostMemory host = HostMemory.allocate(memory.context(), memory.lengthBytes());
    Loan standIn = new Loan(host, host::close);
    try {
      RegionMemory here = RegionMemory.at(host.buffer().address(), host.lengthBytes());
      regions =
          onEach(domain -> VerbsMemoryRegion.at(domain, standIn.lend(here), access, terms(domain)));
    } finally {
      standIn.giveBack();
    }
    return new VerbsGpuMemory(memory, regions, Way.PINNED_HOST, reason(), host);
  }

  private String reason() {
    return String.join("; ", reasons);
  }

  /** Null if it does not work. */
  @SuppressWarnings("MustBeClosed") // the memory closes them
  private List<VerbsMemoryRegion> byDmaBuf(Loan loan, RegionMemory there) {
    CudaDevice device = memory.context().device();
    if (!device.canDmaBuf()) {
      reasons.add("the GPU exports no dma-buf");
      return null;
    }
    if (!VerbsLibrary.supports("ibv_reg_dmabuf_mr")) {
      reasons.add("libibverbs takes no dma-buf");
      return null;
    }
    return tried("dma-buf", domain -> byDmaBuf(domain, loan, there));
  }

  @MustBeClosed
  private VerbsMemoryRegion byDmaBuf(VerbsProtectionDomain domain, Loan loan, RegionMemory there) {
    int descriptor = memory.exportDmaBuf(0, whole.lengthBytes());
    return VerbsMemoryRegion.ofDmaBuf(
        domain,
        loan.lend(there),
        new VerbsDmaBuf(descriptor, 0, whole.address(), whole.lengthBytes()),
        access,
        new VerbsMemoryRegion.Terms(
            timeFor(domain), () -> VerbsWorkCalls.closeDescriptor(descriptor)));
  }

  /** Null if it does not work. */
  @SuppressWarnings("MustBeClosed") // the memory closes them
  private List<VerbsMemoryRegion> byPeerMemory(Loan loan, RegionMemory there) {
    if (!memory.context().device().canGpuDirectRdma()) {
      reasons.add("the GPU says that adapters cannot reach it");
      return null;
    }
    return tried(
        "peer memory",
        domain -> VerbsMemoryRegion.at(domain, loan.lend(there), access, terms(domain)));
  }

  private List<VerbsMemoryRegion> tried(String way, Registration registration) {
    try {
      return onEach(registration);
    } catch (GpuException e) {
      if (e instanceof VerbsException late && late.isUnfinished()) {
        throw e;
      }
      reasons.add(way + ": " + e.getMessage());
      return null;
    }
  }

  /** Registers with one adapter. */
  private interface Registration {
    VerbsMemoryRegion on(VerbsProtectionDomain domain);
  }

  /** Registers with each adapter, or with none. */
  private List<VerbsMemoryRegion> onEach(Registration registration) {
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

  private VerbsMemoryRegion.Terms terms(VerbsProtectionDomain domain) {
    return new VerbsMemoryRegion.Terms(timeFor(domain), () -> {});
  }

  /** What is left, of the device's own time at most; one without a limit has none here. */
  private Duration timeFor(VerbsProtectionDomain domain) {
    Duration own = longest(domain);
    if (!CallLimit.isLimited(own) || !CallLimit.isLimited(limit)) {
      return own;
    }
    Duration left = limit.minusNanos(System.nanoTime() - beginNanos);
    Duration some = left.isNegative() ? Duration.ZERO : left;
    return own.compareTo(some) < 0 ? own : some;
  }

  private Duration longest(VerbsProtectionDomain domain) {
    return domain.device().timeFor(whole.lengthBytes());
  }

  /** Keeps memory open. */
  private static final class Hold extends NativeResource {
    Hold(NativeResource memory) {
      super(memory);
    }

    @Override
    protected void free() {}
  }

  /** Memory that is kept open until the last adapter or call that uses it has let go of it. */
  private static final class Loan {
    private final Hold hold;
    private final Runnable last;
    private final AtomicInteger uses = new AtomicInteger(1);

    Loan(NativeResource memory, Runnable last) {
      this.hold = new Hold(memory);
      this.last = last;
    }

    RegionMemory lend(RegionMemory memory) {
      RegionMemory out = memory.lent(this::giveBack);
      uses.incrementAndGet();
      return out;
    }

    void giveBack() {
      if (uses.decrementAndGet() == 0) {
        hold.close();
        last.run();
      }
    }
  }
}
