package org.metrale.tools;

import org.metrale.emulator.Emulator;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.cuda.CudaDriver;

/** The machine that a demo runs on: this one's GPUs, or the software GPU host. */
final class DemoHost implements AutoCloseable {
  private static final int MOST_RANKS = 4;
  private static final int FEWEST_RANKS = 2;

  private final int ranks;
  private final boolean emulated;
  private final String reason;
  private final StartedEmulator emulator;

  private DemoHost(int ranks, boolean emulated, String reason, StartedEmulator emulator) {
    this.ranks = ranks;
    this.emulated = emulated;
    this.reason = reason;
    this.emulator = emulator;
  }

  /** Takes GPUs if there are enough for two ranks, else starts the software GPU host. */
  static DemoHost choose(EmulatorOptions options, DemoProbe found) throws ToolException {
    String reason = "asked for";
    if (!options.isWanted()) {
      if (found.gpus() >= FEWEST_RANKS) {
        return new DemoHost(
            ranksOn(found.gpus()), found.emulated(), "named by the library path", null);
      }
      reason =
          found.gpus() == 0
              ? "no GPU can be used here: " + found.problem()
              : "there is one GPU, and every rank needs its own";
    }
    StartedEmulator started = options.start(Emulator.machine().gpus(MOST_RANKS, "h200"));
    try {
      // As many as the user's settings leave of those asked for.
      int gpus = CudaDriver.deviceCount();
      if (gpus < FEWEST_RANKS) {
        throw new ToolException(
            "the software GPU host has "
                + gpus
                + " GPUs and the demo needs "
                + FEWEST_RANKS
                + "; look at METRALE_EMULATOR_GPUS and --emulator-set gpus");
      }
      return new DemoHost(ranksOn(gpus), true, reason, started);
    } catch (GpuException e) {
      started.close();
      throw new ToolException(e.getMessage(), e);
    } catch (ToolException e) {
      started.close();
      throw e;
    }
  }

  private static int ranksOn(int gpus) {
    return gpus >= MOST_RANKS ? MOST_RANKS : FEWEST_RANKS;
  }

  int ranks() {
    return ranks;
  }

  /** What the first and the last line begin with. */
  String mark() {
    return emulated ? "EMULATED: " : "";
  }

  /** What the demo runs on, and why. */
  String description() {
    return emulated ? "the software GPU host (" + reason + ")" : "this machine's GPUs";
  }

  @Override
  public void close() {
    if (emulator != null) {
      emulator.close();
    }
  }
}
