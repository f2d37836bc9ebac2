package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** How each area is measured. */
final class Areas {
  static final List<String> NAMES =
      List.of(
          "raw",
          "nccl",
          "cuda",
          "cufile",
          "nvml",
          "nvtx",
          "verbs",
          "wire",
          "handshake",
          "startup",
          "watchdog",
          "emulator",
          "scale");

  private final Setting setting;
  private final Results results;

  Areas(Setting setting, Results results) {
    this.setting = setting;
    this.results = results;
  }

  void run(String area, int round) throws IOException, InterruptedException {
    switch (area) {
      case "handshake" -> handshake();
      case "startup" -> startup();
      case "watchdog" -> watchdog(round);
      case "emulator" -> emulator();
      case "scale" -> scale(round);
      case "cufile" -> {
        new JmhRuns(setting, results).round(area);
        reads(round);
      }
      default -> new JmhRuns(setting, results).round(area);
    }
  }

  private void handshake() throws IOException, InterruptedException {
    Map<String, List<Double>> c = Loops.run(setting, results, "pingpong", Map.of());
    loop("handshake", "two round trips", Level.NONE, "pingpong", c.get("two-round-trips"));
    for (String java : setting.wholeJavas()) {
      Probe.run(
          setting, results, "handshake", java, setting.noop(), Map.of(), HandshakeProbe.class);
    }
  }

  /** The processes of different kinds take turns. */
  private void startup() throws IOException, InterruptedException {
    for (String java : setting.wholeJavas()) {
      checkLibrary(java);
      for (int i = 0; i < setting.pace().choose(1, 3, 5); i++) {
        start(java, StartupProbe.Empty.class, "empty program", "java", Level.NONE);
        start(java, StartupProbe.Raw.class, "first NCCL version call", "raw", Level.NO_OP);
        start(java, StartupProbe.Checked.class, "first NCCL version call", "checked", Level.NO_OP);
        start(java, StartupProbe.Theirs.class, "first NCCL version call", "bytedeco", Level.NO_OP);
        start(
            java,
            org.metrale.gpu.tool.Doctor.class,
            "doctor without libraries",
            "checked",
            Level.NONE);
      }
    }
  }

  /** Which library answers, in a process that is not measured; it also warms the caches. */
  private void checkLibrary(String java) throws IOException, InterruptedException {
    for (Class<?> main :
        List.of(StartupProbe.Raw.class, StartupProbe.Checked.class, StartupProbe.Theirs.class)) {
      start(java, main, Level.NO_OP, setting.noop().toString());
    }
  }

  private void start(String java, Class<?> main, String work, String subject, String level)
      throws IOException, InterruptedException {
    Child child = start(java, main, level);
    if (child.code() == 0) {
      results.add(
          Row.of("startup", work, subject, java, level, "ms"), List.of(child.nanos() / 1e6), -1);
    }
  }

  private Child start(String java, Class<?> main, String level, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(setting.javas().get(java).toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    boolean library = level.equals(Level.NO_OP);
    if (library) {
      command.add("-Dorg.metrale.library.path=" + setting.noop());
    }
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(arguments));
    Map<String, String> variables =
        library ? Map.of("LD_LIBRARY_PATH", setting.noop().toString()) : Map.of();
    Child child = Child.run(command, variables);
    if (child.code() != 0) {
      results.problem(
          "startup: "
              + main.getName()
              + " on Java "
              + java
              + " ended with "
              + child.code()
              + ": "
              + child.errors());
    }
    return child;
  }

  private void watchdog(int round) throws IOException, InterruptedException {
    if (round > 1) {
      return;
    }
    for (String java : setting.wholeJavas()) {
      for (Map<String, String> pending :
          List.of(Map.<String, String>of(), Map.of("METRALE_NOOP_PENDING", "1"))) {
        Probe.run(
            setting,
            results,
            "watchdog",
            java,
            setting.noop(),
            pending,
            WatchdogProbe.class,
            String.valueOf(setting.pace().choose(8, 8, 512)));
      }
    }
  }

