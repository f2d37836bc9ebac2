package org.metrale.gpu.rail;

import org.junit.jupiter.api.Tag;

/** On real RDMA devices. */
@Tag("rdma")
final class RdmaRailTakeDownTest extends RailTakeDownCases {}
