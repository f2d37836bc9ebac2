package org.metrale.gpu.rail;

import java.io.IOException;

/** Commands of the machine that the tests run in. */
final class Shell {
  private Shell() {}

  static void run(String command) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder("/bin/bash", "-c", command).redirectErrorStream(true).start();
    String said =
        new String(
            process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(command + ": " + said);
    }
  }
}
