package org.metrale.gpu.rail;

import java.time.Duration;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.wire.RailDialect;

/** How much two rails carry together: {@code read|write BYTES TIMES}. Prints {@code MiB/s}. */
final class StripedProbe {
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final RailTarget START = new RailTarget(0, 0);

  private StripedProbe() {}

  /** Runs it. */
  public static void main(String[] arguments) throws Exception {
    boolean read = arguments[0].equals("read");
    long bytes = Long.parseLong(arguments[1]);
    int times = Integer.parseInt(arguments[2]);
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), bytes, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client());
      RailMemory memory = host.memory(bytes);
      carry(rails, memory, read, (times + 1) / 2);
      long start = System.nanoTime();
      carry(rails, memory, read, times);
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.printf("%.2f MiB/s%n", (double) times * bytes / (1 << 20) / seconds);
    }
  }

  private static void carry(ConnectedRails rails, RailMemory memory, boolean read, int times)
      throws Exception {
    for (int i = 0; i < times; i++) {
      if (read) {
        rails.read(memory, 0, START, memory.lengthBytes(), LIMIT);
      } else {
        rails.write(memory, 0, START, memory.lengthBytes(), LIMIT);
      }
    }
  }
}
