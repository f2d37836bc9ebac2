/**
 * NVIDIA's management library: what GPUs are here and how they fare.
 *
 * <p><b>Purpose:</b> {@link org.metrale.gpu.nvml.Nvml} opens a session, finds {@link
 * org.metrale.gpu.nvml.NvmlDevice}s and reads them; {@link org.metrale.gpu.nvml.NvmlSampler} reads
 * one at a fixed rate; {@link org.metrale.gpu.nvml.NvmlEventSet} waits for what happens to them.
 * What a sensor answers is a {@link org.metrale.gpu.nvml.NvmlReading}: a value, absent, denied or
 * failed, and never one taken for another. A function that an old driver lacks is an absent
 * reading, not an error.
 *
 * <p><b>Layers:</b> uses the root package, CUDA's devices, JavaCPP and its own generated package.
 *
 * <p><b>Threading:</b> every type is safe for any number of threads unless it says otherwise.
 *
 * <p><b>Blocking:</b> every call is given up after the times of {@link
 * org.metrale.gpu.nvml.NvmlOptions}, by a thread of this module that stays with it; {@link
 * org.metrale.gpu.nvml.Nvml#unfinishedCalls()} counts them. A sampler's own thread makes its one
 * call for a sample by itself: where that does not return, samples say that they are overdue.
 *
 * <p><b>Cleanup:</b> close what {@code open}, {@code create} and {@code start} made, before the
 * session they were made from. Nothing is freed by the garbage collector. NVML counts sessions
 * itself, so two of them in one process do not disturb each other.
 *
 * <p><b>Not promised:</b> NVML's index is not CUDA's ordinal: see {@link
 * org.metrale.gpu.nvml.Nvml#cudaDevice}. Nothing here changes a setting of a GPU.
 */
package org.metrale.gpu.nvml;
