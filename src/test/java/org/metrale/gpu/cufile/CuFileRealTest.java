package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

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

  private static Path library(String version) {
    Path file =
        Path.of(System.getProperty("metrale.basedir", ""))
            .toAbsolutePath()
            .resolve("cppbuild/real/nvidia-cufile-" + version + "/libcufile.so.0");
    if (!Files.exists(file)) {
      throw new IllegalStateException(file + " is not there: run cppbuild.sh real");
    }
    return file;
  }

  private ForkedJvm.Result open(Path library) throws Exception {
    ForkedJvm.Result result =
        ForkedJvm.running(CuFileScenario.class, "open", folder.resolve("data").toString())
            .property("org.metrale.cufile.path", library)
            .property("java.io.tmpdir", folder)
            .run()
            .succeeded();
    assertEquals("false", result.value("open"));
    assertTrue(result.value("status").contains("libcufile"), result.output());
    assertFalse(Files.exists(Path.of("cufile.log")));
    return result;
  }

  @Test
  void anOlderOneSaysThatItDoesNotFindTheCudaDriver() throws Exception {
    String cause = open(library("1.15.0.42")).value("cause");
    assertTrue(cause.contains("(5033)"), cause);
  }

  @Test
  void theNewestIsNotCalledWhereItWouldNotReturn() throws Exception {
    String cause = open(library("1.20.0.107")).value("cause");
    String expected =
        Files.isReadable(Path.of("/proc/modules"))
            ? "(50" // 5033 without libcuda, 5011 with it
            : "not called: /proc/modules cannot be read";
    assertTrue(cause.contains(expected), cause);
  }
}
