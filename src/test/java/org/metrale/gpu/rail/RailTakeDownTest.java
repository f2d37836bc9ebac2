package org.metrale.gpu.rail;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.metrale.gpu.SoftwareHost;

/** On the software GPU host. */
@Tag("emulator")
final class RailTakeDownTest extends RailTakeDownCases {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }
}
