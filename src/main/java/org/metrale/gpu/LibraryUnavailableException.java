package org.metrale.gpu;

/**
 * A vendor library, or one function of it, is not there.
 *
 * <p>The message names the function, the file that was loaded and its version, or every place that
 * was tried and why it failed.
 */
public final class LibraryUnavailableException extends GpuException {
  private static final long serialVersionUID = 1L;

  /** The library's short name, for example {@code nccl}. */
  private final String library;

  /** The absent function, or an empty text if the whole library is absent. */
  private final String function;

  /**
   * Called by the generated glue: the text is {@code LIBRARY FUNCTION}, everything else is looked
   * up here.
   */
  @SuppressWarnings("UnusedMethod") // used from C++ alone
  private LibraryUnavailableException(String libraryAndFunction) {
    this(
        libraryAndFunction.substring(0, libraryAndFunction.indexOf(' ')),
        libraryAndFunction.substring(libraryAndFunction.indexOf(' ') + 1));
  }

  private LibraryUnavailableException(String library, String function) {
    super(NativeLibrary.named(library).explainMissing(function));
    this.library = library;
    this.function = function;
  }

  LibraryUnavailableException(String library, String message, Throwable cause) {
    super(message, cause);
    this.library = library;
    this.function = "";
  }

  /**
   * Says that a function is absent, before calling it.
   *
   * @param library the library's short name, for example {@code nccl}
   * @param function the C function's name
   * @return the exception that the call itself would throw
   * @throws IllegalArgumentException if there is no such library
   */
  public static LibraryUnavailableException missing(String library, String function) {
    return new LibraryUnavailableException(library, function);
  }

  /**
   * Which library is meant.
   *
   * @return its short name: {@code cuda}, {@code nccl}, {@code nvml}, {@code cufile} or {@code
   *     ibverbs}
   */
  public String library() {
    return library;
  }

  /**
   * Which function is absent.
   *
   * @return its C name, or an empty text if the whole library is absent
   */
  public String function() {
    return function;
  }
}
