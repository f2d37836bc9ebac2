package org.metrale.gpu;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Does to the loader what its arguments say, in order, and prints what came of it as {@code
 * KEY=VALUE}: {@code ask:LIBRARY}, {@code open:LIBRARY:FILE}, {@code load:FILE}, {@code
 * set:PROPERTY:VALUE}, {@code call:LIBRARY}, {@code race:LIBRARY}, {@code javacpp}, {@code java},
 * {@code libc}.
 */
public final class LoaderProbe {
  private LoaderProbe() {}

  /** Runs the commands. */
  public static void main(String[] commands) throws InterruptedException {
    for (String command : commands) {
      String[] parts = command.split(":", 3);
      switch (parts[0]) {
        case "ask" -> ask(NativeLibrary.named(parts[1]));
        case "open" -> open(NativeLibrary.named(parts[1]), Path.of(parts[2]));
        case "load" -> System.load(parts[1]);
        case "set" -> System.setProperty(parts[1], parts[2]);
        case "call" -> call(parts[1]);
        case "race" -> race(NativeLibrary.named(parts[1]));
        case "javacpp" -> print("javacpp", NativeLibrary.javacppVersion());
        case "java" -> print("java", System.getProperty("java.version"));
        case "libc" -> print("libc", libc());
        default -> throw new IllegalArgumentException(command);
      }
    }
  }

  /**
   * Two threads touch a library first. The one that initialises the generated class is held before
   * it searches, and the other comes while it waits.
   */
  private static void race(NativeLibrary library) throws InterruptedException {
    Thread first = asking(library, "first");
    Thread second = asking(library, "second");
    synchronized (library) {
      first.start();
      // Without a limit: who started this process has one, and may know how slow the machine is.
      awaitBlocked(first, Long.MAX_VALUE / 1_000_000);
      second.start();
      awaitBlocked(second, 500); // it may wait for the class instead, which has no state of its own
    }
    first.join();
    second.join();
  }

  private static Thread asking(NativeLibrary library, String key) {
    Thread thread = new Thread(() -> print(key, library.isAvailable()));
    thread.setDaemon(true);
    return thread;
  }

  private static void awaitBlocked(Thread thread, long limitMillis) {
    long begin = System.nanoTime();
    while (thread.getState() != Thread.State.BLOCKED
        && System.nanoTime() - begin < limitMillis * 1_000_000) {
      Thread.onSpinWait();
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

  /** What the C library, mapped by this JVM, says of itself. */
  private static String libc() {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      Path file =
          maps.map(line -> line.replaceFirst(".* ", ""))
              .filter(name -> name.matches(".*/libc(\\.so\\.6|-2[.0-9]*\\.so)"))
              .map(Path::of)
              .findFirst()
              .orElseThrow();
      Matcher text =
          Pattern.compile("GNU C Library \\([^)]*\\) stable release version [.0-9]*[0-9]")
              .matcher(Files.readString(file, StandardCharsets.ISO_8859_1));
      return text.find() ? text.group() : "unknown: " + file;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void print(String key, Object value) {
    System.out.println(key + "=" + value.toString().replace("\n", " | "));
  }
}
