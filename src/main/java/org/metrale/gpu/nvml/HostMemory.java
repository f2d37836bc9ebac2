package org.metrale.gpu.nvml;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The host's memory as its kernel counts it. {@code MemAvailable} and not {@code MemFree}: the page
 * cache goes away when somebody needs the memory, so it is not in use.
 */
final class HostMemory {
  private static final HostMemory HERE = new HostMemory(Path.of("/proc/meminfo"));
  private static final long BYTES_PER_KIBIBYTE = 1024;

  private final Path file;

  HostMemory(Path file) {
    this.file = file;
  }

  static HostMemory here() {
    return HERE;
  }

  /** Empty where the kernel does not tell. */
  Optional<NvmlMemory> read() {
    long total = -1;
    long available = -1;
    try {
      for (String line : Files.readAllLines(file, StandardCharsets.ISO_8859_1)) {
        total = line.startsWith("MemTotal:") ? bytes(line) : total;
        available = line.startsWith("MemAvailable:") ? bytes(line) : available;
      }
    } catch (IOException e) {
      // No such file, or one that must not be read: the reading stays absent.
      return Optional.empty();
    }
    if (total < 0 || available < 0) {
      return Optional.empty();
    }
    return Optional.of(
        new NvmlMemory(
            NvmlMemorySource.OPERATING_SYSTEM,
            true,
            total,
            OptionalLong.empty(),
            total - available,
            available));
  }

  private static long bytes(String line) {
    String digits = line.replaceAll("[^0-9]", "");
    return digits.isEmpty() || digits.length() > 15
        ? -1
        : Long.parseLong(digits) * BYTES_PER_KIBIBYTE;
  }
}
