package org.metrale.gpu.nvml;

/**
 * The window through which others reach a device's memory.
 *
 * @param totalBytes its size
 * @param freeBytes what is not mapped
 * @param usedBytes what is mapped
 */
public record NvmlBar1(long totalBytes, long freeBytes, long usedBytes) {}
