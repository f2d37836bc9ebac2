package org.metrale.gpu.nvml;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * Something that happened to a device.
 *
 * @param device the GPU that it happened to
 * @param typeMask NVML's bit for what happened, known to this build or not
 * @param data for an Xid its number, else 0
 * @param gpuInstanceId the GPU instance that it happened to; empty outside MIG and on old drivers
 * @param computeInstanceId the compute instance; empty outside MIG and on old drivers
 */
public record NvmlEvent(
    NvmlDevice device,
    long typeMask,
    long data,
    OptionalLong gpuInstanceId,
    OptionalLong computeInstanceId) {
  /**
   * What happened.
   *
   * @return the type, or empty if this build does not know it
   */
  public Optional<NvmlEventType> type() {
    return NvmlEventType.of(typeMask).stream().findFirst();
  }
}
