package org.metrale.gpu.nvml;

import java.time.Duration;

/**
 * How busy the engines of one kind were.
 *
 * @param percent of the period
 * @param period what the answer is about
 */
public record NvmlEngine(long percent, Duration period) {}
