package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;

/**
 * Files that a run leaves: known to be writable before anything is measured, and whole or not
 * there.
 */
final class Output {
  private Output() {}

  /** Why a file could not be written at the end, if so. */
  static Optional<String> problem(Path file) {
    Path folder = file.toAbsolutePath().getParent();
    if (Files.isDirectory(file)) {
      return Optional.of("cannot write " + file + ": it is a folder");
    }
    if (!Files.isDirectory(folder)) {
      return Optional.of("cannot write " + file + ": there is no folder " + folder);
    }
    if (!isBeside(file)) {
      return Files.isWritable(file)
          ? Optional.empty()
          : Optional.of("cannot write " + file + ": not allowed");
    }
    try {
      Files.delete(part(file));
    } catch (IOException e) {
      return Optional.of("cannot write " + file + ": no file can be made in " + folder);
    }
    return Optional.empty();
  }

  /** Not a pipe or a device, such as /dev/stdout. */
  private static boolean isBeside(Path file) {
    return !Files.exists(file) || Files.isRegularFile(file);
  }

  private static Path part(Path file) throws IOException {
    return Files.createTempFile(
        file.toAbsolutePath().getParent(), "." + file.getFileName(), ".part");
  }

  /** Writes a file beside it first, so that a run that is ended meanwhile leaves what was there. */
  static void write(Path file, String text) throws IOException {
    if (!isBeside(file)) {
      Files.writeString(file, text, StandardCharsets.UTF_8);
      return;
    }
    Path part = part(file);
    try {
      Files.writeString(part, text, StandardCharsets.UTF_8);
      Files.setPosixFilePermissions(part, PosixFilePermissions.fromString("rw-r--r--"));
      Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(part);
    }
  }
}
