package org.metrale.gpu.nccl;

import org.junit.jupiter.api.Tag;

/** On GPUs, the same as on the software GPU host: memory that collectives work on. */
@Tag("gpu")
class NcclBufferLifetimeGpuTest extends NcclBufferLifetimeTest {}
