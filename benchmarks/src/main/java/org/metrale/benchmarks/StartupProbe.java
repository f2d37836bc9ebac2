package org.metrale.benchmarks;

import org.metrale.global.nccl;
import org.metrale.gpu.nccl.NcclLibrary;

/** Programs that do one thing and end, for the time from a JVM's start to its end. */
final class StartupProbe {
  private StartupProbe() {}

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

    public static void main(String[] arguments) {
      int[] version = new int[1];
      System.out.println(nccl.ncclGetVersion(version) == 0 ? version[0] : -1);
    }
  }

  /** The version by the checked layer. */
  static final class Checked {
    private Checked() {}

    public static void main(String[] arguments) {
      System.out.println(NcclLibrary.version().orElseThrow());
    }
  }

  /** The version by the other binding. */
  static final class Theirs {
    private Theirs() {}

    public static void main(String[] arguments) {
      int[] version = new int[1];
      System.out.println(
          org.bytedeco.cuda.global.nccl.ncclGetVersion(version) == 0 ? version[0] : -1);
    }
  }
}
