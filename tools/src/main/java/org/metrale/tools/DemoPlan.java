package org.metrale.tools;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** What every process of a demo must know alike. */
final class DemoPlan {
  private static final long MOST_BYTES = 1L << 30;

  @Option(
      names = "--bytes",
      split = ",",
      converter = SizeConverter.class,
      defaultValue = "64K,4M",
      paramLabel = "SIZE",
      description = "Sizes of the operations, up to 1G (default: ${DEFAULT-VALUE}).")
  private List<Long> bytes;

  @Option(
      names = "--iterations",
      defaultValue = "20",
      paramLabel = "N",
      description = "How often each operation runs (default: ${DEFAULT-VALUE}).")
  private int iterations;

  @Option(
      names = "--deadline",
      defaultValue = "10",
      paramLabel = "SECONDS",
      description = "How long one operation may take (default: ${DEFAULT-VALUE}).")
  private int deadlineSeconds;

  /** For the parser of arguments. */
  DemoPlan() {}

  /** What is wrong with it; null if nothing is. */
  String problem() {
    if (iterations < 1) {
      return "--iterations " + iterations + ": expected at least 1";
    }
    if (deadlineSeconds < 1) {
      return "--deadline " + deadlineSeconds + ": expected at least 1 second";
    }
    for (long one : bytes) {
      if (one < 1024 || one > MOST_BYTES || one % 1024 != 0) {
        return "--bytes " + one + ": expected a multiple of 1 KiB up to 1 GiB";
      }
    }
    return null;
  }

  List<Long> bytes() {
    return bytes;
  }

  long largestBytes() {
    return bytes.stream().mapToLong(Long::longValue).max().orElseThrow();
  }

  int iterations() {
    return iterations;
  }

  Duration deadline() {
    return Duration.ofSeconds(deadlineSeconds);
  }

  /** The same plan for another process. */
  List<String> arguments() {
    List<String> out = new ArrayList<>();
    out.add("--bytes=" + String.join(",", bytes.stream().map(String::valueOf).toList()));
    out.add("--iterations=" + iterations);
    out.add("--deadline=" + deadlineSeconds);
    return out;
  }
}
