package org.metrale.gpu;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;

/**
 * Where a library may be, in the order in which it is tried; pure over properties and environment.
 *
 * <p>What the user named is binding: if it cannot be used there is no second try elsewhere. Only
 * then come, in order, a copy that the process has mapped already, the JavaCPP redist jars, the
 * loader's own search by soname, {@code CUDA_HOME}, the toolkit folders and the driver folder of
 * WSL.
 *
 * <p>It runs before the first call of a program, in a JVM that has not used a lambda, a record's
 * own text or a format yet: each of those would cost more than the search.
 */
final class LibrarySearch {
  /** One place to try. */
  record Candidate(String how, String place, boolean binding, boolean mapped, boolean chosen) {}

  private final String name;
  private final String soname;
  private final Properties properties;
  private final Map<String, String> environment;

  LibrarySearch(
      String name, String soname, Properties properties, Map<String, String> environment) {
    this.name = name;
    this.soname = soname;
    this.properties = properties;
    this.environment = environment;
  }

  /**
   * The settings of the user that matter here, to see whether they changed since the last search.
   */
  String settings() {
    return textOf(fileGiven()) + '|' + textOf(folderGiven());
  }

  private static String textOf(Optional<Setting> given) {
    return given.isEmpty() ? "" : given.get().how() + '=' + given.get().value();
  }

  private Optional<Setting> fileGiven() {
    return given("org.metrale." + name + ".path", "METRALE_" + upperName() + "_PATH");
  }

  private Optional<Setting> folderGiven() {
    return given("org.metrale.library.path", "METRALE_LIBRARY_PATH");
  }

  /** Every place to try, best first. */
  List<Candidate> candidates() {
    Optional<Setting> file = fileGiven();
    if (file.isPresent()) {
      return List.of(new Candidate(file.get().how(), file.get().value(), true, false, true));
    }
    List<Candidate> out = new ArrayList<>();
    Optional<Setting> folder = folderGiven();
    if (folder.isPresent() && folder.get().value().isEmpty()) {
      // Not the working directory, and not a bare name for the loader to search.
      return List.of(new Candidate(folder.get().how(), "", true, false, true));
    }
    if (folder.isPresent()) {
      Path place = Path.of(folder.get().value());
      boolean binding = !Files.isDirectory(place) || Files.exists(place.resolve(soname));
      out.add(
          new Candidate(
              folder.get().how(), place.resolve(soname).toString(), binding, false, true));
      if (binding) {
        return out;
      }
    }
    out.add(new Candidate("mapped in this process", soname, false, true, false));
    RedistJar.extract(soname)
        .ifPresent(path -> out.add(new Candidate("redist jar", path, false, false, false)));
    out.add(new Candidate("loader search", soname, false, false, false));
    for (String variable : List.of("CUDA_HOME", "CUDA_PATH")) {
      String home = environment.get(variable);
      if (home != null && !home.isEmpty()) {
        addToolkit(out, "environment " + variable, Path.of(home));
      }
    }
    for (Path toolkit : toolkits()) {
      addToolkit(out, "toolkit folder", toolkit);
    }
    addIfThere(out, "WSL driver folder", Path.of("/usr/lib/wsl/lib", soname));
    return out;
  }

  private String upperName() {
    return name.toUpperCase(java.util.Locale.ROOT);
  }

  private Optional<Setting> given(String property, String variable) {
    String value = properties.getProperty(property);
    if (value != null) {
      return Optional.of(new Setting("property " + property, value));
    }
    value = environment.get(variable);
    return value == null
        ? Optional.empty()
        : Optional.of(new Setting("environment " + variable, value));
  }

  private void addToolkit(List<Candidate> out, String how, Path toolkit) {
    String target = "aarch64".equals(System.getProperty("os.arch")) ? "sbsa-linux" : "x86_64-linux";
    addIfThere(out, how, toolkit.resolve("targets").resolve(target).resolve("lib").resolve(soname));
    addIfThere(out, how, toolkit.resolve("lib64").resolve(soname));
    addIfThere(out, how, toolkit.resolve("lib").resolve(soname));
  }

  private static void addIfThere(List<Candidate> out, String how, Path file) {
    if (Files.exists(file)) {
      out.add(new Candidate(how, file.toString(), false, false, false));
    }
  }

  /** Installed toolkits: the default one first, then newer before older. */
  private static List<Path> toolkits() {
    List<Path> versions = new ArrayList<>();
    Path root = Path.of("/usr/local");
    try (DirectoryStream<Path> found = Files.newDirectoryStream(root, "cuda*")) {
      found.forEach(versions::add);
    } catch (IOException | UncheckedIOException e) {
      // A host without that folder has no toolkit there.
      return List.of();
    }
    versions.sort(
        Comparator.comparing((Path path) -> path.endsWith("cuda") ? 0 : 1)
            .thenComparing(Comparator.reverseOrder()));
    return versions;
  }

  /** What the user set, and where. */
  private record Setting(String how, String value) {}
}
