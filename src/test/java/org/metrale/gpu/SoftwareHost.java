package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.metrale.gpu.cuda.CudaDriver;
import org.metrale.gpu.cuda.CudaException;

/**
 * The software GPU host that the native build made, for tests in this process and in others; or the
 * GPUs of this machine, where tests of the tag {@code gpu} were asked for ({@code
 * -Dmetrale.tags=gpu -Dmetrale.tags.excluded=}): the same tests, on real libraries.
 */
public final class SoftwareHost {
  private static final String PATH = "org.metrale.library.path";

  private SoftwareHost() {}

  /** The folder with its libraries. */
  public static Path folder() {
    String base = System.getProperty("metrale.basedir", "");
    String platform = System.getProperty("metrale.platform", "linux-x86_64");
    return Path.of(base, "cppbuild", platform, "emulator").toAbsolutePath();
  }

  /** Whether it is this one, and not GPUs. */
  public static boolean isSoftware() {
    return !List.of(System.getProperty("metrale.tags", "").split("\\W+", -1)).contains("gpu");
  }

  /** Makes this process use it; a process can open each library only once. */
  public static void use() {
    if (!isSoftware()) {
      System.clearProperty(PATH);
      assumeTrue(
          NativeLibrary.CUDA.isAvailable(),
          () -> "no GPU: " + NativeLibrary.CUDA.unavailabilityCause().orElseThrow().getMessage());
      assertFalse(NativeLibrary.CUDA.isEmulated(), "the software GPU host is no GPU");
      requireDevices(1);
      return;
    }
    assertTrue(Files.exists(folder().resolve("libcuda.so.1")), "no emulator in " + folder());
    System.setProperty(PATH, folder().toString());
    assertTrue(NativeLibrary.CUDA.isEmulated(), "another CUDA driver is open in this process");
  }

  /** Skips a test that needs more GPUs than there are; the software GPU host has enough. */
  public static void requireDevices(int wanted) {
    int found;
    try {
      found = CudaDriver.deviceCount();
    } catch (CudaException e) {
      assumeFalse(!isSoftware(), "no GPU: " + e.getMessage());
      throw e;
    }
    assumeTrue(isSoftware() || found >= wanted, () -> found + " of " + wanted + " GPUs are here");
  }

  /** A JVM that uses it. */
  public static ForkedJvm running(Class<?> main, String... arguments) {
    ForkedJvm out = ForkedJvm.running(main, arguments);
    if (isSoftware()) {
      out.property(PATH, folder());
    }
    return out.property("metrale.basedir", System.getProperty("metrale.basedir", ""))
        .property("metrale.platform", System.getProperty("metrale.platform", "linux-x86_64"));
  }

  /** A JVM that uses one with settings of its own, separated by semicolons. */
  public static ForkedJvm running(Path folder, String settings, Class<?> main, String... arguments)
      throws IOException {
    Path file = Files.write(folder.resolve("emulator.conf"), List.of(settings.split("; ", -1)));
    return running(main, arguments).environment("METRALE_EMULATOR_CONFIG", file);
  }
}
