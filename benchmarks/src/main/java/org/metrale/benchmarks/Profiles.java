package org.metrale.benchmarks;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Where the time of a row goes, as perf sees it: what is ours, and what no code in Java can save.
 */
final class Profiles {
  private static final String MEASURED = "org.metrale.ben";
  private static final String MAIN = "java";
  private static final int STARTS = 10;
  private static final double LEAST = 0.015;

  /** Of the areas' works, those that are one call or a few; what is compared with them last. */
  private static final Map<String, List<String>> SUBJECTS =
      Map.of(
          "raw", List.of("raw", "direct", "bytedeco"),
          "nccl", List.of("checked", "bytedeco"),
          "cuda", List.of("checked"),
          "cufile", List.of("checked", "flat"),
          "nvml", List.of("checked"),
          "nvtx", List.of("checked"),
          "verbs", List.of("checked"));

  /** What can be asked for. */
  static final Set<String> AREAS =
      Set.of("raw", "nccl", "cuda", "cufile", "nvml", "nvtx", "verbs", "startup");

  private final Setting setting;
  private final Path folder;
  private final StringBuilder out = new StringBuilder();
  private int problems;

  private Profiles(Setting setting) throws IOException {
    this.setting = setting;
    this.folder = Files.createDirectories(setting.base().resolve("benchmarks/target/profile"));
  }

  /**
   * Profiles.
   *
   * @param text what came out
   * @param problems how many rows could not be profiled
   */
  record Result(String text, int problems) {}

  static Result of(Setting setting, Set<String> areas) throws IOException, InterruptedException {
    Profiles profiles = new Profiles(setting);
    for (String java : setting.javas().keySet()) {
      for (Work work : Work.all()) {
        boolean skipped = work.name().equals("group start") || work.name().equals("range, no tool");
        if (areas.contains(work.area()) && !skipped) {
          for (String subject : SUBJECTS.getOrDefault(work.area(), List.of())) {
            profiles.call(work, subject, java);
          }
        }
      }
      if (areas.contains("cufile")) {
        for (String subject : List.of("checked", "raw")) {
          profiles.read(subject, java);
        }
      }
      if (areas.contains("startup")) {
        profiles.startup(java);
      }
    }
    return new Result(profiles.out.toString(), profiles.problems);
  }

