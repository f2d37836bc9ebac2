package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.metrale.gpu.ForkedJvm;

@Tag("real")
class NvmlRealLibraryTest {
  @ParameterizedTest
  @MethodSource("libraries")
  void withoutADriverTheSessionDoesNotStart(Path library) throws Exception {
    // The library makes device nodes itself, so those do not tell.
    assumeFalse(Files.exists(Path.of("/proc/driver/nvidia/version")), "this machine has a driver");
    ForkedJvm.Result result =
        ForkedJvm.running(NvmlBehaviourProbe.class, "failure")
            .property("org.metrale.nvml.path", library)
            .run()
            .succeeded();
    List<String> messages = result.values("failed");
    assertEquals(2, messages.size());
    for (String message : messages) {
      assertEquals("nvmlInit_v2: NVML_ERROR_DRIVER_NOT_LOADED (9): Driver Not Loaded", message);
    }
    assertEquals(messages.get(0), result.value("cause"));
    assertEquals("true", result.value("available"));
    assertEquals("true", result.value("supports"));
  }

  static List<Path> libraries() throws IOException {
    Path real = Path.of(System.getProperty("metrale.basedir", "."), "cppbuild", "real");
    try (Stream<Path> folders = Files.list(real)) {
      List<Path> found =
          folders
              .map(folder -> folder.resolve("libnvidia-ml.so.1"))
              .filter(Files::exists)
              .sorted()
              .toList();
      assertTrue(!found.isEmpty(), "no libnvidia-ml.so.1 in " + real + ": run cppbuild.sh real");
      return found;
    }
  }
}
