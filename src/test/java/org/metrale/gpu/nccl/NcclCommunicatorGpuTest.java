package org.metrale.gpu.nccl;

import org.junit.jupiter.api.Tag;

/**
 * On GPUs, the same as on the software GPU host: making, using, aborting and closing communicators.
 */
@Tag("gpu")
class NcclCommunicatorGpuTest extends NcclCommunicatorTest {}
