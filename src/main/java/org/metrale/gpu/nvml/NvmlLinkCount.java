package org.metrale.gpu.nvml;

/**
 * How many NVLinks a device has.
 *
 * @param active links that are up
 * @param present links that answered
 */
public record NvmlLinkCount(long active, long present) {}
