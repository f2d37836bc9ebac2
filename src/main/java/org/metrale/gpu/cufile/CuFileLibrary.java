package org.metrale.gpu.cufile;

import java.nio.file.Path;
import java.util.Optional;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeLibrary;

/**
 * Whether cuFile is here, from which file, and what it has.
 *
 * <p><b>Threading:</b> safe for any number of threads. <b>Blocking:</b> the first call opens the
 * library.
 */
public final class CuFileLibrary {
  private CuFileLibrary() {}

  /**
   * Whether the library could be opened.
   *
   * @return false if it could not; {@link #unavailabilityCause()} says why
   */
  public static boolean isAvailable() {
    return NativeLibrary.CUFILE.isAvailable();
  }

  /**
   * Makes sure that the library is open.
   *
   * @throws LibraryUnavailableException if it is not; the message lists every place tried
   */
  public static void require() {
    NativeLibrary.CUFILE.require();
  }

  /**
   * Why the library is not available.
   *
   * @return the reason with every place tried, or empty if it is available
   */
  public static Optional<LibraryUnavailableException> unavailabilityCause() {
    return NativeLibrary.CUFILE.unavailabilityCause();
  }

  /**
   * The file that was opened.
   *
   * @return its path, or empty if the library is not available
   */
  public static Optional<Path> file() {
    return NativeLibrary.CUFILE.file();
  }

  /**
   * The version that the library tells, marked if it belongs to the software GPU host.
   *
   * @return the version, or empty if the library is not available
   */
  public static Optional<String> version() {
    return NativeLibrary.CUFILE.version();
  }

  /**
   * Whether a function can be called.
   *
   * @param function the C name, for example {@code cuInit}
   * @return false if the library or the function is absent
   */
  public static boolean supports(String function) {
    return NativeLibrary.CUFILE.supports(function);
  }

  /**
   * Opens a given file instead of searching.
   *
   * @param file the library's file
   * @throws LibraryUnavailableException if the file cannot be used; nothing else is tried
   * @throws IllegalStateException if another file is open already
   */
  public static void open(Path file) {
    NativeLibrary.CUFILE.open(file);
  }
}
