package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;

/**
 * Random transfers under random faults: no byte lost or torn, no thread stuck, nothing left over.
 *
 * <p>The seed is printed; {@code metrale.soak.seed} repeats a run. {@code metrale.soak.transfers},
 * {@code .faults}, {@code .cycles} and {@code .bytes} set its length. One rail is never touched, so
 * that every transfer has to succeed.
 */
@Tag("rdma")
@Timeout(3 * 3600)
final class RdmaSoakTest {
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final int ARENA = 16 << 20;
  private static final int LONGEST = 8 << 20;
  private static final int REMEMBERED = 200;

  private final long seed = Long.getLong("metrale.soak.seed", System.nanoTime());
  private final Random random = new Random(seed);
  private final byte[] pool = new byte[LONGEST + (1 << 16)];
  private final byte[] shadow = new byte[ARENA];

  /** The last writes, the newest first. */
  private final Deque<Written> written = new ArrayDeque<>();

  private record Written(int number, int offset, int from, int length) {}

  @Test
  void randomTransfersUnderRandomFaults(TestReporter reporter) throws Exception {
    reporter.publishEntry("seed", Long.toString(seed));
    int transfers = Integer.getInteger("metrale.soak.transfers", 1000);
    int faults = Integer.getInteger("metrale.soak.faults", 100);
    random.nextBytes(pool);
    try (PeerProcess peer =
            new PeerProcess(
                RailDialect.READ_WRITE, ARENA, RailPeer.Death.NEVER, RdmaDevices.servers());
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, ARENA, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      connected.read(memory, 0, new RailTarget(0, 0), ARENA, LIMIT);
      memory.read(0, ByteBuffer.wrap(shadow));
      AtomicReference<Throwable> gone = new AtomicReference<>();
      Thread saboteur = new Thread(() -> sabotage(faults, peer, gone), "saboteur");
      saboteur.start();
      int done = 0;
      while (done < transfers || saboteur.isAlive()) {
        transfer(connected, memory, done);
        if (++done % 50 == 0) {
          refused(connected, memory);
        }
      }
      saboteur.join();
      assertEquals(null, gone.get(), () -> "seed " + seed);
      memory.write(0, ByteBuffer.wrap(shadow));
      assertEquals(RailPeer.sum(memory, 0, ARENA), peer.sum(0, ARENA), () -> "seed " + seed);
      long failures = connected.status().stream().mapToLong(RailStatus::failures).sum();
      reporter.publishEntry(
          "transfers", done + " under " + faults + " faults, rail failures " + failures);
    }
    assertTrue(
        Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().startsWith("rail")),
        "a thread is left");
    Held.assertNoRdma();
  }

  private void transfer(ConnectedRails connected, RailMemory memory, int number) throws Exception {
    int length = 1 + (int) (Math.pow(random.nextDouble(), 4) * (LONGEST - 1));
    int offset = random.nextInt(ARENA - length + 1);
    RailTarget target = new RailTarget(0, offset);
    if (random.nextBoolean()) {
      int from = random.nextInt(pool.length - length + 1);
      System.arraycopy(pool, from, shadow, offset, length);
      memory.write(0, ByteBuffer.wrap(pool, from, length));
      written.addFirst(new Written(number, offset, from, length));
      if (written.size() > REMEMBERED) {
        written.removeLast();
      }
      if (random.nextBoolean()) {
        connected.write(memory, 0, target, length, LIMIT);
      } else {
        connected.writeFenced(memory, 0, target, length, LIMIT);
      }
      return;
    }
    // Else what an earlier read has left there could stand for what this one did not bring.
    RailPeer.poison(memory, length);
    connected.read(memory, 0, target, length, LIMIT);
    ByteBuffer found = RailHost.read(memory, 0, length);
    int wrong = found.mismatch(ByteBuffer.wrap(shadow, offset, length));
    if (wrong >= 0) {
      RailPeer.poison(memory, length);
      connected.read(memory, 0, target, length, LIMIT);
      boolean isStill = RailHost.read(memory, 0, length).equals(found);
      throw new AssertionError(
          ("transfer %d of %d at %d, seed %d: wrong from %d on: %s; read again it is %s; %s")
              .formatted(
                  number,
                  length,
                  offset,
                  seed,
                  wrong,
                  origin(found, wrong, offset),
                  isStill ? "the same" : "different",
                  connected.status()));
    }
  }

  /** Whose bytes those are that were found. */
  private String origin(ByteBuffer found, int at, int offset) {
    int place = offset + at;
    int count = Math.min(16, found.limit() - at);
    StringBuilder out = new StringBuilder();
    for (Written one : written) {
      if (place >= one.offset && place + count <= one.offset + one.length) {
        ByteBuffer bytes = ByteBuffer.wrap(pool, one.from + place - one.offset, count);
        boolean isIt = bytes.equals(found.slice(at, count));
        out.append(isIt ? "the bytes of " : "not those of ").append(one).append(' ');
      }
    }
    return out.isEmpty() ? "of no remembered write" : out.toString();
  }

  /** A request beyond the end: it fails, and the rail that it took down comes back. */
  private static void refused(ConnectedRails connected, RailMemory memory) {
    RailException e =
        assertThrows(
            RailException.class,
            () -> connected.read(memory, 0, new RailTarget(0, ARENA - 1), 4096, LIMIT));
    assertEquals(Reason.PEER_REFUSED, e.reason(), e::toString);
  }

  private static void sabotage(int faults, PeerProcess peer, AtomicReference<Throwable> gone) {
    Random dice = new Random(faults);
    List<String> commands =
        List.of(
            "ip link set r1a down; sleep 0.2; ip link set r1a up",
            "ip link set r1b down; sleep 0.2; ip link set r1b up",
            "tc qdisc add dev r1b root netem loss 100%; sleep 0.3; tc qdisc del dev r1b root",
            "tc qdisc add dev r1a root netem loss 2%; sleep 0.4; tc qdisc del dev r1a root",
            "ip addr del 10.77.1.1/24 dev r1a; sleep 0.2; ip addr add 10.77.1.1/24 dev r1a");
    try {
      for (int i = 0; i < faults; i++) {
        int which = dice.nextInt(commands.size() + 1);
        if (which == commands.size()) {
          peer.signal("STOP");
          Thread.sleep(200);
          peer.signal("CONT");
        } else {
          Shell.run(commands.get(which));
        }
        Thread.sleep(dice.nextInt(600));
      }
    } catch (Exception e) {
      gone.set(e);
    }
  }

  @Test
  void oneLongTransferEachWay(TestReporter reporter) throws Exception {
    long bytes = Long.getLong("metrale.soak.bytes", 1L << 30);
    try (PeerProcess peer =
            new PeerProcess(
                RailDialect.READ_WRITE, bytes, RailPeer.Death.NEVER, RdmaDevices.servers());
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, bytes, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, LIMIT)) {
      connected.read(memory, 0, new RailTarget(0, 0), bytes, LIMIT.multipliedBy(4));
      assertEquals("", RailPeer.fault(memory, 0, bytes));
      memory.write(0, RailHost.bytes(3, 1 << 20));
      connected.write(memory, 0, new RailTarget(0, 0), bytes, LIMIT.multipliedBy(4));
      assertEquals(RailPeer.sum(memory, 0, bytes), peer.sum(0, bytes));
      reporter.publishEntry("read and written", bytes + " bytes each");
    }
  }
}
