package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.ForkedJvm;

@Tag("real")
class NvmlRealLibraryTest {
  @Test
  void withoutADriverTheSessionDoesNotStart() throws Exception {
    Optional<Path> library = realLibrary();
    assumeTrue(library.isPresent(), "no real libnvidia-ml.so.1: run ./cppbuild.sh real");
    assumeTrue(!Files.exists(Path.of("/dev/nvidiactl")), "this machine has a driver");
    ForkedJvm.Result result =
        ForkedJvm.running(NvmlBehaviourProbe.class, "failure")
            .property("org.metrale.nvml.path", library.orElseThrow())
            .run()
            .succeeded();
    for (String message : result.values("failed")) {
      assertTrue(message.startsWith("nvmlInit_v2: NVML_ERROR_DRIVER_NOT_LOADED (9): "), message);
    }
    assertEquals(List.of(2), List.of(result.values("failed").size()));
    assertTrue(result.value("cause").contains("NVML_ERROR_DRIVER_NOT_LOADED (9)"));
    assertEquals("true", result.value("available"));
    assertEquals("true", result.value("supports"));
  }

  private static Optional<Path> realLibrary() throws IOException {
    Path real = Path.of(System.getProperty("metrale.basedir", "."), "cppbuild", "real");
    if (!Files.isDirectory(real)) {
      return Optional.empty();
    }
    try (Stream<Path> files =
        Files.find(
            real,
            8,
            (path, attributes) -> path.getFileName().toString().equals("libnvidia-ml.so.1"),
            java.nio.file.FileVisitOption.FOLLOW_LINKS)) {
      return files.filter(path -> !path.toString().contains("arm64")).findFirst();
    }
  }
}
