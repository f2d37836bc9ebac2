package org.metrale.gpu;

import java.nio.file.Path;
import java.util.Optional;

/**
 * Does to the loader what its arguments say, in order, and prints what came of it as {@code
 * KEY=VALUE}: {@code ask:LIBRARY}, {@code open:LIBRARY:FILE}, {@code load:FILE}, {@code
 * set:PROPERTY:VALUE}, {@code call:LIBRARY}.
 */
public final class LoaderProbe {
  private LoaderProbe() {}

  /** Runs the commands. */
  public static void main(String[] commands) {
    for (String command : commands) {
      String[] parts = command.split(":", 3);
      switch (parts[0]) {
        case "ask" -> ask(NativeLibrary.named(parts[1]));
        case "open" -> open(NativeLibrary.named(parts[1]), Path.of(parts[2]));
        case "load" -> System.load(parts[1]);
        case "set" -> System.setProperty(parts[1], parts[2]);
        case "call" -> call(parts[1]);
        default -> throw new IllegalArgumentException(command);
      }
    }
  }

  private static void ask(NativeLibrary library) {
    print("available", library.isAvailable());
    print("file", library.file().map(Path::toString).orElse(""));
    print("version", library.version().orElse(""));
    print("emulated", library.isEmulated());
    print("missing", library.missingFunctions().size() + " of " + library.functions().size());
    print("attempts", library.attempts().size());
    print(
        "how",
        library.attempts().stream()
            .filter(LibraryAttempt::opened)
            .findFirst()
            .map(LibraryAttempt::how)
            .orElse(""));
    Optional<LibraryUnavailableException> cause = library.unavailabilityCause();
    print("cause", cause.map(Throwable::getMessage).orElse(""));
    print("supportsShrink", library.supports("ncclCommShrink"));
  }

  private static void open(NativeLibrary library, Path file) {
    try {
      library.open(file);
      print("open", library.file().orElseThrow());
    } catch (LibraryUnavailableException | IllegalStateException e) {
      print("open", e.getClass().getSimpleName() + ": " + e.getMessage());
    }
  }

  private static void call(String library) {
    try {
      int answer =
          switch (library) {
            case "nccl" ->
                org.metrale.global.nccl.ncclCommShrink(
                    null, new int[0], 0, new org.metrale.nccl.ncclComm(), null, 0);
            case "cuda" -> org.metrale.global.cuda.cuInit(0);
            case "nvml" -> org.metrale.global.nvml.nvmlInit_v2();
            case "cufile" -> (int) org.metrale.global.cufile.cuFileUseCount();
            case "ibverbs" -> org.metrale.global.verbs.metrale_ibv_fork_init();
            default -> throw new IllegalArgumentException(library);
          };
      print("call", answer);
    } catch (LibraryUnavailableException e) {
      print("call", e.getClass().getSimpleName() + ": " + e.getMessage());
    }
  }

  private static void print(String key, Object value) {
    System.out.println(key + "=" + value.toString().replace("\n", " | "));
  }
}
