package org.metrale.gpu;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Says of a file what the loader's own words leave open. */
final class LibraryFile {
  private static final int HEADER_BYTES = 20;
  private static final int MACHINE_OFFSET = 18;
  private static final Map<Integer, String> MACHINES = Map.of(62, "amd64", 183, "aarch64");

  private LibraryFile() {}

  /** The loader says that a library for another machine does not exist; this adds that it does. */
  static String explain(String place, String problem) {
    if (place.indexOf('/') < 0) {
      // A name that the loader searches, not a file of the working directory.
      return problem;
    }
    byte[] header;
    try (InputStream in = Files.newInputStream(Path.of(place))) {
      header = in.readNBytes(HEADER_BYTES);
    } catch (IOException e) {
      // Absent or a directory, as the loader said.
      return problem;
    }
    if (header.length < HEADER_BYTES || header[0] != 0x7f || header[1] != 'E') {
      return problem;
    }
    int machine =
        Byte.toUnsignedInt(header[MACHINE_OFFSET])
            | Byte.toUnsignedInt(header[MACHINE_OFFSET + 1]) << 8;
    String name = MACHINES.getOrDefault(machine, "machine " + machine);
    String here = System.getProperty("os.arch");
    return name.equals(here)
        ? problem
        : problem
            + " (the file is for another machine: "
            + name
            + ", this JVM runs on "
            + here
            + ")";
  }
}
