/**
 * Ranges, marks and names for a profiler, free while none is attached.
 *
 * <p><b>Purpose:</b> {@link org.metrale.gpu.nvtx.NvtxDomain} makes ranges. A {@link
 * org.metrale.gpu.nvtx.NvtxRange} is pushed and popped on the stack of its thread; a {@link
 * org.metrale.gpu.nvtx.NvtxSpan} is started on one thread and may end on another. Tools show both,
 * but not always alike: pushed ranges nest and are invisible from other threads, started ones may
 * cross, and some tools leave them out of their statistics. Use a range for what begins and ends in
 * one method, a span for the rest.
 *
 * <p><b>Cost:</b> a tool is looked for once a process, at first use, as NVTX itself does it ({@code
 * NVTX_INJECTION64_PATH}). Without one every call here ends at a constant that the JIT knows: no
 * text is converted, nothing is allocated, no native call is made.
 *
 * <p><b>Names</b> are UTF-8. A NUL, which would end the name, becomes U+2400, a surrogate without
 * its partner U+FFFD. Names are registered with the tool, which its filters and triggers need, up
 * to {@code org.metrale.nvtx.names} (4,096) names a domain; later ones are passed as text.
 *
 * <p><b>Properties:</b> {@code org.metrale.nvtx.check=true} checks nesting without a tool too;
 * {@code org.metrale.nvtx.jfr=true} makes a JDK Flight Recorder event of every range and span, with
 * or without a tool.
 *
 * <p><b>Layers:</b> uses the root package and the generated NVTX classes.
 *
 * <p><b>Threading:</b> everything may be used from any thread, except that a range is closed by the
 * thread that pushed it.
 *
 * <p><b>Cleanup:</b> nothing needs closing but ranges and spans.
 */
package org.metrale.gpu.nvtx;
