package org.metrale.gpu.nccl;

import org.junit.jupiter.api.Tag;

/** On GPUs, the same as on the software GPU host: every operation, type and place. */
@Tag("gpu")
class NcclOperationsGpuTest extends NcclOperationsTest {}
