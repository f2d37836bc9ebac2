package org.metrale.gpu.nvml;

import java.util.OptionalLong;

/**
 * How much memory a device has, and who says so.
 *
 * @param source who was asked; from {@link NvmlMemorySource#OPERATING_SYSTEM} the pool is the
 *     host's, and what the device may still take is what the host can still give
 * @param isUnified whether CPU and GPU share one address space
 * @param totalBytes all of it
 * @param reservedBytes what the driver keeps for itself; empty where that is part of used
 * @param usedBytes what is in use
 * @param freeBytes what can still be had
 */
public record NvmlMemory(
    NvmlMemorySource source,
    boolean isUnified,
    long totalBytes,
    OptionalLong reservedBytes,
    long usedBytes,
    long freeBytes) {
  /**
   * What CUDA says.
   *
   * @param isUnified whether CPU and GPU share one address space
   * @param totalBytes all of it
   * @param freeBytes what can still be had
   * @return the amounts, marked as CUDA's
   */
  public static NvmlMemory ofCuda(boolean isUnified, long totalBytes, long freeBytes) {
    return new NvmlMemory(
        NvmlMemorySource.CUDA,
        isUnified,
        totalBytes,
        OptionalLong.empty(),
        totalBytes - freeBytes,
        freeBytes);
  }
}
