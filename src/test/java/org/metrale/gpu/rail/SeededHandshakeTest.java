package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Random;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.metrale.gpu.wire.ClientRailFrame;
import org.metrale.gpu.wire.RailDialect;

class SeededHandshakeTest {
  private static final int INPUTS = 100_000;
  private static final long SEED = Long.getLong("org.metrale.test.seed", 20_261_130L);

  private interface Peer {
    boolean satisfies(ByteBuffer bytes, int rails);
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void clientEndsWhateverItsServerSays(RailDialect dialect) throws Exception {
    runs(dialect, true, (bytes, rails) -> HandshakeInputs.client(dialect, rails, bytes));
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void serverEndsWhateverItsClientSays(RailDialect dialect) throws Exception {
    runs(dialect, false, (bytes, rails) -> HandshakeInputs.server(dialect, bytes));
  }

  private static void runs(RailDialect dialect, boolean client, Peer peer) throws Exception {
    // On a thread of its own, whose stack is short: most of the time goes into stack traces.
    FutureTask<Integer> run = new FutureTask<>(() -> run(dialect, client, peer));
    new Thread(run, "seeded").start();
    assertTrue(run.get() > 0, "seed " + SEED + ": no handshake came about");
  }

  private static int run(RailDialect dialect, boolean client, Peer peer) {
    Random random = new Random(SEED);
    int established = 0;
    for (int i = 0; i < INPUTS; i++) {
      int rails = 1 + random.nextInt(3);
      byte[] input = random.nextBoolean() ? noise(random) : example(dialect, client, rails);
      for (int flips = random.nextInt(3); flips > 0; flips--) {
        input[random.nextInt(input.length)] ^= (byte) (1 << random.nextInt(8));
      }
      ByteBuffer bytes =
          ByteBuffer.wrap(input, 0, input.length - Math.max(0, random.nextInt(9) - 7));
      try {
        established += peer.satisfies(bytes.slice(), rails) ? 1 : 0;
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("seed " + SEED + ", input " + i, e);
      }
    }
    return established;
  }

  private static byte[] noise(Random random) {
    byte[] bytes = new byte[1 + random.nextInt(120)];
    random.nextBytes(bytes);
    bytes[0] = (byte) random.nextInt(10);
    return bytes;
  }

  private static byte[] example(RailDialect dialect, boolean client, int rails) {
    ByteBuffer frame =
        client
            ? Fixtures.offer(dialect, rails, rails).encode()
            : new ClientRailFrame(
                    Fixtures.locals(rails).stream().map(LocalQueuePair::toClientRecord).toList())
                .encode();
    ByteBuffer whole = ByteBuffer.allocate(frame.remaining() + 1);
    return client
        ? whole.put(frame).put((byte) 0).array()
        : whole.put((byte) rails).put(frame).array();
  }
}