  /** Why nothing can be profiled here, or an empty text. */
  static String problem() throws IOException, InterruptedException {
    for (List<String> command :
        List.of(
            List.of("perf", "record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "true"),
            List.of("objdump", "--version"))) {
      Child child = Child.run(command, Map.of());
      if (child.code() != 0) {
        return "--profile needs perf (linux-perf) and objdump (binutils), and a kernel that allows"
            + " perf: "
            + String.join(" ", command)
            + " ended with "
            + child.code()
            + ": "
            + child.errors();
      }
    }
    return "";
  }

  /** In one process with the harness, so that perf sees nothing else. */
  private void call(Work work, String subject, String java)
      throws IOException, InterruptedException {
    Path json = folder.resolve("score.json");
    String method = work.benchmark().getName() + "." + work.method() + "_" + subject;
    List<String> program = new ArrayList<>(jvm(java, setting.noop()));
    program.add("-Djmh.ignoreLock=true");
    program.addAll(List.of("-cp", System.getProperty("java.class.path")));
    program.addAll(List.of("org.openjdk.jmh.Main", "^" + method.replace(".", "\\.") + "$"));
    program.addAll(List.of("-f", "0", "-bm", "avgt", "-tu", "ns", "-foe", "true"));
    program.addAll(List.of("-wi", "4", "-w", "500ms", "-i", "4", "-r", "700ms"));
    program.addAll(List.of("-rf", "json", "-rff", json.toString()));
    Files.deleteIfExists(json);
    if (record(program, 3000)) {
      List<Double> pieces = new ArrayList<>();
      JsonNode metric = new ObjectMapper().readTree(json.toFile()).at("/0/primaryMetric");
      metric.at("/rawData/0").forEach(piece -> pieces.add(piece.asDouble()));
      table(work.name() + " by " + subject, java, Collections.min(pieces), MEASURED);
    }
  }

  private void read(String subject, String java) throws IOException, InterruptedException {
    List<String> program = new ArrayList<>(jvm(java, setting.emulator()));
    program.addAll(List.of("-cp", System.getProperty("java.class.path")));
    program.addAll(List.of(ReadsProbe.class.getName(), setting.file().toString(), subject));
    Child child = recorded(program, 1500);
    for (String line : child.lines()) {
      String[] words = line.split("\t", -1);
      if (child.code() == 0 && words.length > 5) {
        List<Double> pieces = Stream.of(words[5].split(",", -1)).map(Double::valueOf).toList();
        table(words[1] + " by " + words[2], java, Collections.min(pieces), MAIN);
      }
    }
  }

  private List<String> jvm(String java, Path library) {
    List<String> all = new ArrayList<>();
    all.add(setting.javas().get(java).toString());
    all.addAll(setting.jvmArguments(library));
    all.add("-XX:+UnlockDiagnosticVMOptions");
    all.addAll(List.of("-XX:+PrintAssembly", "-XX:+DebugNonSafepoints"));
    all.addAll(List.of("-XX:+LogVMOutput", "-XX:-DisplayVMOutput", "-XX:LogFile=" + log()));
    return all;
  }

  private Path log() {
    return folder.resolve("code.log");
  }

  private Path data() {
    return folder.resolve("perf.data");
  }

  private boolean record(List<String> program, int delay) throws IOException, InterruptedException {
    return recorded(program, delay).code() == 0;
  }

  private Child recorded(List<String> program, int delay) throws IOException, InterruptedException {
    Files.deleteIfExists(data());
    List<String> command = new ArrayList<>();
    command.addAll(List.of("perf", "record", "-q", "-e", "cpu-clock", "-F", "4999"));
    command.addAll(List.of("-o", data().toString()));
    if (delay > 0) {
      command.addAll(List.of("-D", String.valueOf(delay)));
    }
    command.add("--");
    command.addAll(program);
    Child child = Child.run(command, Map.of());
    if (child.code() != 0) {
      problems++;
      out.append("\nNOT PROFILED, ended with " + child.code() + ": " + child.errors() + "\n");
    }
    return child;
  }

  private void table(String title, String java, double nanos, String thread)
      throws IOException, InterruptedException {
    Samples samples = Samples.of(Samples.read(data()), thread, CompiledCode.read(log()));
    if (samples.total() == 0) {
      problems++;
      out.append("\nNOT PROFILED, perf saw nothing of its thread: " + title + "\n");
      return;
    }
    out.append("\n### " + title + ", Java " + java + ": " + number(nanos) + " ns\n\n");
    out.append(
            samples.kinds().entrySet().stream()
                .map(one -> one.getKey() + " " + number(one.getValue() * nanos))
                .collect(Collectors.joining(", ")))
        .append(" ns; " + samples.total() + " samples.\n\n");
    out.append("| where | share | ns |\n| --- | ---: | ---: |\n");
    double rest = 1;
    for (Map.Entry<String, Double> entry : samples.shares().entrySet()) {
      if (entry.getValue() >= LEAST) {
        line(entry.getKey(), entry.getValue(), nanos);
        rest -= entry.getValue();
      }
    }
    line("less than " + number(100 * LEAST) + " % each", rest, nanos);
  }

  private void line(String where, double share, double nanos) {
    out.append(
        "| " + where + " | " + number(100 * share) + " % | " + number(share * nanos) + " |\n");
  }

  /** Milliseconds of processor, by what did what, and how many classes were loaded. */
  private void startup(String java) throws IOException, InterruptedException {
    Map<String, Class<?>> programs = new TreeMap<>();
    programs.put("empty", StartupProbe.Empty.class);
    programs.put("raw", StartupProbe.Raw.class);
    programs.put("bytedeco", StartupProbe.Theirs.class);
    Map<String, Map<String, Double>> rows = new TreeMap<>();
    for (Map.Entry<String, Class<?>> program : programs.entrySet()) {
      for (int i = 0; i < STARTS; i++) {
        if (!record(start(java, program.getValue(), List.of()), 0)) {
          return;
        }
        for (Samples.Sample sample : Samples.read(data())) {
          add(rows, kind(sample), program.getKey(), 1e3 / 4999 / STARTS);
        }
      }
      Child child =
          Child.run(start(java, program.getValue(), List.of("-Xlog:class+load")), Map.of());
      for (String line : child.lines()) {
        if (line.contains(" source: ")) {
          String name = line.replaceAll("^(\\[[^\\]]*\\])+ ", "");
          String whose =
              name.startsWith("org.bytedeco.javacpp.")
                  ? "JavaCPP's"
                  : name.startsWith("org.bytedeco.")
                      ? "bytedeco's"
                      : name.startsWith("org.metrale.") ? "ours" : "the JDK's";
          add(rows, "classes loaded, " + whose, program.getKey(), 1);
        }
      }
    }
    out.append("\n### first NCCL version call, Java " + java + "\n\n");
    out.append("| ms of processor, mean of " + STARTS + " starts | empty | raw | bytedeco |\n");
    out.append("| --- | ---: | ---: | ---: |\n");
    rows.forEach(
        (name, values) ->
            out.append("| " + name + " | ")
                .append(number(values.getOrDefault("empty", 0.0)) + " | ")
                .append(number(values.getOrDefault("raw", 0.0)) + " | ")
                .append(number(values.getOrDefault("bytedeco", 0.0)) + " |\n"));
  }

  private List<String> start(String java, Class<?> main, List<String> options) {
    List<String> all = new ArrayList<>();
    all.addAll(List.of("env", "LD_LIBRARY_PATH=" + setting.noop()));
    all.add(setting.javas().get(java).toString());
    all.add("--enable-native-access=ALL-UNNAMED");
    all.add("-Dorg.metrale.library.path=" + setting.noop());
    all.addAll(options);
    all.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    return all;
  }

  private static void add(
      Map<String, Map<String, Double>> rows, String name, String program, double value) {
    rows.computeIfAbsent(name, key -> new TreeMap<>()).merge(program, value, Double::sum);
  }

  private static String kind(Samples.Sample sample) {
    if (!sample.thread().equals(MAIN)) {
      return sample.thread().startsWith("C1") || sample.thread().startsWith("C2")
          ? "other threads: compilers"
          : "other threads: collector, end and rest";
    }
    if (sample.isKernel()) {
      return "main thread: the kernel (files, memory, start and end)";
    }
    if (sample.isMade()) {
      return "main thread: Java";
    }
    return "main thread: "
        + (sample.library().equals("libjvm.so")
            ? "libjvm.so (classes, interpreter's calls)"
            : sample.library().startsWith("ld-") ? "the dynamic linker" : "other libraries");
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  }
}
