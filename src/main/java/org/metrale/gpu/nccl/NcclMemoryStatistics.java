package org.metrale.gpu.nccl;

/**
 * How much device memory a communicator holds.
 *
 * @param suspendableBytes what {@link NcclCommunicator#suspend()} can release
 * @param suspended whether it is released now
 * @param persistentBytes what stays allocated in any case
 * @param totalBytes everything that NCCL keeps account of
 */
public record NcclMemoryStatistics(
    long suspendableBytes, boolean suspended, long persistentBytes, long totalBytes) {}
