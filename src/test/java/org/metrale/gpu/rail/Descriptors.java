package org.metrale.gpu.rail;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What this process has open. */
final class Descriptors {
  private Descriptors() {}

  static long open() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.count();
    }
  }

  /** Those of devices, their completion channels and events, and no files or sockets. */
  static long ofDevices() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.filter(Descriptors::isOfDevice).count();
    }
  }

  private static boolean isOfDevice(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().startsWith("anon_inode:");
    } catch (IOException e) {
      return false; // it was the listing's own
    }
  }
}
