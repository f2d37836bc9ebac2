package org.metrale.gpu.nvml;

/**
 * What the video encoders do.
 *
 * @param sessions open sessions
 * @param framesPerSecond average over the sessions
 * @param latencyMicroseconds average over the sessions
 */
public record NvmlEncoderSessions(long sessions, long framesPerSecond, long latencyMicroseconds) {}
