package org.metrale.gpu.tool;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** The state of cuFile's driver, and what decides whether GPUDirect Storage is used. */
final class CuFileFacts {
  private CuFileFacts() {}

  static void examine(Map<String, Object> out) {
    Map<String, Object> why = new LinkedHashMap<>();
    why.put("nvidia-fs module loaded", moduleLoaded());
    why.put("configuration file", configuration());
    why.put("file system of the working folder", fileSystem(Path.of("").toAbsolutePath()));
    out.put("GPUDirect Storage", why);
    DoctorCalls.cuFile(out, why);
  }

  private static boolean moduleLoaded() {
    return SystemSection.lines(Path.of("/proc/modules")).stream()
        .anyMatch(line -> line.startsWith("nvidia_fs ") || line.startsWith("nvidia-fs "));
  }

  private static String configuration() {
    String named = System.getenv("CUFILE_ENV_PATH_JSON");
    if (named != null) {
      return named
          + " (environment)"
          + (Files.isReadable(Path.of(named)) ? "" : ", cannot be read");
    }
    Path usual = Path.of("/etc/cufile.json");
    return Files.isReadable(usual) ? usual.toString() : "none: the library's defaults";
  }

  private static String fileSystem(Path folder) {
    try {
      return Files.getFileStore(folder).type();
    } catch (java.io.IOException e) {
      return "unknown: " + e.getMessage();
    }
  }
}
