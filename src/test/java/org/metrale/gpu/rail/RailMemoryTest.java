package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.verbs.VerbsAccess;

/** Memory of which one adapter does not let go, on the software GPU host. */
@Tag("emulator")
@Timeout(60)
final class RailMemoryTest {
  /** An adapter that still has it would write to what is somebody else's by then. */
  @ParameterizedTest
  @CsvSource({
    "ibv_dereg_mr device=0 code=16, false",
    "ibv_dereg_mr device=1 code=16, false",
    "ibv_dereg_mr device=1 hang, false",
    "ibv_dereg_mr device=0 block=1500, true",
    "ibv_dereg_mr device=1 block=1500, true",
  })
  void staysAllocatedWhileOneOfItsAdaptersHasIt(
      String fault, boolean comesBack, @TempDir Path folder) throws Exception {
    ForkedJvm.Result said =
        SoftwareHost.running(
                folder, "fault = ibverbs." + fault, Probe.class, String.valueOf(comesBack))
            .run()
            .succeeded();
    assertTrue(said.value("close").startsWith("ibv_dereg_mr"), said::toString);
    assertEquals("true", said.value("there"), said::toString);
  }

  /** Says whether the memory is there when it could not be closed; later it has to go. */
  static final class Probe {
    /** Of a mapping of its own in every C library. */
    private static final int BYTES = 64 << 20;

    private Probe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // below, if it can be
    public static void main(String[] arguments) throws Exception {
      RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()), Duration.ofMillis(500));
      RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
      RuntimeException e = assertThrows(RuntimeException.class, memory::close);
      System.out.println("close=" + e.getMessage());
      System.out.println("there=" + isThere(memory.address()));
      if (Boolean.parseBoolean(arguments[0])) {
        while (isThere(memory.address())) {
          Thread.sleep(1);
        }
        RailListenerTest.untilClosed(rails);
      }
    }

    private static boolean isThere(long address) throws IOException {
      for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
        String[] ends = line.split("[- ]", 3);
        if (Long.compareUnsigned(Long.parseUnsignedLong(ends[0], 16), address) <= 0
            && Long.compareUnsigned(address, Long.parseUnsignedLong(ends[1], 16)) < 0) {
          return true;
        }
      }
      return false;
    }
  }
}
