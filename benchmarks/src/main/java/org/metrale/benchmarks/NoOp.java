package org.metrale.benchmarks;

import java.nio.file.Path;
import org.metrale.gpu.NativeLibrary;

/** The vendor libraries that do nothing, for every binding in this process. */
public final class NoOp {
  private static final String FOLDER = "metrale.benchmarks.noop";

  private NoOp() {}

  /** The folder with the libraries. */
  public static Path folder() {
    return Path.of(System.getProperty(FOLDER, "")).toAbsolutePath();
  }

  /** Whether this process was given them. */
  static boolean isHere() {
    return System.getProperty(FOLDER) != null;
  }

  /** Whether a file is one of them; none is where this process was given no folder. */
  static boolean has(Path file) {
    return isHere() && file.startsWith(folder());
  }

  /** The arguments that make a JVM use them. */
  static String[] arguments(Path folder) {
    return new String[] {
      "-D" + FOLDER + "=" + folder, "-Dorg.metrale.library.path=" + folder,
    };
  }

  /** Refuses to measure anything else under that name. */
  public static void require(NativeLibrary library) {
    library.require();
    Path file = library.file().orElseThrow();
    if (!has(file)) {
      throw new IllegalStateException(library + " is " + file + ", not one of " + folder());
    }
  }

  /** Maps libraries that another binding links, so that the system's loader finds these. */
  public static void map(String... sonames) {
    for (String soname : sonames) {
      System.load(folder().resolve(soname).toString());
    }
  }
}
