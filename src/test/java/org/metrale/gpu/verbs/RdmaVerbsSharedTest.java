package org.metrale.gpu.verbs;

import org.junit.jupiter.api.Tag;

/** On real RDMA devices. */
@Tag("rdma")
final class RdmaVerbsSharedTest extends VerbsSharedCases {}
