package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Where everything is, and how long to measure.
 *
 * @param base the project's folder
 * @param native_ the folder with what was built in C
 * @param platform as JavaCPP calls it
 * @param javas by major version, the commands
 * @param pace how long
 */
record Setting(Path base, Path native_, String platform, Map<String, Path> javas, Pace pace) {
  /** How long to measure. */
  enum Pace {
    /** Every benchmark runs, nothing is measured. */
    SMOKE(1, 0, 1, 1),
    QUICK(1, 2, 3, 100),
    FULL(3, 4, 4, 120);

    private final int rounds;
    private final int warmups;
    private final int repeats;
    private final int millis;

    Pace(int rounds, int warmups, int repeats, int millis) {
      this.rounds = rounds;
      this.warmups = warmups;
      this.repeats = repeats;
      this.millis = millis;
    }

    /** How often everything is run. */
    int rounds() {
      return rounds;
    }

    /** How many pieces of time are not counted, a round. */
    int warmups() {
      return warmups;
    }

    /** How many pieces of time are counted, a round. */
    int repeats() {
      return repeats;
    }

    /** How long a piece of time is. */
    int millis() {
      return millis;
    }

    /** A number for work that counts otherwise. */
    int choose(int smoke, int quick, int full) {
      return switch (this) {
        case SMOKE -> smoke;
        case QUICK -> quick;
        case FULL -> full;
      };
    }
  }

  static Setting of(Path base, Path built, String platform, String java25, Pace pace) {
    Map<String, Path> javas = new LinkedHashMap<>();
    String running = String.valueOf(Runtime.version().feature());
    javas.put(running, Path.of(System.getProperty("java.home"), "bin", "java"));
    if (!java25.isEmpty()) {
      javas.putIfAbsent("25", Path.of(java25, "bin", "java"));
    }
    return new Setting(base, built, platform, javas, pace);
  }

  /** A file that a full run leaves. */
  Path report(String name) {
    return base.resolve("benchmarks").resolve(name);
  }

  Path noop() {
    return native_.resolve("noop");
  }

  Path emulator() {
    return base.resolve("cppbuild").resolve(platform).resolve("emulator");
  }

  Path nvtxTool() {
    return base.resolve("cppbuild/" + platform + "/src/test/c/nvtx/libmetrale_nvtx_recorder.so");
  }

  /** The Java that takes part in everything. */
  String firstJava() {
    return javas.keySet().iterator().next();
  }

  /** The Javas that take part in everything; the others only do what the first cannot. */
  List<String> wholeJavas() {
    return pace == Pace.FULL ? List.copyOf(javas.keySet()) : List.of(firstJava());
  }

  /** What every JVM that measures is started with. */
  List<String> jvmArguments(Path library) {
    List<String> out = new ArrayList<>();
    out.add("--enable-native-access=ALL-UNNAMED");
    out.add("-Dmetrale.benchmarks.noop=" + noop());
    out.add("-Dmetrale.benchmarks.nvtx=" + nvtxTool());
    out.add("-Dmetrale.benchmarks.pace=" + pace.name());
    out.add("-Dorg.metrale.library.path=" + library);
    return out;
  }

  /** A file to read that lies in memory however it is opened, deleted when this process ends. */
  Path file() throws IOException {
    Path memory = Path.of("/dev/shm");
    Path folder = Files.isWritable(memory) ? memory : base.resolve("benchmarks/target");
    Path file = folder.resolve("metrale-benchmark-" + ProcessHandle.current().pid());
    if (!Files.exists(file)) {
      file.toFile().deleteOnExit();
      byte[] some = new byte[1 << 20];
      new java.util.Random(5).nextBytes(some);
      try (var out = Files.newOutputStream(file)) {
        for (long at = 0; at < ReadsProbe.BYTES; at += some.length) {
          out.write(some);
        }
      }
    }
    return file;
  }

  /** What the child knows of it. */
  static Pace childPace() {
    return Pace.valueOf(System.getProperty("metrale.benchmarks.pace", "QUICK"));
  }
}
