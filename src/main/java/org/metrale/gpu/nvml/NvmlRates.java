package org.metrale.gpu.nvml;

/**
 * How busy a device was over the last period of the driver's choice.
 *
 * @param gpuPercent of the time in which at least one kernel ran
 * @param memoryPercent of the time in which memory was read or written
 */
public record NvmlRates(long gpuPercent, long memoryPercent) {}