  private void emulator() throws IOException, InterruptedException {
    Map<String, List<Double>> c = Loops.run(setting, results, "memcpy", Map.of());
    loop("emulator", "memcpy of 64 MiB, 1 thread", Level.NONE, "memcpy", c.get("memcpy-1"));
    loop("emulator", "memcpy of 64 MiB, 2 threads", Level.NONE, "memcpy", c.get("memcpy-2"));
    for (String java : setting.wholeJavas()) {
      for (Class<?> probe : List.of(EmulatorProbe.class, DeviceProbe.class, NvmlProbe.class)) {
        Probe.run(
            setting,
            results,
            "emulator",
            java,
            setting.emulator(),
            Map.of("METRALE_EMULATOR_GPUS", "4"),
            probe);
      }
    }
  }

  private void scale(int round) throws IOException, InterruptedException {
    if (round > 1) {
      return;
    }
    for (String java : setting.wholeJavas()) {
      Probe.run(setting, results, "scale", java, setting.noop(), Map.of(), ScaleProbe.class);
      Probe.run(setting, results, "scale", java, setting.noop(), Map.of(), BootstrapProbe.class);
    }
  }

  /** On the software GPU host, and with the vendor's library where that works without a GPU. */
  private void reads(int round) throws IOException, InterruptedException {
    Path file = setting.file();
    Map<String, List<Double>> c =
        Loops.run(
            setting, results, "reads", Map.of(), setting.emulator().toString(), file.toString());
    c.forEach(
        (work, values) -> loop("cufile", ReadsProbe.name(work), Level.EMULATED, "reads", values));
    for (String java : setting.javas().keySet()) {
      boolean whole = setting.wholeJavas().contains(java);
      if (whole || Foreign.isIn(java)) {
        Probe.run(
            setting,
            results,
            "cufile",
            java,
            setting.emulator(),
            Map.of(),
            ReadsProbe.class,
            file.toString(),
            whole ? "" : ReadsProbe.OTHERS);
      }
    }
    if (round == 1) {
      realReads(file);
    }
  }

  private void realReads(Path file) throws IOException, InterruptedException {
    Path folder = setting.base().resolve("cppbuild/real");
    if (!Files.isDirectory(folder)) {
      results.remark("reads by the real libcufile: left out, `./cppbuild.sh real` was not run");
      return;
    }
    List<Path> all;
    try (Stream<Path> found = Files.list(folder)) {
      all = found.sorted().toList();
    }
    // The driver of this machine, or else Debian's, which has nothing to drive.
    List<Map<String, String>> drivers = new ArrayList<>();
    drivers.add(Map.of());
    for (Path one : all) {
      if (one.getFileName().toString().startsWith("libcuda1")) {
        drivers.add(Map.of("LD_LIBRARY_PATH", one.toString()));
      }
    }
    for (Path cufile : all) {
      if (cufile.getFileName().toString().startsWith("nvidia-cufile")) {
        realReads(file, cufile, drivers);
      }
    }
  }

  private void realReads(Path file, Path cufile, List<Map<String, String>> drivers)
      throws IOException, InterruptedException {
    for (Map<String, String> driver : drivers) {
      List<String> command = new ArrayList<>();
      command.add(setting.native_().resolve("loop_reads").toString());
      command.addAll(List.of("1", "1", cufile.toString(), file.toString()));
      Child child = Child.run(command, driver);
      String name = "reads by the real " + cufile.getFileName();
      if (child.code() == 0) {
        Loops.run(setting, results, "reads", driver, cufile.toString(), file.toString())
            .forEach(
                (work, values) ->
                    loop(
                        "cufile",
                        ReadsProbe.name(work) + ", " + cufile.getFileName(),
                        "real libcufile",
                        "reads",
                        values));
        for (String java : setting.wholeJavas()) {
          Probe.run(
              setting, results, "cufile", java, cufile, driver, ReadsProbe.class, file.toString());
        }
        return;
      }
      results.remark(name + ": left out, C ended with " + child.code() + ": " + child.errors());
    }
  }

  private void loop(String area, String work, String level, String program, List<Double> values) {
    if (values != null) {
      results.add(
          Row.of(area, work, "c", Row.NO_JAVA, level, "ns/op").withSource(Loops.source(program)),
          values,
          -1);
    }
  }
}
