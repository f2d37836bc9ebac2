package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.metrale.gpu.ForkedJvm;

/** A JVM of its own over the software GPU host, whose scenario works on a file of a folder. */
final class CuFileJvm {
  private CuFileJvm() {}

  static ForkedJvm of(Class<?> main, String scenario, Path folder) {
    return of(main, scenario, folder, folder.resolve("data"));
  }

  static ForkedJvm of(Class<?> main, String scenario, Path folder, Path file) {
    return ForkedJvm.running(main, scenario, file.toString())
        .property("org.metrale.library.path", emulator())
        .property("java.io.tmpdir", folder);
  }

  /** The folder of the software GPU host's libraries. */
  static Path emulator() {
    return Path.of(
            System.getProperty("metrale.basedir", ""),
            "cppbuild",
            System.getProperty("metrale.platform", "linux-x86_64"),
            "emulator")
        .toAbsolutePath();
  }

  /** With faults of the software GPU host, separated by semicolons. */
  static ForkedJvm fault(ForkedJvm jvm, String faults) {
    return faults.isEmpty() ? jvm : jvm.environment("METRALE_EMULATOR_FAULT", faults);
  }

  /** What a scenario said that came to its end. */
  static ForkedJvm.Result run(ForkedJvm jvm) throws Exception {
    ForkedJvm.Result result = jvm.run().succeeded();
    assertEquals("true", result.value("ended"));
    return result;
  }
}
