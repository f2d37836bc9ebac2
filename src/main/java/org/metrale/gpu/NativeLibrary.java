package org.metrale.gpu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.bytedeco.javacpp.Loader;

/**
 * One vendor library, opened at run time: whether it is here, where it came from, what it has.
 *
 * <p>No vendor library is linked. The first touch of a generated class, or of any method here that
 * needs the answer, looks for the library in the documented order and keeps every place tried with
 * the loader's own words. A path given by the user is binding.
 *
 * <p><b>Threading:</b> safe for any number of threads. <b>Blocking:</b> opening reads files.
 * <b>Cleanup:</b> an opened library is never closed.
 */
public final class NativeLibrary {
  /** The CUDA driver, {@code libcuda.so.1}. */
  public static final NativeLibrary CUDA =
      new NativeLibrary("cuda", "CUDA driver", "libcuda.so.1", "org.metrale.global.cuda");

  /** NCCL, {@code libnccl.so.2}. */
  public static final NativeLibrary NCCL =
      new NativeLibrary("nccl", "NCCL", "libnccl.so.2", "org.metrale.global.nccl");

  /** NVML, {@code libnvidia-ml.so.1}. */
  public static final NativeLibrary NVML =
      new NativeLibrary("nvml", "NVML", "libnvidia-ml.so.1", "org.metrale.global.nvml");

  /** cuFile, {@code libcufile.so.0}. */
  public static final NativeLibrary CUFILE =
      new NativeLibrary("cufile", "cuFile", "libcufile.so.0", "org.metrale.global.cufile");

  /** RDMA verbs, {@code libibverbs.so.1}. */
  public static final NativeLibrary IBVERBS =
      new NativeLibrary("ibverbs", "libibverbs", "libibverbs.so.1", "org.metrale.global.verbs");

  /** Exported by every library of the software GPU host, and by no other. */
  static final String EMULATOR_MARKER = "metrale_emulator_marker";

  private final String name;
  private final String title;
  private final String soname;
  private final String generatedClass;
  private final List<LibraryAttempt> attempts = new ArrayList<>();
  private Path pinned;
  private String searchedWith;
  private LinkageError glueProblem;
  private volatile NativeTable table;
  private volatile boolean open;

  private ToldVersion toldVersion;

  private NativeLibrary(String name, String title, String soname, String generatedClass) {
    this.name = name;
    this.title = title;
    this.soname = soname;
    this.generatedClass = generatedClass;
  }

  /**
   * Every library that this module knows.
   *
   * @return them in a fixed order
   */
  public static List<NativeLibrary> all() {
    return List.of(CUDA, NCCL, NVML, CUFILE, IBVERBS);
  }

  /**
   * The library of a short name.
   *
   * @param name {@code cuda}, {@code nccl}, {@code nvml}, {@code cufile} or {@code ibverbs}
   * @return the library
   * @throws IllegalArgumentException if there is no such library
   */
  public static NativeLibrary named(String name) {
    for (NativeLibrary library : all()) {
      if (library.name.equals(name)) {
        return library;
      }
    }
    throw new IllegalArgumentException(
        "no library is called " + name + "; known: cuda, nccl, nvml, cufile, ibverbs");
  }

  /**
   * Takes the run-time table of a library; called once, by the static initialiser of the generated
   * class.
   *
   * @param name the library's short name
   * @param table its table
   */
  public static void attach(String name, NativeTable table) {
    named(name).searchIn(Objects.requireNonNull(table, "table"));
  }

  /**
   * The short name, as it stands in properties.
   *
   * @return for example {@code nccl}
   */
  public String name() {
    return name;
  }

  /**
   * The name that people use.
   *
   * @return for example {@code NCCL}
   */
  public String title() {
    return title;
  }

  /**
   * The file name that the loader is asked for.
   *
   * @return for example {@code libnccl.so.2}
   */
  public String soname() {
    return soname;
  }

  /**
   * Whether the library could be opened.
   *
   * @return false if it could not; {@link #unavailabilityCause()} says why
   */
  public boolean isAvailable() {
    touch();
    NativeTable known = table;
    if (!open && known != null) {
      searchIn(known);
    }
    return open;
  }

