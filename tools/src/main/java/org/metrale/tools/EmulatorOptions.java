package org.metrale.tools;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.metrale.emulator.Emulator;
import picocli.CommandLine.Option;

/** What commands let the user say about the software GPU host. */
final class EmulatorOptions {
  @Option(
      names = {"--emulated", "--emulator"},
      description = "Use the software GPU host even if there are devices.")
  private boolean emulated;

  @Option(
      names = "--emulator-folder",
      paramLabel = "FOLDER",
      description =
          "Take the software GPU host's libraries from this folder, as a build leaves them, instead"
              + " of from its jar; implies --emulated.")
  private Path folder;

  @Option(
      names = "--emulator-set",
      paramLabel = "KEY=VALUE",
      description =
          "A line of the software GPU host's configuration, for example gpu.kind=gb10; may be given"
              + " several times; implies --emulated.")
  private List<String> settings = List.of();

  /** For the parser of arguments. */
  EmulatorOptions() {}

  boolean isWanted() {
    return emulated || folder != null || !settings.isEmpty();
  }

  /** The same options for another process. */
  List<String> arguments() {
    List<String> out = new ArrayList<>();
    if (emulated) {
      out.add("--emulated");
    }
    if (folder != null) {
      out.add("--emulator-folder=" + folder);
    }
    settings.forEach(setting -> out.add("--emulator-set=" + setting));
    return out;
  }

  /** Starts the default machine if the user asked for one; the answer does nothing otherwise. */
  AutoCloseable startIfWanted() throws ToolException {
    return isWanted() ? start(Emulator.machine()) : () -> {};
  }

  /**
   * Starts the machine for this process; never called unless the user or an absent GPU asks for it.
   */
  StartedEmulator start(Emulator.Machine machine) throws ToolException {
    if (folder != null && !Files.isRegularFile(folder.resolve("libcuda.so.1"))) {
      throw new ToolException(
          "--emulator-folder "
              + folder
              + " has no libcuda.so.1: expected a folder that a build left");
    }
    for (String setting : settings) {
      int equals = setting.indexOf('=');
      if (equals <= 0) {
        throw new ToolException("--emulator-set " + setting + ": expected KEY=VALUE");
      }
      machine.set(setting.substring(0, equals).strip(), setting.substring(equals + 1).strip());
    }
    try {
      return StartedEmulator.of(folder == null ? machine.start() : machine.start(folder));
    } catch (IllegalStateException e) {
      throw new ToolException("the software GPU host cannot be started: " + e.getMessage(), e);
    }
  }
}
