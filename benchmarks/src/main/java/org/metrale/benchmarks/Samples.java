package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.metrale.benchmarks.CompiledCode.Method;

/** Where a thread was, each time that perf looked: by Java method, native function and library. */
final class Samples {
  private static final Pattern LINE =
      Pattern.compile("\\s*(.{1,16}?)\\s+([0-9a-f]{4,16}) (.*) \\((.*)\\)");

  /** The processor waits here for its own writes, and the next instruction is where it is seen. */
  private static final Pattern ATOMIC =
      Pattern.compile("(lock |xchg (?!%ax,%ax)|mfence|dmb|stlxr|cas).*");

  /** Whose time it is. */
  enum Kind {
    CROSSING("the way into C and back"),
    GLUE("glue"),
    LIBRARIES("libraries"),
    KERNEL("the kernel"),
    ATOMIC("atomic steps in Java"),
    JAVA("the rest of Java"),
    JVM("the JVM");

    private final String text;

    Kind(String text) {
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  private final Map<Kind, Integer> kinds = new EnumMap<>(Kind.class);
  private final Map<String, Integer> counts = new HashMap<>();
  private final Map<Method, NavigableMap<Long, String>> instructions = new HashMap<>();
  private final Map<String, Set<Long>> steps = new HashMap<>();
  private int total;

  private Samples() {}

  /**
   * A sample.
   *
   * @param thread the first letters of the thread's name
   * @param address of the instruction
   * @param function as perf knows it
   * @param file of the library, or what perf says for code that is in none
   */
  record Sample(String thread, long address, String function, String file) {
    boolean isKernel() {
      return file.startsWith("[kernel") || file.endsWith(".ko");
    }

    /** Whether it is code that the JVM made. */
    boolean isMade() {
      return !isKernel()
          && (file.contains("perf-")
              || file.contains("anon")
              || file.startsWith("[")
              || file.contains("JIT"))
          && !file.equals("[vdso]");
    }

    String library() {
      return file.replaceAll(".*/", "");
    }
  }

  /** Every sample that a file of perf's has. */
  static List<Sample> read(Path data) throws IOException, InterruptedException {
    Child child =
        Child.run(
            List.of("perf", "script", "-i", data.toString(), "-F", "comm,ip,sym,dso"), Map.of());
    List<Sample> out = new ArrayList<>();
    for (String line : child.lines()) {
      Matcher words = LINE.matcher(line);
      if (words.matches()) {
        out.add(
            new Sample(
                words.group(1),
                Long.parseUnsignedLong(words.group(2), 16),
                words.group(3),
                words.group(4)));
      }
    }
    return out;
  }

  /** The samples of one thread, by what it was doing. */
  static Samples of(List<Sample> all, String thread, CompiledCode code)
      throws IOException, InterruptedException {
    Samples out = new Samples();
    for (Sample sample : all) {
      if (sample.thread().equals(thread)) {
        out.total++;
        out.counts.merge(out.name(sample, code), 1, Integer::sum);
      }
    }
    return out;
  }

  /** The share of each kind that there is. */
  Map<Kind, Double> kinds() {
    Map<Kind, Double> out = new EnumMap<>(Kind.class);
    kinds.forEach((kind, count) -> out.put(kind, (double) count / total));
    return out;
  }

  int total() {
    return total;
  }

  /** The share of each place, the largest first. */
  Map<String, Double> shares() {
    Map<String, Double> out = new LinkedHashMap<>();
    counts.entrySet().stream()
        .sorted(Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder()))
        .forEach(
            entry -> {
              int places = steps.getOrDefault(entry.getKey(), Set.of()).size();
              String name =
                  places > 1 ? entry.getKey() + ", " + places + " of them" : entry.getKey();
              out.put(name, (double) entry.getValue() / total);
            });
    return out;
  }

  private String name(Sample sample, CompiledCode code) throws IOException, InterruptedException {
    if (sample.isKernel()) {
      return of(Kind.KERNEL, "the kernel");
    }
    if (!sample.isMade()) {
      String library = sample.library();
      return of(
          library.equals("libjvm.so")
              ? Kind.JVM
              : library.startsWith("libjni") ? Kind.GLUE : Kind.LIBRARIES,
          library + (sample.function().contains("unknown") ? "" : " " + sample.function()));
    }
    Optional<Method> found = code.at(sample.address());
    if (found.isEmpty()) {
      return of(Kind.JVM, "stubs of the JVM");
    }
    Method method = found.get();
    Optional<Map.Entry<Long, String>> step = step(method, sample.address());
    String name =
        method.isWrapper()
            ? of(Kind.CROSSING, "into C and back, " + method.name().replaceAll(".*::", ""))
            : of(step.isPresent() ? Kind.ATOMIC : Kind.JAVA, method.place(sample.address()));
    if (step.isEmpty()) {
      return name;
    }
    String with =
        name + ": `" + step.get().getValue().replaceAll("^(lock )?(\\S+).*", "$1$2") + "`";
    steps.computeIfAbsent(with, key -> new HashSet<>()).add(step.get().getKey());
    return with;
  }

  private String of(Kind kind, String name) {
    kinds.merge(kind, 1, Integer::sum);
    return name;
  }

  /** The atomic instruction that comes before an address, if one does. */
  private Optional<Map.Entry<Long, String>> step(Method method, long address)
      throws IOException, InterruptedException {
    NavigableMap<Long, String> all = instructions.get(method);
    if (all == null) {
      all = method.instructions();
      instructions.put(method, all);
    }
    Map.Entry<Long, String> before = all.lowerEntry(address);
    return before != null && ATOMIC.matcher(before.getValue()).matches()
        ? Optional.of(before)
        : Optional.empty();
  }
}
