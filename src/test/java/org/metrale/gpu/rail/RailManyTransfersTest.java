package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.Allocation;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;

/** Thousands of transfers at once, on the software GPU host: each costs what one alone costs. */
@Tag("emulator")
@Timeout(120)
final class RailManyTransfersTest {
  private static final int MANY = 10_000;
  private static final RailDialect DIALECT = RailDialect.READ_ONLY;

  private static RailTransfer read(ConnectedRails rails, RailMemory memory, int at) {
    TransferTerms terms = TransferTerms.within(Duration.ofMinutes(1));
    return rails.readAsync(memory, at, new RailTarget(0, at), 1, terms);
  }

  /** A list that is copied for each would be 40 KB longer at the last than at the first. */
  @Test
  void oneMoreCostsNoMore() throws Exception {
    try (RailHost host = new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), MANY, DIALECT);
        ConnectedRails rails = host.client().connect(host.clientRails, RailHost.LIMIT)) {
      host.arena.write(0, RailHost.bytes(3, MANY));
      RailMemory memory = host.memory(MANY);
      List<RailTransfer> all = new ArrayList<>(MANY);
      long bytes =
          Allocation.fewest(
              1,
              () -> {
                for (int i = 0; i < MANY; i++) {
                  all.add(read(rails, memory, i));
                }
              });
      all.forEach(one -> one.stage().toCompletableFuture().join());
      assertTrue(bytes / MANY < 1_500, bytes / MANY + " bytes for each");
      assertEquals(RailHost.bytes(3, MANY), RailHost.read(memory, 0, MANY));
    }
  }

  @Test
  void allThatAreOpenEndWithTheirRails() throws Exception {
    List<RailTransfer> all = new ArrayList<>(MANY);
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), MANY, DIALECT)) {
      try (RailMemory memory =
          RailMemory.allocate(host.clientRails, MANY, VerbsAccess.LOCAL_WRITE)) {
        try (ConnectedRails rails = host.client().connect(host.clientRails, RailHost.LIMIT)) {
          for (int i = 0; i < MANY; i++) {
            all.add(read(rails, memory, i));
          }
        }
        long failed = all.stream().filter(one -> Reason.CLOSED.equals(reasonOf(one))).count();
        long done = all.stream().filter(one -> one.doneBytes() == 1).count();
        assertTrue(failed > 0, "all were done before the close");
        assertEquals(MANY, done + failed);
      } // which nothing uses any more
    }
  }

  /** Why it came to nothing; null if it did not. */
  private static Reason reasonOf(RailTransfer transfer) {
    assertTrue(transfer.isDone());
    try {
      transfer.stage().toCompletableFuture().join();
      return null;
    } catch (CompletionException e) {
      return ((RailException) e.getCause()).reason();
    }
  }
}
