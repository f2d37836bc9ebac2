package org.metrale.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What a process like this one finds on this machine.
 *
 * @param gpus how many GPUs CUDA counts
 * @param emulated whether those are the software GPU host's
 * @param problem why there are none
 * @param rdmaDevices how many RDMA devices can be used
 * @param rdmaEmulated whether those are the software GPU host's
 * @param rdmaProblem why there are none
 */
record DemoProbe(
    int gpus,
    boolean emulated,
    String problem,
    int rdmaDevices,
    boolean rdmaEmulated,
    String rdmaProblem) {
  private static final long SECONDS = 60;

  /** Nothing was looked for. */
  static DemoProbe none() {
    return new DemoProbe(0, false, "", 0, false, "");
  }

  static DemoProbe run() throws ToolException, InterruptedException {
    Process child = ChildJvm.start(List.of("demo-probe"));
    try (BufferedReader lines = child.inputReader(StandardCharsets.UTF_8)) {
      if (!child.waitFor(SECONDS, TimeUnit.SECONDS)) {
        String late = "the libraries did not answer in " + SECONDS + " s";
        return new DemoProbe(0, false, late, 0, false, late);
      }
      String died = "the process that asked ended with " + child.exitValue();
      DemoProbe out = new DemoProbe(0, false, died, 0, false, died);
      String line;
      while ((line = lines.readLine()) != null) {
        out = out.with(line);
      }
      return out;
    } catch (IOException e) {
      throw new ToolException("the process that asked for devices cannot be read", e);
    } finally {
      child.destroyForcibly();
    }
  }

  private DemoProbe with(String line) {
    if (line.startsWith(DemoProbeCommand.ANSWER)) {
      String[] parts = line.substring(DemoProbeCommand.ANSWER.length()).split(" ", 3);
      return new DemoProbe(
          Integer.parseInt(parts[0]),
          Boolean.parseBoolean(parts[1]),
          parts.length > 2 ? parts[2] : "CUDA counts none",
          rdmaDevices,
          rdmaEmulated,
          rdmaProblem);
    }
    if (line.startsWith(DemoProbeCommand.RDMA_ANSWER)) {
      String[] parts = line.substring(DemoProbeCommand.RDMA_ANSWER.length()).split(" ", 3);
      return new DemoProbe(
          gpus,
          emulated,
          problem,
          Integer.parseInt(parts[0]),
          Boolean.parseBoolean(parts[1]),
          parts.length > 2 ? parts[2] : "");
    }
    return this;
  }
}