  /**
   * Makes sure that the library is open.
   *
   * @throws LibraryUnavailableException if it is not; the message lists every place tried
   */
  public void require() {
    if (!open && !isAvailable()) {
      throw unavailable();
    }
  }

  /**
   * Why the library is not available.
   *
   * @return the reason with every place tried, or empty if it is available
   */
  public Optional<LibraryUnavailableException> unavailabilityCause() {
    return isAvailable() ? Optional.empty() : Optional.of(unavailable());
  }

  /**
   * Opens a given file instead of searching.
   *
   * @param file the library's file
   * @throws LibraryUnavailableException if the file cannot be used; nothing else is tried
   * @throws IllegalStateException if another file is open already
   */
  public void open(Path file) {
    Path wanted = file.toAbsolutePath();
    synchronized (this) {
      if (!open) {
        pinned = wanted;
      }
    }
    touch();
    synchronized (this) {
      if (!open && table != null) {
        searchedWith = null;
        searchIn(table);
      }
    }
    if (!open) {
      throw unavailable();
    }
    if (!sameFile(wanted, Path.of(table.file()))) {
      throw new IllegalStateException(
          title + " is open already from " + table.file() + ", so " + wanted + " cannot be used");
    }
  }

  /**
   * The file that was opened.
   *
   * @return its path as the loader knows it, or empty if the library is not available
   */
  public Optional<Path> file() {
    return isAvailable() ? Optional.of(Path.of(table.file())) : Optional.empty();
  }

  /**
   * The version that the library tells without being initialised.
   *
   * @return for example {@code 2.29.7}, followed by {@code EMULATED} on the software GPU host;
   *     empty if the library is not available or has no way to tell
   */
  public Optional<String> version() {
    Optional<Integer> code = versionCode();
    return code.isEmpty()
        ? Optional.empty()
        : Optional.of(LibraryVersion.text(name, code.get()) + (isEmulated() ? " EMULATED" : ""));
  }

  /**
   * The version as the library's own number. The library is asked once, and given five seconds.
   *
   * @return for example 22907 for NCCL 2.29.7; empty if the library is not available, has no way to
   *     tell, or has not answered yet
   */
  public Optional<Integer> versionCode() {
    if (!isAvailable()) {
      return Optional.empty();
    }
    int code = toldVersion().code();
    return code < 0 ? Optional.empty() : Optional.of(code);
  }

  private synchronized ToldVersion toldVersion() {
    if (toldVersion == null) {
      toldVersion = ToldVersion.ask(table);
    }
    return toldVersion;
  }

  /**
   * Whether the library that was opened belongs to the software GPU host.
   *
   * @return true if it carries the emulator's marker
   */
  public boolean isEmulated() {
    return isAvailable() && table.exports(EMULATOR_MARKER);
  }

  /**
   * Whether a function can be called.
   *
   * @param function the C name, for example {@code ncclCommShrink}
   * @return false if the library or the function is absent
   */
  public boolean supports(String function) {
    Objects.requireNonNull(function, "function");
    return isAvailable() && table.exports(function);
  }

  /**
   * The functions of the header.
   *
   * @return their C names in the header's order; empty if the glue itself cannot be loaded
   */
  public List<String> functions() {
    touch();
    List<String> out = new ArrayList<>();
    NativeTable bound = table;
    for (int i = 0; bound != null && i < bound.count(); i++) {
      out.add(bound.name(i));
    }
    return out;
  }

  /**
   * The functions of the header that the opened library lacks.
   *
   * @return their C names in the header's order; all of them if no library is open
   */
  public List<String> missingFunctions() {
    boolean available = isAvailable();
    List<String> out = new ArrayList<>();
    NativeTable bound = table;
    for (int i = 0; bound != null && i < bound.count(); i++) {
      if (!available || !bound.bound(i)) {
        out.add(bound.name(i));
      }
    }
    return out;
  }

  /**
   * Every place that was tried, in order, the opened one last.
   *
   * @return what was tried and why each failed
   */
  public List<LibraryAttempt> attempts() {
    touch();
    synchronized (this) {
      return List.copyOf(attempts);
    }
  }

