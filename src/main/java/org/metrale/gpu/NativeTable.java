package org.metrale.gpu;

/**
 * The run-time table of one vendor library, as the generated code offers it to {@link
 * NativeLibrary}.
 *
 * <p>Not for programs: they ask {@link NativeLibrary} or the {@code XxxLibrary} class of a package.
 */
public interface NativeTable {
  /** Open from wherever the loader finds it. */
  int OPEN = 0;

  /** Open only what the process has mapped already. */
  int OPEN_IF_MAPPED = 1;

  /**
   * Opens a library and binds the functions that it has.
   *
   * @param path a path, or a bare name for the loader to search
   * @param mode {@link #OPEN} or {@link #OPEN_IF_MAPPED}
   * @param refusedSymbol a symbol that the library must not export, or null
   * @return null on success, else the reason
   */
  String open(String path, int mode, String refusedSymbol);

  /**
   * The file of the opened library.
   *
   * @return its path as the loader knows it, or null if none is open
   */
  String file();

  /**
   * Whether the opened library exports a symbol.
   *
   * @param symbol any symbol, bound or not
   * @return false also if no library is open
   */
  boolean exports(String symbol);

  /**
   * How many functions are bound.
   *
   * @return the length of the list that the header gave
   */
  int count();

  /**
   * The name of a bound function.
   *
   * @param index from 0 to {@link #count()} - 1
   * @return the C name
   */
  String name(int index);

  /**
   * Whether the opened library has a bound function.
   *
   * @param index from 0 to {@link #count()} - 1
   * @return false also if no library is open
   */
  boolean bound(int index);

  /**
   * The version that the library tells without being initialised.
   *
   * @return its version code, or -1
   */
  int version();
}
