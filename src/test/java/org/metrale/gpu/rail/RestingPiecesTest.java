package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.rail.RailTransfer.Direction;
import org.metrale.gpu.verbs.VerbsAccess;

/** Over memory of the software GPU host's devices. */
@Tag("emulator")
final class RestingPiecesTest {
  private static final int LENGTH = 4096;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  /** What is not written again has nothing to wait for: its memory is the program's. */
  @Test
  void piecesOfATransferThatIsOverRestNoLonger() throws Exception {
    try (RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, LENGTH, VerbsAccess.LOCAL_WRITE)) {
      RailTransfer transfer =
          new RailTransfer(
              new RailTransfer.Order(
                  Direction.WRITE, memory, 0, new RailTarget(0, 0), LENGTH, null),
              new StripePlan(LENGTH, LENGTH),
              Deadline.after(RailHost.LIMIT));
      memory.pin();
      RestingPieces resting = new RestingPieces();
      RailLink isNotAsked = null;
      resting.add(transfer.nextPiece(), isNotAsked);
      transfer.fail(new RailException(RailException.Reason.CANCELLED, -1, "peer", "", null));
      assertThrows(IllegalStateException.class, memory::close);
      resting.wake(System.nanoTime());
      assertTrue(resting.isEmpty());
    }
  }
}
