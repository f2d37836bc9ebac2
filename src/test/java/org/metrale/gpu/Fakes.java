package org.metrale.gpu;

import java.nio.file.Files;
import java.nio.file.Path;

/** Where the build puts what tests need. */
public final class Fakes {
  private Fakes() {}

  /** The repository. */
  public static Path repository() {
    return Path.of(System.getProperty("metrale.basedir", "")).toAbsolutePath();
  }

  /** {@code linux-x86_64} or {@code linux-arm64}. */
  static String platform() {
    String architecture = System.getProperty("os.arch");
    return System.getProperty(
        "metrale.platform", "aarch64".equals(architecture) ? "linux-arm64" : "linux-x86_64");
  }

  /** The folder with the JNI glue of a platform. */
  static Path glue(String platform) {
    return Path.of(
            System.getProperty("metrale.native", repository().resolve("target/native").toString()))
        .resolve(platform)
        .resolve("org/metrale")
        .resolve(platform + "-cuda");
  }

  /** A folder of fake libraries: full, empty, older, newer or marked. */
  static Path folder(String variant) {
    return folder(platform(), variant);
  }

  /** Likewise, of another platform. */
  static Path folder(String platform, String variant) {
    return existing(
        repository().resolve("cppbuild").resolve(platform).resolve("src/test/c/fakes/" + variant));
  }

  /** One fake library. */
  public static Path file(String variant, NativeLibrary library) {
    return existing(folder(variant).resolve(library.soname()));
  }

  private static Path existing(Path path) {
    if (!Files.exists(path)) {
      throw new IllegalStateException(path + " is not there: run cppbuild.sh install");
    }
    return path;
  }
}
