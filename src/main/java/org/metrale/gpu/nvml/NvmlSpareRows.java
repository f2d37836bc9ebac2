package org.metrale.gpu.nvml;

/**
 * Banks of memory by the spare rows that they have left.
 *
 * @param allBanks banks with all of them
 * @param highBanks banks with many
 * @param partialBanks banks with some
 * @param lowBanks banks with few
 * @param noneBanks banks with none
 */
public record NvmlSpareRows(
    long allBanks, long highBanks, long partialBanks, long lowBanks, long noneBanks) {}
