package org.metrale.gpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A folder that a process sees mounted in a way of its own. */
public final class OwnMount {
  private OwnMount() {}

  /** The start of a command line that makes the folder an empty one where nothing is executed. */
  static String[] withoutExecution(Path folder) throws InterruptedException {
    return by("mount -t tmpfs -o noexec none '" + folder + "'");
  }

  /** The start of a command line that lets nobody write to what is in the folder. */
  public static String[] readOnly(Path folder) throws InterruptedException {
    return by("mount --bind '%1$s' '%1$s' && mount -o remount,bind,ro '%1$s'".formatted(folder));
  }

  private static String[] by(String mounting) throws InterruptedException {
    String[] out = {"unshare", "-rm", "sh", "-c", mounting + " && exec \"$@\"", "sh"};
    assumeTrue(isPossible(out), "this system lets nobody mount a folder for himself");
    return out;
  }

  private static boolean isPossible(String... mounting) throws InterruptedException {
    List<String> command = new ArrayList<>(List.of(mounting));
    command.add("true");
    try {
      return new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start()
              .waitFor()
          == 0;
    } catch (IOException e) {
      // A system without that program.
      return false;
    }
  }
}
