package org.metrale.gpu.verbs;

/**
 * Something that happened to a device without being asked for.
 *
 * @param type what
 * @param portNumber which port, or 0 if it is not about a port
 * @param queuePairNumber which queue pair, or 0 if it is not about one
 * @param sharedReceiveQueueNumber which shared receive queue, or 0 if it is not about one; {@link
 *     VerbsSharedReceiveQueue#number()}
 */
public record VerbsEvent(
    VerbsEventType type, int portNumber, int queuePairNumber, int sharedReceiveQueueNumber) {}
