package org.metrale.gpu.nccl;

import org.junit.jupiter.api.Tag;

/** On GPUs, the same as on the software GPU host: a thousand communicators. */
@Tag("gpu")
class NcclCyclesGpuTest extends NcclCyclesTest {}
