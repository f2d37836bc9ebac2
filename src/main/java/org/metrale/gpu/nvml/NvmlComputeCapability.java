package org.metrale.gpu.nvml;

/**
 * What code a device can run.
 *
 * @param major for example 9 for Hopper
 * @param minor the number after the point
 */
public record NvmlComputeCapability(int major, int minor) {}
