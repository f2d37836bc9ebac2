package org.metrale.tools;

import java.nio.file.Files;
import java.nio.file.Path;
import org.metrale.emulator.Emulator;
import picocli.CommandLine.Option;

/** What commands let the user say about the software GPU host. */
final class EmulatorOptions {
  @Option(
      names = "--emulated",
      description = "Use the software GPU host even if there are GPUs.")
  private boolean emulated;

  @Option(
      names = "--emulator-folder",
      paramLabel = "FOLDER",
      description =
          "Take the software GPU host's libraries from this folder, as a build leaves them, instead of"
              + " from its jar; implies --emulated.")
  private Path folder;

  /** For the parser of arguments. */
  EmulatorOptions() {}

  boolean isWanted() {
    return emulated || folder != null;
  }

  /** Starts the machine for this process; never called unless the user or an absent GPU asks for it. */
  Emulator start(Emulator.Machine machine) throws ToolException {
    if (folder != null && !Files.isRegularFile(folder.resolve("libcuda.so.1"))) {
      throw new ToolException(
          "--emulator-folder " + folder + " has no libcuda.so.1: expected a folder that a build left");
    }
    try {
      return folder == null ? machine.start() : machine.start(folder);
    } catch (IllegalStateException e) {
      throw new ToolException("the software GPU host cannot be started: " + e.getMessage(), e);
    }
  }
}
