package org.metrale.tools;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts this program once more, with the same class path and the same settings of ours. */
final class ChildJvm {
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
}
