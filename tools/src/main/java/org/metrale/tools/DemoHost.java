package org.metrale.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.metrale.emulator.Emulator;

/** The machine that a demo runs on: this one's GPUs, or the software GPU host. */
final class DemoHost implements AutoCloseable {
  private static final int MOST_RANKS = 4;
  private static final int FEWEST_RANKS = 2;
  private static final long PROBE_SECONDS = 60;

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
  static DemoHost choose(EmulatorOptions options) throws ToolException, InterruptedException {
    String reason = "asked for";
    if (!options.isWanted()) {
      Found found = probe();
      if (found.devices >= FEWEST_RANKS) {
        int ranks = found.devices >= MOST_RANKS ? MOST_RANKS : FEWEST_RANKS;
        return new DemoHost(ranks, found.emulated, "named by the library path", null);
      }
      reason =
          found.devices == 0
              ? "no GPU can be used here: " + found.problem
              : "there is one GPU, and every rank needs its own";
    }
    StartedEmulator started = options.start(Emulator.machine().gpus(MOST_RANKS, "h200"));
    return new DemoHost(MOST_RANKS, true, reason, started);
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

  private record Found(int devices, boolean emulated, String problem) {}

  private static Found probe() throws ToolException, InterruptedException {
    Process child = ChildJvm.start(List.of("demo-probe"));
    try (BufferedReader lines = child.inputReader(StandardCharsets.UTF_8)) {
      if (!child.waitFor(PROBE_SECONDS, TimeUnit.SECONDS)) {
        return new Found(0, false, "CUDA and NCCL did not answer in " + PROBE_SECONDS + " s");
      }
      String line;
      while ((line = lines.readLine()) != null) {
        if (line.startsWith(DemoProbeCommand.ANSWER)) {
          String[] parts = line.substring(DemoProbeCommand.ANSWER.length()).split(" ", 3);
          return new Found(
              Integer.parseInt(parts[0]),
              Boolean.parseBoolean(parts[1]),
              parts.length > 2 ? parts[2] : "CUDA counts none");
        }
      }
      return new Found(0, false, "the process that asked ended with " + child.exitValue());
    } catch (IOException e) {
      throw new ToolException("the process that asked for GPUs cannot be read", e);
    } finally {
      child.destroyForcibly();
    }
  }
}
