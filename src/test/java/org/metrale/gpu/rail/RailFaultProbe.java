package org.metrale.gpu.rail;

import java.time.Duration;
import java.util.List;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.verbs.VerbsAccess;

/**
 * Reads from a peer while this process's software GPU host has a fault, until the second rail has
 * failed and, unless the argument is {@code gone}, carries again. Prints what was wrong with the
 * bytes, and why the rail failed.
 */
final class RailFaultProbe {
  private static final int BYTES = (4 << 20) + 5;
  private static final Duration LIMIT = Duration.ofSeconds(40);

  private RailFaultProbe() {}

  /** Runs it. */
  public static void main(String[] arguments) throws Exception {
    try (PeerProcess peer = PeerProcess.withSoundDevices(BYTES);
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().inPiecesOf(64 << 10).connect(rails, LIMIT)) {
      String wrong = "";
      long end = System.nanoTime() + LIMIT.toNanos();
      boolean isGone = arguments.length > 0;
      while (wrong.isEmpty()
          && System.nanoTime() < end
          && !(isGone ? hasFailed(connected) : isBackAfterFailing(connected))) {
        RailPeer.poison(memory, BYTES);
        connected.read(memory, 0, new RailTarget(0, 0), BYTES, LIMIT);
        wrong = RailPeer.fault(memory, 0, BYTES);
      }
      if (isGone) {
        RailPeer.poison(memory, BYTES);
        connected.read(memory, 0, new RailTarget(0, 0), BYTES, LIMIT);
        wrong += RailPeer.fault(memory, 0, BYTES);
      }
      List<RailStatus> status = connected.status();
      System.out.println("wrong=" + wrong);
      System.out.println("back=" + isBackAfterFailing(connected));
      System.out.println("untouched=" + status.get(0).failures());
      System.out.println("fault=" + status.get(1).lastFault());
    }
  }

  private static boolean hasFailed(ConnectedRails connected) {
    return connected.status().get(1).failures() > 0;
  }

  private static boolean isBackAfterFailing(ConnectedRails connected) {
    return hasFailed(connected)
        && connected.status().get(1).state().equals(RailStatus.State.ACTIVE);
  }
}
