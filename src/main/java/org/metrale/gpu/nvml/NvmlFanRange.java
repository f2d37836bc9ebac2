package org.metrale.gpu.nvml;

/**
 * What a fan may be set to.
 *
 * @param leastPercent the least
 * @param mostPercent the most
 */
public record NvmlFanRange(long leastPercent, long mostPercent) {}
