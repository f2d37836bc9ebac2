/**
 * RDMA verbs, checked: devices, memory, queues and connections.
 *
 * <p><b>Purpose:</b> what {@code libibverbs} offers for reading and writing a peer's memory and for
 * messages, with every code as an exception or a value and every object closed once and in order. A
 * connection is made in this order: {@link org.metrale.gpu.verbs.VerbsDevice}, {@link
 * org.metrale.gpu.verbs.VerbsProtectionDomain}, {@link org.metrale.gpu.verbs.VerbsMemoryRegion} and
 * {@link org.metrale.gpu.verbs.VerbsCompletionQueue}, {@link
 * org.metrale.gpu.verbs.VerbsPreparedQueuePair}, then, when the peer's numbers are known, {@link
 * org.metrale.gpu.verbs.VerbsQueuePair}. Requests are posted from a {@link
 * org.metrale.gpu.verbs.VerbsWorkBatch} and found again in {@link
 * org.metrale.gpu.verbs.VerbsCompletions}, both made once and used again and again; room for what
 * the peer sends is posted from a {@link org.metrale.gpu.verbs.VerbsReceiveBatch}, also before the
 * connection, to the queue pair or to a {@link org.metrale.gpu.verbs.VerbsSharedReceiveQueue} of
 * several.
 *
 * <p><b>What not:</b> no datagrams, memory windows or fences between requests, and one range of
 * memory a request.
 *
 * <p><b>Layers:</b> uses {@code org.metrale.gpu}, {@code org.metrale.gpu.cuda} for the memory of
 * GPUs, its own generated package and JavaCPP; only the classes called {@code Verbs...Calls} call
 * generated code.
 *
 * <p><b>Threading:</b> values are immutable; batches and lists of completions belong to one thread;
 * everything else may be used by any number of threads.
 *
 * <p><b>Cleanup:</b> whatever is opened here is a {@link org.metrale.gpu.NativeResource}. Nothing
 * can be closed while something made from it is open, nor memory while a posted request names it.
 */
package org.metrale.gpu.verbs;
