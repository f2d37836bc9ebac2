package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.BooleanSupplier;
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
  void theOthersStayOnTheirConnectionWhenARailIsRebuilt() throws Exception {
    try (RailHost host = host()) {
      ConnectedRails connected = host.connect(host.client().rebuilding(true));
      HandshakeTransport first = connected.transport();
      connected.takeDown(1, "a drill");
      untilActive(connected);
      assertEquals(2, host.server.clients());
      assertNotSame(first, connected.transport());
      connected.takeDown(1, "another drill");
      untilActive(connected);
      untilClients(host, 2);
      connected.takeDown(0, "a drill");
      untilActive(connected);
      // Nothing is on the first connection any more.
      untilClients(host, 2);
      assertThrows(
          IOException.class,
          () -> first.read(ByteBuffer.allocate(1), Deadline.after(RailHost.LIMIT)));
      assertEquals(2, connected.offer().rails().size());
    }
  }

  static void untilActive(ConnectedRails connected) throws Exception {
    until(
        () ->
            connected.status().stream()
                .allMatch(status -> status.state().equals(RailStatus.State.ACTIVE)));
  }

  private static void untilClients(RailHost host, int clients) throws Exception {
    until(() -> host.server.clients() == clients);
  }

  private static void until(BooleanSupplier condition) throws Exception {
    long end = System.nanoTime() + RailHost.LIMIT.toNanos();
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, "it does not come about");
      Thread.sleep(1);
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
