package org.metrale.gpu.nvml;

/**
 * What a power limit may be set to.
 *
 * @param leastMilliwatts the least
 * @param mostMilliwatts the most
 */
public record NvmlPowerRange(long leastMilliwatts, long mostMilliwatts) {}
