package org.metrale.gpu.rail;

import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.wire.RailDialect;

/** Prints how much more the first rail carries than the second. */
final class ProportionProbe {
  private static final int BYTES = 4 << 20;

  private ProportionProbe() {}

  /** Runs it. */
  public static void main(String[] arguments) throws Exception {
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), BYTES, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client().inPiecesOf(64 << 10));
      RailMemory memory = host.memory(BYTES);
      for (int i = 0; i < 10; i++) {
        rails.write(memory, 0, new RailTarget(0, 0), BYTES, RailHost.LIMIT);
      }
      double first = rails.status().get(0).carriedBytes();
      System.out.println("share=" + first / rails.status().get(1).carriedBytes());
    }
  }
}
