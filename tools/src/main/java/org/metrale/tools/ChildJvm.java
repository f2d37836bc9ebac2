package org.metrale.tools;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts this program once more, with the same class path and the same settings of ours. */
final class ChildJvm {
  private static final List<String> SHARED_OPTIONS = List.of("-Xm", "-Xss", "-Xint", "-XX:");

  /** Of these there can be one at a time, or they write a file. */
  private static final List<String> NOT_SHARED =
      List.of("-XX:ArchiveClassesAtExit", "-XX:StartFlightRecording", "-XX:VMOptionsFile");

  private static final int NATIVE_ACCESS_MUST_BE_SAID = 24;

  private ChildJvm() {}

  /** Starts a command; its error output goes where ours goes. */
  static Process start(List<String> arguments) throws ToolException {
    return start(arguments, ProcessBuilder.Redirect.PIPE);
  }

  /** Starts a command whose output goes where ours goes, all of it. */
  static Process startSpeaking(List<String> arguments) throws ToolException {
    return start(arguments, ProcessBuilder.Redirect.INHERIT);
  }

  private static Process start(List<String> arguments, ProcessBuilder.Redirect output)
      throws ToolException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    if (Runtime.version().feature() >= NATIVE_ACCESS_MUST_BE_SAID) {
      command.add("--enable-native-access=ALL-UNNAMED");
    }
    command.addAll(
        options(ProcessHandle.current().info().arguments().map(List::of).orElse(List.of())));
    System.getProperties().stringPropertyNames().stream()
        .filter(name -> name.startsWith("org.metrale.") || name.startsWith("org.bytedeco."))
        .sorted()
        .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(Main.class.getName());
    command.addAll(arguments);
    try {
      return new ProcessBuilder(command)
          .redirectOutput(output)
          .redirectError(ProcessBuilder.Redirect.INHERIT)
          .start();
    } catch (IOException e) {
      throw new ToolException("a second JVM cannot be started: " + e.getMessage(), e);
    }
  }

  /** Those of a JVM's arguments that a second one is started with too: memory and compilers. */
  static List<String> options(List<String> arguments) {
    return arguments.stream()
        .filter(one -> SHARED_OPTIONS.stream().anyMatch(one::startsWith))
        .filter(one -> NOT_SHARED.stream().noneMatch(one::startsWith))
        .toList();
  }
}
