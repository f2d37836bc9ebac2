package org.metrale.gpu.nvml;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.metrale.gpu.ForkedJvm;

/** A JVM of its own over a software GPU host that is configured for it. */
final class NvmlJvm {
  private NvmlJvm() {}

  /** Runs a probe on a machine of these lines; {@code folder} keeps its configuration. */
  static ForkedJvm.Result run(Path folder, String[] lines, Class<?> probe, String... arguments)
      throws Exception {
    Path config =
        Files.write(folder.resolve("machine.conf"), Arrays.asList(lines), StandardCharsets.UTF_8);
    Path emulator =
        Path.of(System.getProperty("metrale.basedir", "."))
            .resolve("cppbuild")
            .resolve(System.getProperty("metrale.platform", "linux-x86_64"))
            .resolve("emulator");
    return ForkedJvm.running(probe, arguments)
        .property("org.metrale.library.path", emulator)
        .environment("METRALE_EMULATOR_CONFIG", config)
        .run();
  }
}
