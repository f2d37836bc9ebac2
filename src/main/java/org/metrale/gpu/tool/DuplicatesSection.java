package org.metrale.gpu.tool;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.metrale.gpu.NativeLibrary;

/** Two copies of one library in this process: each has its own state, and mixing them crashes. */
final class DuplicatesSection implements DoctorSection {
  @Override
  public String name() {
    return "copies of libraries";
  }

  @Override
  public Map<String, Object> examine() {
    Map<String, Set<String>> mapped = new TreeMap<>();
    for (String line : SystemSection.lines(Path.of("/proc/self/maps"))) {
      int start = line.indexOf('/');
      if (start < 0) {
        continue;
      }
      String path = line.substring(start);
      for (NativeLibrary library : NativeLibrary.all()) {
        if (isCopy(path, library)) {
          mapped.computeIfAbsent(library.soname(), key -> new LinkedHashSet<>()).add(path);
        }
      }
    }
    Map<String, Object> out = new LinkedHashMap<>();
    mapped.forEach(
        (soname, files) -> {
          if (files.size() > 1) {
            out.put(soname, java.util.List.copyOf(files));
          }
        });
    if (out.isEmpty()) {
      out.put("more than one", "none");
    }
    return out;
  }

  /** By its name, or because it is the file that is open, whatever its name. */
  private static boolean isCopy(String path, NativeLibrary library) {
    String stem = library.soname().substring(0, library.soname().indexOf(".so") + ".so".length());
    return path.substring(path.lastIndexOf('/') + 1).startsWith(stem)
        || library.file().filter(file -> path.equals(real(file))).isPresent();
  }

  private static String real(Path file) {
    try {
      return file.toRealPath().toString();
    } catch (IOException e) {
      // Removed since it was opened.
      return file.toString();
    }
  }
}
