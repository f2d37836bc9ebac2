package org.metrale.gpu.rail;

import java.time.Duration;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.verbs.VerbsAccess;

/**
 * Takes a rail down whose device does not answer, goes on without it, and closes. The other rail is
 * then taken down too, so that nothing is left to go on with.
 */
final class RailStuckDeviceProbe {
  private static final int BYTES = 4 << 20;
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private RailStuckDeviceProbe() {}

  /** Runs it. */
  @SuppressWarnings("MustBeClosed") // what a stuck device has cannot be closed
  public static void main(String[] arguments) throws Exception {
    try (PeerProcess peer = PeerProcess.withSoundDevices(BYTES)) {
      RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
      RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
      ConnectedRails connected = peer.client().rebuilding(false).connect(rails, LIMIT);
      RailPeer.poison(memory, BYTES);
      RailTransfer transfer =
          connected.readAsync(memory, 0, new RailTarget(0, 0), BYTES, TransferTerms.within(LIMIT));
      connected.takeDown(1, "a drill");
      try {
        transfer.stage().toCompletableFuture().join();
        System.out.println("wrong=" + RailPeer.fault(memory, 0, BYTES));
      } catch (java.util.concurrent.CompletionException e) {
        System.out.println("wrong=" + e.getCause().getMessage());
      }
      RailPeer.poison(memory, BYTES);
      connected.read(memory, 0, new RailTarget(0, 0), BYTES, LIMIT);
      System.out.println("after=" + RailPeer.fault(memory, 0, BYTES));
      try {
        connected.close();
        System.out.println("close=");
      } catch (IllegalStateException e) {
        System.out.println("close=" + e.getMessage());
      }
    }
  }
}
