package org.metrale.tools;

import java.time.Duration;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** What the commands that call a peer have in common. */
final class RailPeerOptions {
  @Mixin private RailOptions rails;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      defaultValue = "20",
      description =
          "How long connecting may take, and then each 8 MiB (default: ${DEFAULT-VALUE}).")
  private int timeoutSeconds;

  @Option(
      names = "--no-progress",
      description = "No progress bar; there is none anyway where no terminal is.")
  private boolean noProgress;

  @Option(names = "--json", description = "The result as a line of JSON.")
  private boolean json;

  /** For the parser of arguments. */
  RailPeerOptions() {}

  /** What is wrong with them; null if nothing is. */
  String problem() {
    if (timeoutSeconds < 1) {
      return "--timeout " + timeoutSeconds + ": expected at least 1 second";
    }
    return rails.problem();
  }

  RailOptions rails() {
    return rails;
  }

  Duration timeout() {
    return Duration.ofSeconds(timeoutSeconds);
  }

  boolean showsProgress() {
    return !noProgress && !json;
  }

  boolean json() {
    return json;
  }
}
