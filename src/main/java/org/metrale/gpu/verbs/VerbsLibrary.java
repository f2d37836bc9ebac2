package org.metrale.gpu.verbs;

import java.nio.file.Path;
import java.util.Optional;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeLibrary;

/**
 * Whether this process can use RDMA verbs: {@code libibverbs}, opened at run time.
 *
 * <p>The library has no call that tells its version. Whether the machine has an RDMA device is
 * another question: {@link VerbsDevice#list()} answers it.
 */
public final class VerbsLibrary {
  private VerbsLibrary() {}

  /**
   * Whether the library could be opened.
   *
   * @return false if not; {@link #unavailabilityCause()} says why
   */
  public static boolean isAvailable() {
    return NativeLibrary.IBVERBS.isAvailable();
  }

  /**
   * Makes sure that the library is open.
   *
   * @throws LibraryUnavailableException if it is not; the message lists every place tried
   */
  public static void require() {
    NativeLibrary.IBVERBS.require();
  }

  /**
   * Why the library is not available.
   *
   * @return the reason with every place tried, or empty if it is available
   */
  public static Optional<LibraryUnavailableException> unavailabilityCause() {
    return NativeLibrary.IBVERBS.unavailabilityCause();
  }

  /**
   * Opens a given file instead of searching.
   *
   * @param file the library's file
   * @throws LibraryUnavailableException if it cannot be used; nothing else is tried
   * @throws IllegalStateException if another file is open already
   */
  public static void open(Path file) {
    NativeLibrary.IBVERBS.open(file);
  }

  /**
   * Keeps registered memory this process's after a {@code fork()}, at a price for each
   * registration. Not needed for programs that the JDK starts, nor where the kernel does it by
   * itself, since Linux 5.12; to be called before anything is registered.
   *
   * @throws LibraryUnavailableException if the library is not available
   * @throws VerbsException if it is too late
   * @wraps {@code ibv_fork_init}; verbs.h
   */
  public static void protectForks() {
    require();
    VerbsObjectCalls.forkInit();
  }

  /**
   * The file that was opened.
   *
   * @return its path, or empty if the library is not available
   */
  public static Optional<Path> file() {
    return NativeLibrary.IBVERBS.file();
  }

  /**
   * The library's version.
   *
   * @return always empty: libibverbs has no call that tells it
   */
  public static Optional<String> version() {
    return NativeLibrary.IBVERBS.version();
  }

  /**
   * Whether a function can be called.
   *
   * @param function the C name, for example {@code ibv_reg_dmabuf_mr}
   * @return false if the library or the function is absent
   */
  public static boolean supports(String function) {
    return NativeLibrary.IBVERBS.supports(function);
  }
}
