package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.ForkedJvm;

/** NVIDIA's own libcufile on a machine without a GPU. */
@Tag("real")
final class CuFileRealTest {
  @TempDir Path folder;

  private static Path library() {
    Path cache = Path.of(System.getProperty("user.home"), ".cache", "metrale-gpu", "unpacked");
    Path usual = cache.resolve("nvidia-cufile-1.20.0.107/nvidia/cu13/lib/libcufile.so.0");
    return Path.of(System.getProperty("org.metrale.cufile.path", usual.toString()));
  }

  @Test
  void saysWhyDriverDoesNotOpen() throws Exception {
    assumeTrue(Files.exists(library()), "libcufile at " + library());
    ForkedJvm.Result result =
        ForkedJvm.running(CuFileScenario.class, "open", folder.resolve("data").toString())
            .property("org.metrale.cufile.path", library())
            .property("java.io.tmpdir", folder)
            .run()
            .succeeded();
    assertEquals("false", result.value("open"));
    String cause = result.value("cause");
    String expected =
        !Files.isReadable(Path.of("/proc/modules"))
            ? "not called: /proc/modules cannot be read"
            : "(50"; // 5033 without libcuda, 5011 with it
    assertTrue(cause.contains(expected), cause);
    assertTrue(result.value("status").contains("libcufile"), result.output());
    assertFalse(Files.exists(Path.of("cufile.log")));
  }
}
