package org.metrale.gpu.rail;

import java.time.Duration;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.verbs.VerbsAccess;

/**
 * Reads from a peer while one device of this process's software GPU host is lost for ever and the
 * other, whose rail is the argument, loses its link and gets it back; until the latter carries
 * again.
 */
final class RailSurvivorProbe {
  private static final int BYTES = (4 << 20) + 5;
  private static final Duration LIMIT = Duration.ofSeconds(40);

  private RailSurvivorProbe() {}

  /** Runs it. */
  public static void main(String[] arguments) throws Exception {
    int survivor = Integer.parseInt(arguments[0]);
    try (PeerProcess peer = PeerProcess.withSoundDevices(BYTES);
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().inPiecesOf(64 << 10).connect(rails, LIMIT)) {
      String wrong = "";
      boolean isBack = false;
      long end = System.nanoTime() + LIMIT.toNanos();
      while (wrong.isEmpty() && !isBack && System.nanoTime() < end) {
        RailPeer.poison(memory, BYTES);
        connected.read(memory, 0, new RailTarget(0, 0), BYTES, LIMIT);
        wrong = RailPeer.fault(memory, 0, BYTES);
        RailStatus status = connected.status().get(survivor);
        isBack = status.failures() > 0 && status.state().equals(RailStatus.State.ACTIVE);
      }
      System.out.println("wrong=" + wrong);
      System.out.println("back=" + isBack);
      System.out.println("lost=" + connected.status().get(1 - survivor).state());
    }
  }
}
