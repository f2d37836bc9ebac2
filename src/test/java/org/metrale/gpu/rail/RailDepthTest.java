package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.rail.RailTransfer.Direction;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;

/** How much is in flight on a rail; over the software GPU host's devices. */
@Tag("emulator")
@Timeout(60)
final class RailDepthTest {
  private static final int PIECE = 4096;
  private static final int LENGTH = 50 * PIECE;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  /** A fenced piece is two requests. */
  @ParameterizedTest
  @CsvSource({
    "READ, 1, 1",
    "READ, 7, 7",
    "WRITE, 7, 7",
    "FENCED_WRITE, 1, 2",
    "FENCED_WRITE, 7, 14"
  })
  void asManyPiecesAsWereWantedAndNoMore(Direction direction, int depth, int requests)
      throws Exception {
    List<RailSpec> spec = List.of(RailSpec.of(RdmaDevices.clients().get(0)).withDepth(depth));
    try (RailHost host =
            new RailHost(
                RdmaDevices.servers(), RdmaDevices.clients(), LENGTH, RailDialect.READ_WRITE);
        RailSet rails = RailSet.open(spec);
        RailMemory fence = RailMemory.allocate(rails, 1, VerbsAccess.LOCAL_WRITE);
        RailMemory memory = RailMemory.allocate(rails, LENGTH, VerbsAccess.LOCAL_WRITE)) {
      NavigableSet<Integer> first = new TreeSet<>(List.of(0));
      RailGeneration connection =
          RailGeneration.connect(
              host.client().terms(), rails, first, List.of(), Deadline.after(RailHost.LIMIT));
      RailEnd end = connection.ends().get(0);
      TransferEngine engine = new TransferEngine("peer", false, link -> {});
      engine.begin(
          List.of(
              new RailLink(0, end, connection.offer().rails().get(0).regions(), fence, engine)));
      RailTransfer transfer =
          new RailTransfer(
              new RailTransfer.Order(direction, memory, 0, new RailTarget(0, 0), LENGTH, null),
              new StripePlan(LENGTH, PIECE),
              Deadline.after(RailHost.LIMIT));
      memory.pin();
      engine.submit(transfer);
      int most = 0;
      while (!transfer.isDone()) {
        boolean unused = engine.tryStep();
        most = Math.max(most, end.pair().inFlight());
      }
      transfer.result().join();
      assertEquals(requests, most);
      assertTrue(engine.close(Deadline.after(RailHost.LIMIT), () -> {}));
      connection.hangUp();
    }
  }
}
