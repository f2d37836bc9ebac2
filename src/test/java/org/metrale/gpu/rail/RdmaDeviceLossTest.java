package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsException;
import org.metrale.gpu.wire.RailDialect;

/**
 * A device that goes away under its rail. It does not come back, so this has a machine of its own.
 */
@Tag("rdma")
@Tag("last")
@Timeout(120)
final class RdmaDeviceLossTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int BYTES = 8 << 20;
  private static final RailTarget START = new RailTarget(0, 0);

  @Test
  void aDeviceThatIsGone() throws Exception {
    try (PeerProcess peer =
            new PeerProcess(
                RailDialect.READ_ONLY, BYTES, RailPeer.Death.NEVER, RdmaDevices.servers());
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      // Returns when the last user of the device is gone, which is later than this test wants.
      Shell.run("ip link del r1a >/dev/null 2>&1 &");
      long end = System.nanoTime() + LIMIT.toNanos();
      while (connected.status().get(1).failures() == 0) {
        assertTrue(
            System.nanoTime() < end,
            "the device stays: " + Files.exists(Path.of("/sys/class/net/r1a")));
        connected.read(memory, 0, START, BYTES, LIMIT);
        assertEquals(-1, RailPeer.mismatch(memory, 0, 0, BYTES));
      }
      connected.read(memory, 0, START, BYTES, LIMIT);
      assertEquals(RailStatus.State.ACTIVE, connected.status().get(0).state());
    } catch (VerbsException e) {
      // Whatever of the device could not be released is told, and nothing hangs.
      assertTrue(e.getMessage().contains("ibv_"), e::toString);
    }
  }
}
