package org.metrale.gpu.nvml;

/**
 * What will be repaired at the next reset.
 *
 * @param isChannelPending whether a memory channel will be
 * @param isTpcPending whether a texture processing cluster will be
 */
public record NvmlRepair(boolean isChannelPending, boolean isTpcPending) {}
