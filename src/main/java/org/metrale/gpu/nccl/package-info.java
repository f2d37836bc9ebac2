/**
 * NCCL: collectives that end, or say who stopped them.
 *
 * <p><b>Purpose:</b> communicators whose every call and every operation has a deadline, that keep a
 * record of what they did, and that are aborted rather than waited for when they break.
 *
 * <p><b>Layers:</b> uses the root package, {@code cuda}, and its own generated code, the latter in
 * {@code NcclCalls} alone.
 *
 * <p><b>Threading:</b> everything may be used from any thread, pooled or virtual. A communicator
 * takes one call at a time: concurrent callers wait for each other, and the order of operations is
 * the order in which they got in. It must be the same on all ranks.
 *
 * <p><b>Blocking:</b> operations return when they are queued. Whatever can wait for peers has a
 * deadline, set in {@link org.metrale.gpu.nccl.NcclConfig} or given with the call.
 *
 * <p><b>Cleanup:</b> a communicator closes what it made (registrations, windows, memory, operators)
 * before itself. Nothing is freed by the garbage collector or when the process ends.
 */
package org.metrale.gpu.nccl;
