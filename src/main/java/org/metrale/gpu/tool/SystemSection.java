package org.metrale.gpu.tool;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.metrale.gpu.NativeLibrary;

/** The machine and the Java around us: what decides whether anything else can work. */
final class SystemSection implements DoctorSection {
  private static final Path PROCESS = Path.of("/proc/self");
  private static final long AUXILIARY_PAGE_SIZE = 6;

  // What the C library says of itself when it is run as a program.
  private static final String BANNER = "GNU C Library ";
  private static final String VERSION = "version ";
  private static final int BANNER_BYTES = 80;

  @Override
  public String name() {
    return "system";
  }

  @Override
  public Map<String, Object> examine() {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("architecture", System.getProperty("os.arch"));
    out.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    out.put("glibc", glibc());
    out.put("page size bytes", pageSizeBytes());
    out.put("locked memory limit", lockedMemoryLimit());
    out.put(
        "jdk",
        System.getProperty("java.vm.name")
            + " "
            + System.getProperty("java.runtime.version")
            + " ("
            + System.getProperty("java.home")
            + ")");
    out.put("metrale-gpu", version());
    out.put("javacpp", NativeLibrary.javacppVersion());
    out.put("extraction folder", NativeLibrary.extractionFolder());
    return out;
  }

  private static String version() {
    String version = SystemSection.class.getPackage().getImplementationVersion();
    return version == null ? "not from a jar" : version;
  }

  /** The limit that registration of RDMA memory runs into. */
  private static String lockedMemoryLimit() {
    for (String line : lines(PROCESS.resolve("limits"))) {
      if (line.startsWith("Max locked memory")) {
        String[] words = line.substring("Max locked memory".length()).trim().split("\\s+", -1);
        return words[0] + (words[0].equals("unlimited") ? "" : " bytes");
      }
    }
    return "unknown";
  }

  private static Object pageSizeBytes() {
    try {
      ByteBuffer pairs =
          ByteBuffer.wrap(Files.readAllBytes(PROCESS.resolve("auxv")))
              .order(ByteOrder.nativeOrder());
      while (pairs.remaining() >= 2 * Long.BYTES) {
        long key = pairs.getLong();
        long value = pairs.getLong();
        if (key == AUXILIARY_PAGE_SIZE) {
          return value;
        }
      }
    } catch (IOException e) {
      // The kernel hides it: unknown, as below.
    }
    return "unknown";
  }

  /** The version that the C library's own file carries. */
  private static String glibc() {
    for (String line : lines(PROCESS.resolve("maps"))) {
      int path = line.indexOf('/');
      if (path > 0 && isCLibrary(line.substring(path))) {
        try {
          Path file = Path.of(line.substring(path));
          return glibc(Files.readString(file, StandardCharsets.ISO_8859_1));
        } catch (IOException e) {
          return "unknown";
        }
      }
    }
    return "not glibc";
  }

  /** Before glibc 2.34 the file has the version in its name, and only a link the usual one. */
  static boolean isCLibrary(String path) {
    String name = path.substring(path.lastIndexOf('/') + 1);
    return name.equals("libc.so.6") || (name.startsWith("libc-2.") && name.endsWith(".so"));
  }

  /** Without a pattern, which takes a tenth of the doctor's whole time to search so much. */
  private static String glibc(String image) {
    for (int at = image.indexOf(BANNER); at >= 0; at = image.indexOf(BANNER, at + 1)) {
      int version = image.indexOf(VERSION, at);
      int end = version + VERSION.length();
      int begin = end;
      while (end < image.length()
          && (Character.isDigit(image.charAt(end)) || image.charAt(end) == '.')) {
        end++;
      }
      if (version >= 0 && version - at < BANNER_BYTES && end > begin) {
        String text = image.substring(begin, end);
        return text.endsWith(".") ? text.substring(0, text.length() - 1) : text;
      }
    }
    return "unknown";
  }

  static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return List.of();
    }
  }
}
