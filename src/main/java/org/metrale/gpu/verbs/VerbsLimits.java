package org.metrale.gpu.verbs;

/**
 * What a device can do at most.
 *
 * @param queuePairs how many queue pairs there may be
 * @param workRequests the longest send or receive queue
 * @param completionQueues how many completion queues there may be
 * @param completions the longest completion queue
 * @param memoryRegions how many regions there may be
 * @param regionBytes the longest region
 * @param protectionDomains how many protection domains there may be
 * @param readsIn reads and atomics that a queue pair answers at the same time
 * @param readsOut reads and atomics that a queue pair may have in flight
 * @param ports how many ports it has, numbered from 1
 * @param sharedReceiveQueues how many shared receive queues there may be, 0 if it knows none
 * @param sharedReceives the longest shared receive queue
 */
public record VerbsLimits(
    int queuePairs,
    int workRequests,
    int completionQueues,
    int completions,
    int memoryRegions,
    long regionBytes,
    int protectionDomains,
    int readsIn,
    int readsOut,
    int ports,
    int sharedReceiveQueues,
    int sharedReceives) {}
