package org.metrale.gpu.nvml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The constants of the header, read from the generated source so that no glue has to be loaded; and
 * its functions.
 */
final class NvmlHeader {
  private static final Pattern CONSTANT =
      Pattern.compile("\\b((?:NVML|METRALE_NVML|nvml)\\w+)\\s*=\\s*(0x[0-9a-fA-F]+|\\d+)L?\\b");

  private static final Pattern FUNCTION = Pattern.compile("METRALE_FUNCTION\\(\\d+, (\\w+)\\)");

  private NvmlHeader() {}

  /** Every constant whose name begins so, without that beginning. */
  static Map<String, Long> constants(String beginning) throws IOException {
    Path source =
        Path.of(System.getProperty("metrale.basedir", "."))
            .resolve("src/gen/java/org/metrale/global/nvml.java");
    Map<String, Long> out = new TreeMap<>();
    Matcher found = CONSTANT.matcher(Files.readString(source));
    while (found.find()) {
      if (found.group(1).startsWith(beginning)) {
        out.put(found.group(1).substring(beginning.length()), number(found.group(2)));
      }
    }
    return out;
  }

  /** Every function that is bound. */
  static List<String> functions() throws IOException {
    Path list =
        Path.of(System.getProperty("metrale.basedir", "."))
            .resolve("src/gen/include/metrale_nvml_functions.h");
    return FUNCTION.matcher(Files.readString(list)).results().map(found -> found.group(1)).toList();
  }

  private static long number(String text) {
    return text.startsWith("0x")
        ? Long.parseUnsignedLong(text.substring(2), 16)
        : Long.parseLong(text);
  }
}
