package org.metrale.gpu;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The classes that the parser wrote. */
final class GeneratedClasses {
  static final List<String> LIBRARIES = List.of("cuda", "nccl", "nvml", "cufile", "verbs", "nvtx");

  private GeneratedClasses() {}

  /** The class with a library's functions, not initialised. */
  static Class<?> global(String library) {
    return named("org.metrale.global." + library);
  }

  /** A library's structures, handles and callbacks, not initialised. */
  static List<Class<?>> types(String library) {
    Path sources = Fakes.repository().resolve("src/gen/java/org/metrale").resolve(library);
    try (Stream<Path> files = Files.list(sources)) {
      return files
          .map(file -> file.getFileName().toString().replace(".java", ""))
          .sorted()
          .<Class<?>>map(name -> named("org.metrale." + library + "." + name))
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Class<?> named(String name) {
    try {
      return Class.forName(name, false, GeneratedClasses.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }
}
