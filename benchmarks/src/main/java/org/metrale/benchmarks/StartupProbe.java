package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.metrale.global.nccl;
import org.metrale.gpu.nccl.NcclLibrary;

/** Programs that do one thing and end, for the time from a JVM's start to its end. */
final class StartupProbe {
  private static final String LIBRARY = "/libnccl.so.2";

  private StartupProbe() {}

  /**
   * With the no-op libraries' folder as an argument: ends with 4 if it is another one that
   * answered.
   */
  private static void check(String... folder) throws IOException {
    if (folder.length == 0) {
      return;
    }
    for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
      if (line.endsWith(LIBRARY) && !line.endsWith(folder[0] + LIBRARY)) {
        System.err.println("another library was used: " + line);
        System.exit(4);
      }
    }
  }

  /** Nothing. */
  static final class Empty {
    private Empty() {}

    public static void main(String[] arguments) {
      System.out.println("empty");
    }
  }

  /** The version by the raw layer. */
  static final class Raw {
    private Raw() {}

    public static void main(String[] arguments) throws IOException {
      int[] version = new int[1];
      System.out.println(nccl.ncclGetVersion(version) == 0 ? version[0] : -1);
      check(arguments);
    }
  }

  /** The version by the checked layer. */
  static final class Checked {
    private Checked() {}

    public static void main(String[] arguments) throws IOException {
      System.out.println(NcclLibrary.version().orElseThrow());
      check(arguments);
    }
  }

  /** The version by the other binding. */
  static final class Theirs {
    private Theirs() {}

    public static void main(String[] arguments) throws IOException {
      int[] version = new int[1];
      System.out.println(
          org.bytedeco.cuda.global.nccl.ncclGetVersion(version) == 0 ? version[0] : -1);
      check(arguments);
    }
  }
}
