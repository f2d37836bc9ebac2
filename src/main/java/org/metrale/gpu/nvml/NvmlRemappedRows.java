package org.metrale.gpu.nvml;

/**
 * Rows of memory that others stand in for.
 *
 * @param corrected because of errors that were corrected
 * @param uncorrected because of errors that were not
 * @param isPending whether one waits for a reset
 * @param hasFailed whether one could not be replaced
 */
public record NvmlRemappedRows(
    long corrected, long uncorrected, boolean isPending, boolean hasFailed) {}
