package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostMemoryTest {
  @TempDir private Path folder;

  @Test
  void takesWhatIsAvailableAndNotWhatIsFree() throws Exception {
    NvmlMemory memory =
        read("MemTotal:  125000 kB\nMemFree:  1000 kB\nMemAvailable: 70000 kB\n").orElseThrow();
    assertEquals(125_000L * 1024, memory.totalBytes());
    assertEquals(70_000L * 1024, memory.freeBytes());
    assertEquals(55_000L * 1024, memory.usedBytes());
    assertEquals(NvmlMemorySource.OPERATING_SYSTEM, memory.source());
    assertTrue(memory.isUnified());
    assertTrue(memory.reservedBytes().isEmpty());
  }

  @Test
  void aHostThatDoesNotTellLeavesNothing() throws Exception {
    assertEquals(Optional.empty(), read("MemTotal: 125000 kB\n"));
    assertEquals(Optional.empty(), read("MemTotal: x kB\nMemAvailable: 1 kB\n"));
    assertEquals(Optional.empty(), read(""));
    assertEquals(Optional.empty(), new HostMemory(folder.resolve("absent")).read());
  }

  private Optional<NvmlMemory> read(String text) throws Exception {
    return new HostMemory(Files.writeString(folder.resolve("meminfo"), text)).read();
  }
}
