package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The machine that measures, in words. */
final class Machine {
  private Machine() {}

  static Map<String, String> describe(Setting setting) throws IOException, InterruptedException {
    Map<String, String> out = new LinkedHashMap<>();
    out.put("processor", processor());
    out.put("cores", String.valueOf(Runtime.getRuntime().availableProcessors()));
    out.put("memory", line("/proc/meminfo", "MemTotal").replaceAll("\\s+", " "));
    out.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    out.put("load at the start", Files.readString(Path.of("/proc/loadavg")).strip());
    for (Map.Entry<String, Path> java : setting.javas().entrySet()) {
      Child child = Child.run(List.of(java.getValue().toString(), "-version"), Map.of());
      out.put("Java " + java.getKey(), child.errors().lines().skip(1).findFirst().orElse("?"));
    }
    return out;
  }

  private static String processor() throws IOException {
    String model = line("/proc/cpuinfo", "model name");
    return model.isEmpty() ? System.getProperty("os.arch") : model;
  }

  private static String line(String file, String key) throws IOException {
    return Files.readAllLines(Path.of(file)).stream()
        .filter(line -> line.startsWith(key))
        .map(line -> line.substring(line.indexOf(':') + 1).strip())
        .findFirst()
        .orElse("");
  }
}