  /**
   * The folder that JavaCPP unpacks libraries into.
   *
   * @return its path, or why there is none; {@code -Dorg.bytedeco.javacpp.cachedir} names another
   */
  public static String extractionFolder() {
    try {
      return Loader.getCacheDir().getPath();
    } catch (IOException e) {
      return "none: " + e.getMessage();
    }
  }

  /**
   * The version of the JavaCPP on the class path.
   *
   * @return for example {@code 1.5.14}
   */
  public static String javacppVersion() {
    try {
      return Loader.getVersion();
    } catch (IOException e) {
      return "unknown: " + e.getMessage();
    }
  }

  @Override
  public String toString() {
    return title;
  }

  /** The message for an absent function, or for the absent library that should have had it. */
  String explainMissing(String function) {
    if (!open) {
      return function + ": " + explainAbsence();
    }
    StringBuilder out = new StringBuilder(function);
    out.append(": not in ").append(table.file());
    out.append(" (").append(title).append(' ').append(version().orElse("of unknown version"));
    out.append("); ");
    Optional<String> first = LibraryVersion.first(name, function);
    out.append(
        first.isPresent()
            ? "it is there from " + title + " " + first.get() + " on"
            : "the first version that has it is unknown");
    return out.toString();
  }

  /** Loads the glue; its static initialiser attaches the table, which searches. */
  private void touch() {
    if (table != null) {
      return;
    }
    try {
      Class.forName(generatedClass, true, NativeLibrary.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(generatedClass + " is not in this module", e);
    } catch (LinkageError e) {
      synchronized (this) {
        if (glueProblem == null) {
          // Only the first failure says why; later ones are NoClassDefFoundError.
          glueProblem = e;
        }
      }
    }
  }

  /**
   * Searches, and shows the table to other threads only after that: one that called the table while
   * the generated class is being initialised would wait for this thread, holding what this needs.
   */
  private synchronized void searchIn(NativeTable given) {
    LibrarySearch search = new LibrarySearch(name, soname, System.getProperties(), System.getenv());
    String settings = pinned + "|" + search.settings();
    if (open || settings.equals(searchedWith)) {
      return;
    }
    searchedWith = settings;
    attempts.clear();
    boolean found = false;
    for (LibrarySearch.Candidate candidate : candidates(search)) {
      found = attempt(given, candidate);
      if (found || candidate.binding()) {
        break;
      }
    }
    table = given;
    open = found;
  }

  private List<LibrarySearch.Candidate> candidates(LibrarySearch search) {
    return pinned == null
        ? search.candidates()
        : List.of(
            new LibrarySearch.Candidate(
                "given by the program", pinned.toString(), true, false, true));
  }

  private boolean attempt(NativeTable given, LibrarySearch.Candidate candidate) {
    String problem =
        candidate.place().isEmpty()
            ? "is empty"
            : given.open(
                candidate.place(),
                candidate.mapped() ? NativeTable.OPEN_IF_MAPPED : NativeTable.OPEN,
                candidate.chosen() ? null : EMULATOR_MARKER);
    attempts.add(
        new LibraryAttempt(
            candidate.how(),
            candidate.place(),
            problem == null ? "" : LibraryFile.explain(candidate.place(), problem)));
    return problem == null;
  }

  private LibraryUnavailableException unavailable() {
    synchronized (this) {
      return new LibraryUnavailableException(name, explainAbsence(), glueProblem);
    }
  }

  private synchronized String explainAbsence() {
    if (glueProblem != null) {
      return GlueProblem.explain(title, glueProblem);
    }
    StringBuilder out = new StringBuilder(title);
    out.append(" (").append(soname).append(") is not available; tried");
    for (LibraryAttempt attempt : attempts) {
      out.append("\n  ").append(attempt);
    }
    out.append("\nset -Dorg.metrale.").append(name).append(".path=FILE to name the library");
    return out.toString();
  }

  private static boolean sameFile(Path one, Path other) {
    try {
      return Files.isSameFile(one, other);
    } catch (IOException e) {
      return one.equals(other);
    }
  }
}
