package org.metrale.gpu.cuda;

import org.junit.jupiter.api.Tag;

/** On GPUs, the same as on the software GPU host: streams, events and memory. */
@Tag("gpu")
class CudaStreamGpuTest extends CudaStreamTest {}
