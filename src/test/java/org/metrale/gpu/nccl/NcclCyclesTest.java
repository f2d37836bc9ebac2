package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.SoftwareHost;

/** Making and closing communicators leaves nothing behind, every tenth of them aborted. */
@Tag("emulator")
class NcclCyclesTest {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private static void cycle(int cycles, long kibibytes) throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(CyclingJob.class, "" + cycles)
            .property("org.metrale.leaks", "trace")
            .options("-Djava.util.logging.config.file=/dev/null", "-Xmx128m")
            .deadline(Duration.ofMinutes(5))
            .run()
            .succeeded();
    assertEquals("0", result.value("pointers"));
    assertEquals("0", result.value("leaked"));
    assertEquals("0", result.value("threads"));
    // What the software GPU host, or the driver, has lent out.
    assertEquals("0", result.value("devicebytes"));
    assertTrue(Long.parseLong(result.value("files")) <= 4, result.output());
    assertTrue(Long.parseLong(result.value("kibibytes")) <= kibibytes, result.output());
  }

  @Test
  void aThousandCycles() throws Exception {
    SoftwareHost.requireDevices(2);
    cycle(1000, 65_536);
  }
}
