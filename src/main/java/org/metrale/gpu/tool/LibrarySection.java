package org.metrale.gpu.tool;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.metrale.gpu.LibraryAttempt;
import org.metrale.gpu.NativeLibrary;

/** One vendor library: where it came from, what it lacks, and what it says of this machine. */
final class LibrarySection implements DoctorSection {
  /** Key of the text that says why the library does not work here; absent when it works. */
  static final String PROBLEM = "problem";

  private final NativeLibrary library;
  private final MachineFacts facts;

  private LibrarySection(NativeLibrary library, MachineFacts facts) {
    this.library = library;
    this.facts = facts;
  }

  static LibrarySection of(NativeLibrary library) {
    return new LibrarySection(
        library,
        switch (library.name()) {
          case "cuda" -> DoctorCalls::cuda;
          case "nccl" -> DoctorCalls::nccl;
          case "nvml" -> DoctorCalls::nvml;
          case "cufile" -> CuFileFacts::examine;
          default -> VerbsFacts::examine;
        });
  }

  @Override
  public String name() {
    return library == NativeLibrary.IBVERBS ? "verbs" : library.name();
  }

  @Override
  public Map<String, Object> examine() {
    Map<String, Object> out = new LinkedHashMap<>();
    boolean available = library.isAvailable();
    out.put("library", library.title() + " (" + library.soname() + ")");
    out.put("available", available);
    if (available) {
      describe(out);
      try {
        facts.add(out);
      } catch (RuntimeException e) {
        out.put(PROBLEM, String.valueOf(e.getMessage()));
      }
    } else {
      List<LibraryAttempt> attempts = library.attempts();
      if (attempts.isEmpty()) {
        out.put(PROBLEM, library.unavailabilityCause().orElseThrow().getMessage());
      } else {
        out.put(PROBLEM, "the library was not found or cannot be opened");
        out.put("tried", attempts.stream().map(LibraryAttempt::toString).toList());
      }
    }
    return out;
  }

  @Override
  public List<String> shortcomings(Map<String, Object> findings) {
    Object problem = findings.get(PROBLEM);
    return problem == null ? List.of() : List.of(problem.toString());
  }

  private void describe(Map<String, Object> out) {
    List<LibraryAttempt> attempts = library.attempts();
    Path file = library.file().orElseThrow();
    out.put("file", file.toString());
    // The driver's libraries carry their version in the name that the link leads to.
    out.put("leads to", realName(file));
    out.put("found by", attempts.get(attempts.size() - 1).how());
    out.put("version", library.version().orElse("not told by the library"));
    if (library.isEmulated()) {
      out.put("EMULATED", "software GPU host: nothing below is hardware");
    }
    List<String> missing = library.missingFunctions();
    out.put("functions", library.functions().size());
    out.put("functions missing", missing.size());
    if (!missing.isEmpty()) {
      out.put("missing", new ArrayList<>(missing));
    }
  }

  private static String realName(Path file) {
    try {
      return file.toRealPath().getFileName().toString();
    } catch (IOException e) {
      return "unknown: " + e.getMessage();
    }
  }

  /** Asks an open library about the machine. */
  interface MachineFacts {
    /** Adds what the library says; puts {@link #PROBLEM} if it does not work here. */
    void add(Map<String, Object> out);
  }
}
