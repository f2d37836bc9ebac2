package org.metrale.tools;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaDriver;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cuda.HostMemory;
import org.metrale.gpu.cufile.CuFileMemory;

/**
 * Where all ways read to, so that they do the same job: memory of a GPU, or of the host where there
 * is none. Open it before cuFile's driver and close it after.
 */
final class GdsTarget implements AutoCloseable {
  private static final Duration COPY_TIMEOUT = Duration.ofSeconds(30);

  /** More than any file system asks for. */
  private static final int ALIGNMENT = 64 << 10;

  private final ByteBuffer host;
  private final String noGpu;
  private CudaContext context;
  private HostMemory pinned;
  private DeviceMemory device;

  private GdsTarget(ByteBuffer host, String noGpu) {
    this.host = host;
    this.noGpu = noGpu;
  }

  /** Takes a GPU's memory, or says why the host's. */
  static GdsTarget open(int cudaOrdinal, long bytes) throws ToolException {
    int padded = Math.toIntExact((bytes + 2L * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    ByteBuffer host =
        ByteBuffer.allocateDirect(padded).alignedSlice(ALIGNMENT).slice(0, (int) bytes);
    try {
      int devices = CudaDriver.deviceCount();
      if (devices == 0) {
        return new GdsTarget(host, "CUDA counts no GPU");
      }
      if (cudaOrdinal >= devices) {
        throw new ToolException("--gpu " + cudaOrdinal + ": there are " + devices);
      }
    } catch (GpuException e) {
      return new GdsTarget(host, Messages.brief(e));
    }
    GdsTarget out = new GdsTarget(host, "");
    try {
      out.take(cudaOrdinal, bytes);
      return out;
    } catch (GpuException e) {
      out.close();
      throw e;
    }
  }

  @SuppressWarnings("MustBeClosed") // close() closes them
  private void take(int cudaOrdinal, long bytes) {
    context = CudaContext.openPrimary(cudaOrdinal);
    pinned = HostMemory.register(context, host);
    device = DeviceMemory.allocate(context, bytes);
  }

  boolean isDevice() {
    return device != null;
  }

  /** Why the host's memory was taken; empty if it was not. */
  String noGpu() {
    return noGpu;
  }

  String title() {
    return isDevice() ? "memory of " + context.device().name() : "host memory";
  }

  CuFileMemory memory() {
    return isDevice() ? CuFileMemory.of(device) : CuFileMemory.of(host.duplicate().clear());
  }

  /** A buffer of the host that bytes for the target may pass through, its limit set. */
  ByteBuffer staging(int lengthBytes) {
    return host.duplicate().clear().limit(lengthBytes);
  }

  /** Brings what is in the staging buffer to the target; done when this returns. */
  void complete(int lengthBytes) throws ToolException, InterruptedException {
    if (isDevice()) {
      copy(pinned.buffer(0, lengthBytes), device.buffer(0, lengthBytes));
    }
  }

  /** What is in the target now. */
  ByteBuffer contents(int lengthBytes) throws ToolException, InterruptedException {
    ByteBuffer out = ByteBuffer.allocateDirect(lengthBytes);
    if (isDevice()) {
      copy(device.buffer(0, lengthBytes), CudaBuffer.of(out));
    } else {
      out.put(staging(lengthBytes)).flip();
    }
    return out;
  }

  private void copy(CudaBuffer source, CudaBuffer target)
      throws ToolException, InterruptedException {
    if (!context.copy(source, target, COPY_TIMEOUT)) {
      throw new ToolException("a copy took longer than " + COPY_TIMEOUT.toSeconds() + " s");
    }
  }

  @Override
  public void close() {
    Optional.ofNullable(device).ifPresent(DeviceMemory::close);
    Optional.ofNullable(pinned).ifPresent(HostMemory::close);
    Optional.ofNullable(context).ifPresent(CudaContext::close);
  }
}
