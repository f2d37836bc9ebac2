package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A run that claims something fails where that is not there. */
final class RequiredTagsTest {
  /** Only run by the tests below, in JVMs of their own. */
  @Tag("gpu")
  static final class Skips {
    @Test
    void finds() {
      assumeTrue(false, "a GPU");
    }
  }

  @Test
  void makesTheSkipOfARequiredTagAFailure() throws Exception {
    ForkedJvm.Result result = run("gpu,rdma");
    assertEquals(1, result.exit(), result.output());
    assertTrue(result.output().contains("skipped, but [gpu] is required"), result.output());
  }

  @Test
  void leavesOtherSkipsAsTheyAre() throws Exception {
    assertEquals(0, run("rdma").exit());
    assertEquals(0, run("").exit());
  }

  private static ForkedJvm.Result run(String required) throws Exception {
    return ForkedJvm.running(
            "org.junit.platform.console.ConsoleLauncher",
            "execute",
            "--disable-banner",
            "--select-class",
            Skips.class.getName())
        .property("metrale.require", required)
        .run();
  }
}
