/**
 * CUDA devices, contexts, streams, events and memory: everything around a kernel but kernels.
 *
 * <p><b>Purpose:</b> what collectives, direct storage and transfers stand on. The types are also
 * made from, and handed out as, the JavaCPP types of an existing program.
 *
 * <p><b>Layers:</b> uses the root package and its own generated code, the latter in {@code
 * CudaCalls} alone. {@code nccl}, {@code cufile}, {@code nvml} and {@code verbs} may use this
 * package.
 *
 * <p><b>Threading:</b> everything may be used from any thread, pooled or virtual. No call depends
 * on which context is current, and every call leaves the current one as it was.
 *
 * <p><b>Blocking:</b> calls that can wait for a device take a {@link java.time.Duration} or answer
 * with a {@link java.util.concurrent.CompletionStage}. Those that have neither (allocating, pinning
 * and freeing memory, closing, copies of pageable memory) are bounded by their context, see {@link
 * org.metrale.gpu.cuda.CudaContext#openPrimary(CudaDevice, java.time.Duration)}.
 *
 * <p><b>Cleanup:</b> a context is closed after the streams, events and memory made in it. Memory
 * that a copy in flight uses stays open until the copy is done.
 */
package org.metrale.gpu.cuda;
