package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.wire.RailDialect;

/** Rails that are taken down by whoever uses them. */
@Timeout(60)
abstract class RailTakeDownCases {
  private static final int BYTES = 3 << 20;

  private static RailHost host() throws Exception {
    return new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), BYTES, RailDialect.READ_ONLY);
  }

  @Test
  void aRailThatIsTakenDownIsDoneWithout() throws Exception {
    try (RailHost host = host()) {
      host.arena.write(0, RailHost.bytes(9, BYTES));
      ConnectedRails connected = host.connect(host.client());
      RailMemory memory = host.memory(BYTES);
      connected.takeDown(1, "a drill");
      connected.read(memory, 0, new RailTarget(0, 0), BYTES, RailHost.LIMIT);
      assertEquals(RailHost.bytes(9, BYTES), RailHost.read(memory, 0, BYTES));
      RailStatus down = connected.status().get(1);
      assertEquals(1, down.failures());
      assertEquals("a drill", down.lastFault());
      assertEquals(0, down.carriedBytes());
      connected.takeDown(1, "again");
      assertEquals(1, connected.status().get(1).failures());
    }
  }

  @Test
  void aRailThatIsTakenDownIsRebuilt() throws Exception {
    try (RailHost host = host()) {
      ConnectedRails connected = host.connect(host.client().rebuilding(true));
      RailMemory memory = host.memory(BYTES);
      connected.takeDown(1, "a drill");
      long end = System.nanoTime() + RailHost.LIMIT.toNanos();
      while (connected.status().get(1).carriedBytes() == 0) {
        assertTrue(System.nanoTime() < end, () -> connected.status().toString());
        connected.read(memory, 0, new RailTarget(0, 0), BYTES, RailHost.LIMIT);
      }
      assertEquals(1, connected.status().get(1).failures());
    }
  }

  @Test
  void thereIsNoRailBeyondTheLast() throws Exception {
    try (RailHost host = host()) {
      ConnectedRails connected = host.connect(host.client());
      assertThrows(IndexOutOfBoundsException.class, () -> connected.takeDown(2, "a drill"));
    }
  }
}
