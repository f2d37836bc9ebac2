package org.metrale.gpu;

/**
 * A vendor library threw a C++ exception out of a C function, which should have answered a code.
 *
 * <p>What the library was doing was broken off there: it has cleaned up behind itself as far as its
 * own code does so, and its state is unknown from here on. So is what the call was given to fill or
 * to change: it may be of no use, and to end it may wait for ever.
 */
public final class LibraryThrewException extends GpuException {
  private static final long serialVersionUID = 1L;

  /** The library's short name, for example {@code nccl}. */
  private final String library;

  /** The function that was called. */
  private final String function;

  /** Type and text of the C++ exception, or an empty text if they cannot be told. */
  private final String thrown;

  /** Called by the glue: the text is {@code LIBRARY FUNCTION THROWN}. */
  @SuppressWarnings("UnusedMethod") // used from C++ alone
  private LibraryThrewException(String told) {
    this(told.split(" ", 3));
  }

  private LibraryThrewException(String[] told) {
    super(describe(told[0], told[1], told[2]));
    library = told[0];
    function = told[1];
    thrown = told[2];
  }

  private static String describe(String library, String function, String thrown) {
    NativeLibrary named = NativeLibrary.named(library);
    return function
        + ": "
        + named
        + named.file().map(file -> " at " + file).orElse("")
        + " threw a C++ exception, "
        + (thrown.isEmpty() ? "of which nothing can be told" : thrown)
        + "; its state is unknown from here on";
  }

  /**
   * Which library threw.
   *
   * @return its short name: {@code cuda}, {@code nccl}, {@code nvml} or {@code cufile}
   */
  public String library() {
    return library;
  }

  /**
   * Which of its functions was called.
   *
   * @return its C name
   */
  public String function() {
    return function;
  }

  /**
   * What was thrown.
   *
   * @return its type and, of a {@code std::exception}, its text, for example {@code
   *     std::system_error: Resource temporarily unavailable}; empty if the library's C++ runtime
   *     does not tell
   */
  public String thrown() {
    return thrown;
  }
}
