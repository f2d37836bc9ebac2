package org.metrale.gpu.nccl;

import org.junit.jupiter.api.Tag;

/** On GPUs, the same as on the software GPU host: what communicators can do besides operations. */
@Tag("gpu")
class NcclFeaturesGpuTest extends NcclFeaturesTest {}
