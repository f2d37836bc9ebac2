package org.metrale.gpu;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.Properties;

/** Reads version codes, and knows in which version a function first appeared. */
final class LibraryVersion {
  private LibraryVersion() {}

  /** A version code in the digits people write. */
  static String text(String library, int code) {
    return switch (library) {
      case "nccl" ->
          // NCCL changed its scheme with 2.9.
          code < 10_000
              ? code / 1000 + "." + code / 100 % 10 + "." + code % 100
              : code / 10_000 + "." + code / 100 % 100 + "." + code % 100;
      case "cuda", "nvml" -> "for CUDA " + code / 1000 + "." + code / 10 % 100;
      case "cufile" -> code / 1000 + "." + code / 10 % 100;
      default -> Integer.toString(code);
    };
  }

  /** The first version whose library had the function; empty where no library at hand tells. */
  static Optional<String> first(String library, String function) {
    Properties known = new Properties();
    try (InputStream in = LibraryVersion.class.getResourceAsStream("first-versions.properties")) {
      if (in != null) {
        known.load(in);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Optional.ofNullable(known.getProperty(library + "." + function));
  }
}
