package org.metrale.gpu;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.util.Optional;
import org.bytedeco.javacpp.Loader;

/** Finds a vendor library inside JavaCPP's redist jars, if one is on the class path. */
final class RedistJar {
  private RedistJar() {}

  /** The library unpacked into JavaCPP's cache, or empty if no jar has it. */
  static Optional<String> extract(String soname) {
    String resource = "/org/bytedeco/cuda/" + Loader.Detector.getPlatform() + "/" + soname;
    URL found = NativeLibrary.class.getResource(resource);
    if (found == null) {
      return Optional.empty();
    }
    try {
      File file = Loader.cacheResource(found);
      return file == null ? Optional.empty() : Optional.of(file.getAbsolutePath());
    } catch (IOException e) {
      throw new java.io.UncheckedIOException("cannot unpack " + found, e);
    }
  }
}
