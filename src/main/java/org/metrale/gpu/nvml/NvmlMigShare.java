package org.metrale.gpu.nvml;

/**
 * What share of a GPU a MIG device has.
 *
 * @param multiprocessors streaming multiprocessors
 * @param copyEngines copy engines, shared within the GPU instance
 * @param decoders video decoders, shared within the GPU instance
 * @param gpuInstanceSlices slices of the GPU instance
 * @param computeInstanceSlices slices of the compute instance
 * @param memoryBytes memory
 */
public record NvmlMigShare(
    long multiprocessors,
    long copyEngines,
    long decoders,
    long gpuInstanceSlices,
    long computeInstanceSlices,
    long memoryBytes) {}
