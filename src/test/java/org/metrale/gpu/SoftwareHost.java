package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;

/** The software GPU host that the native build made, for tests in this process and in others. */
public final class SoftwareHost {
  private SoftwareHost() {}

  /** The folder with its libraries. */
  public static Path folder() {
    String base = System.getProperty("metrale.basedir", "");
    String platform = System.getProperty("metrale.platform", "linux-x86_64");
    return Path.of(base, "cppbuild", platform, "emulator").toAbsolutePath();
  }

  /** Makes this process use it; a process can open each library only once. */
  public static void use() {
    assertTrue(Files.exists(folder().resolve("libcuda.so.1")), "no emulator in " + folder());
    System.setProperty("org.metrale.library.path", folder().toString());
    assertTrue(NativeLibrary.CUDA.isEmulated(), "another CUDA driver is open in this process");
  }

  /** A JVM that uses it. */
  public static ForkedJvm running(Class<?> main, String... arguments) {
    return ForkedJvm.running(main, arguments)
        .property("org.metrale.library.path", folder())
        .property("metrale.basedir", System.getProperty("metrale.basedir", ""))
        .property("metrale.platform", System.getProperty("metrale.platform", "linux-x86_64"));
  }
}
