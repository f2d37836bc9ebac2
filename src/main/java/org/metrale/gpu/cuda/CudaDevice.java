package org.metrale.gpu.cuda;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.UUID;

/**
 * One device as CUDA sees it; a value, with nothing to close.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class CudaDevice {
  private final int cudaOrdinal;
  private final int handle;

  CudaDevice(int cudaOrdinal, int handle) {
    this.cudaOrdinal = cudaOrdinal;
    this.handle = handle;
  }

  /**
   * The device's place in CUDA's order, which {@code CUDA_VISIBLE_DEVICES} changes.
   *
   * @return from 0; not NVML's index
   */
  public int cudaOrdinal() {
    return cudaOrdinal;
  }

  /**
   * The device's identifier, the same for every process and for NVML.
   *
   * @return the identifier
   * @throws CudaException if the driver refuses
   * @wraps {@code cuDeviceGetUuid}; cuda.h, CUDA 9.2 and later
   */
  public UUID uuid() {
    ByteBuffer bytes = ByteBuffer.wrap(CudaCalls.cuDeviceGetUuid(handle));
    return new UUID(bytes.getLong(), bytes.getLong());
  }

  /**
   * The device's PCI address.
   *
   * @return domain, bus, device and function, for example {@code 0000:0f:00.0}
   * @throws CudaException if the driver refuses
   * @wraps {@code cuDeviceGetPCIBusId}; cuda.h, CUDA 4.1 and later
   */
  public String pciAddress() {
    return CudaCalls.cuDeviceGetPCIBusId(handle);
  }

  /**
   * The product's name.
   *
   * @return for example {@code NVIDIA H200}
   * @throws CudaException if the driver refuses
   * @wraps {@code cuDeviceGetName}; cuda.h, CUDA 2.0 and later
   */
  public String name() {
    return CudaCalls.cuDeviceGetName(handle);
  }

  /**
   * The device's memory.
   *
   * @return its size in bytes
   * @throws CudaException if the driver refuses
   * @wraps {@code cuDeviceTotalMem}; cuda.h, CUDA 2.0 and later
   */
  public long memoryBytes() {
    return CudaCalls.cuDeviceTotalMem(handle);
  }

  /**
   * Any attribute.
   *
   * @param attribute a {@code CUdevice_attribute}
   * @return its value
   * @throws CudaException if the driver does not know the attribute
   * @wraps {@code cuDeviceGetAttribute}; cuda.h, CUDA 2.0 and later
   */
  public int attribute(int attribute) {
    return CudaCalls.cuDeviceGetAttribute(attribute, handle);
  }

  /**
   * Whether the device shares the host's memory.
   *
   * @return true on Grace, GB10 and Jetson
   * @throws CudaException if the driver refuses
   */
  public boolean isIntegrated() {
    return attribute(CudaCalls.ATTRIBUTE_INTEGRATED) != 0;
  }

  /**
   * Whether network adapters can reach this device's memory through a peer memory module.
   *
   * @return false also where the driver does not know
   */
  public boolean canGpuDirectRdma() {
    return attributeOrZero(CudaCalls.ATTRIBUTE_GPU_DIRECT_RDMA) != 0;
  }

  /**
   * Whether this device's memory can be exported as a dma-buf.
   *
   * @return false also where the driver does not know
   */
  public boolean canDmaBuf() {
    return attributeOrZero(CudaCalls.ATTRIBUTE_DMA_BUF) != 0;
  }

  /**
   * The device's architecture.
   *
   * @return its compute capability
   * @throws CudaException if the driver refuses
   */
  public ComputeCapability computeCapability() {
    return new ComputeCapability(
        attribute(CudaCalls.ATTRIBUTE_MAJOR), attribute(CudaCalls.ATTRIBUTE_MINOR));
  }

  /**
   * Whether this device can use another one's memory.
   *
   * @param peer the other device
   * @return false also for itself
   * @throws CudaException if the driver refuses
   * @wraps {@code cuDeviceCanAccessPeer}; cuda.h, CUDA 4.0 and later
   */
  public boolean canAccess(CudaDevice peer) {
    Objects.requireNonNull(peer, "peer");
    return CudaCalls.cuDeviceCanAccessPeer(handle, peer.handle);
  }

  int handle() {
    return handle;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CudaDevice device && device.cudaOrdinal == cudaOrdinal;
  }

  @Override
  public int hashCode() {
    return cudaOrdinal;
  }

  @Override
  public String toString() {
    return "CUDA device " + cudaOrdinal;
  }

  /** Older drivers answer "invalid value" for attributes that came after them. */
  private int attributeOrZero(int attribute) {
    try {
      return attribute(attribute);
    } catch (CudaException e) {
      if (e.code() == CudaResult.INVALID_VALUE.code()) {
        return 0;
      }
      throw e;
    }
  }

  /**
   * The architecture of a device.
   *
   * @param major for example 9
   * @param minor for example 0
   */
  public record ComputeCapability(int major, int minor) {
    @Override
    public String toString() {
      return major + "." + minor;
    }
  }
}
