package org.metrale.gpu.verbs;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.metrale.gpu.SoftwareHost;

/** On the software GPU host. */
@Tag("emulator")
final class VerbsSharedTest extends VerbsSharedCases {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }
}
