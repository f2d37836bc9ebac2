package org.metrale.gpu.nvtx;

/**
 * A category of one domain, by which a tool groups and filters.
 *
 * @param domain the domain that it belongs to
 * @param number its number, unsigned, not 0
 * @param name what the tool shows
 */
public record NvtxCategory(NvtxDomain domain, int number, String name) {}
