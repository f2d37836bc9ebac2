package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.ForkedJvm;

/** NVIDIA's own libcufile on a machine without a GPU. */
@Tag("real")
final class CuFileRealTest {
  @TempDir Path folder;

  private static Path real(String folder, String file) {
    Path out =
        Path.of(System.getProperty("metrale.basedir", ""))
            .toAbsolutePath()
            .resolve("cppbuild/real")
            .resolve(folder)
            .resolve(file);
    if (!Files.exists(out)) {
      throw new IllegalStateException(out + " is not there: run cppbuild.sh real");
    }
    return out;
  }

  /** Opens it, in a folder of its own, and answers why it is not open. */
  private String cause(String version, Path cuda) throws Exception {
    Path working = Files.createDirectory(folder.resolve("working"));
    ForkedJvm.Result result =
        ForkedJvm.running(CuFileScenario.class, "open", folder.resolve("data").toString())
            .by("env", "-C", working.toString())
            .property("org.metrale.cufile.path", real("nvidia-cufile-" + version, "libcufile.so.0"))
            .property("org.metrale.cuda.path", cuda)
            .property("java.io.tmpdir", folder)
            .run()
            .succeeded();
    assertEquals("false", result.value("open"));
    assertTrue(result.value("status").contains("libcufile"), result.output());
    for (String line : result.output().split("\n")) {
      assertTrue(line.matches("(open|cause|status|ended)=.*"), result.output());
    }
    try (Stream<Path> left = Files.list(working)) {
      assertEquals(List.of(), left.toList());
    }
    return result.value("cause");
  }

  @ParameterizedTest
  @ValueSource(strings = {"1.15.0.42", "1.20.0.107"})
  void isNotCalledWithoutCudaSinceItWouldWriteToTheConsole(String version) throws Exception {
    String cause = cause(version, folder.resolve("absent.so"));
    assertTrue(cause.contains("CU_FILE_CUDA_DRIVER_ERROR (5011)"), cause);
    assertTrue(cause.contains("not called: CUDA driver is not available]"), cause);
  }

  @ParameterizedTest
  @ValueSource(strings = {"1.15.0.42", "1.20.0.107"})
  void isNotCalledWithoutADeviceEither(String version) throws Exception {
    String cause = cause(version, real("libcuda1-535.261.03-1", "libcuda.so.1"));
    assertTrue(cause.contains("CUDA code 100"), cause);
    assertTrue(cause.contains("not called: cuInit: CUDA_ERROR_NO_DEVICE (100)"), cause);
  }

  /** The devices are those of the software GPU host. */
  @Test
  void theNewestIsNotCalledWhereItWouldNotReturn() throws Exception {
    String cause = cause("1.20.0.107", CuFileJvm.emulator().resolve("libcuda.so.1"));
    assertTrue(
        Files.isReadable(Path.of("/proc/modules"))
            || cause.contains("not called: /proc/modules cannot be read"),
        cause);
  }
}
