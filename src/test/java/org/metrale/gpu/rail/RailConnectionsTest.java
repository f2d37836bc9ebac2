package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.rail.RailTransfer.Direction;
import org.metrale.gpu.rail.RailTransfer.Order;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;

/** How lost rails are asked for; over the software GPU host's devices. */
@Tag("emulator")
@Timeout(60)
final class RailConnectionsTest {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  /** Nothing would be gained by an attempt without it. */
  @Test
  void theOnlyLostRailIsAskedForAtEveryAttempt() throws Exception {
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), 64, RailDialect.READ_ONLY)) {
      RailSet rails = host.clientRails;
      RailMemory fence =
          host.keep(RailMemory.allocate(rails, rails.size(), VerbsAccess.LOCAL_WRITE));
      RailClient client = host.client();
      NavigableSet<Integer> both = new TreeSet<>(List.of(0, 1));
      RailGeneration first =
          RailGeneration.connect(
              client.terms(), rails, both, List.of(), Deadline.after(RailHost.LIMIT));
      TransferEngine engine = new TransferEngine("peer", true, link -> {});
      RailConnections connections = new RailConnections(client, rails, fence, engine);
      connections.begin(first);
      engine.with(1, link -> link.fail(new IllegalStateException("a drill")));
      while (!engine.links().get(1).isDown()) {
        boolean unused = engine.tryStep();
      }
      host.server.close();
      for (int attempt = 0; attempt < 3; attempt++) {
        assertThrows(IOException.class, connections::rebuild, "attempt " + attempt);
      }
      assertTrue(engine.close(Deadline.after(RailHost.LIMIT), () -> {}));
      connections.hangUp();
    }
  }

  /** As by who closes the rails, while a step does not come to an end. */
  @Test
  void whoWaitsToPutRailsInPlaceCanBeInterrupted() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch over = new CountDownLatch(1);
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), 64, RailDialect.READ_ONLY)) {
      RailMemory memory = host.memory(64);
      memory.pin();
      Order order = new Order(Direction.READ, memory, 0, new RailTarget(0, 0), 64, null);
      RailTransfer late =
          new RailTransfer(order, StripePlan.of(64, 1, 64, 64), Deadline.after(Duration.ZERO));
      TransferEngine engine = new TransferEngine("peer", true, link -> {});
      engine.submit(late);
      CompletableFuture<Boolean> heard =
          late.stage().handle((nothing, failure) -> isOver(inside, over)).toCompletableFuture();
      Thread stepping = new Thread(() -> step(engine));
      stepping.start();
      inside.await();
      FutureTask<Boolean> replacing = new FutureTask<>(() -> engine.replace(List.of()));
      Thread rebuilding = new Thread(replacing);
      rebuilding.start();
      rebuilding.interrupt();
      assertFalse(replacing.get(20, TimeUnit.SECONDS));
      over.countDown();
      stepping.join();
      assertTrue(heard.join());
    } finally {
      over.countDown();
    }
  }

  private static void step(TransferEngine engine) {
    boolean unused = engine.tryStep();
  }

  private static boolean isOver(CountDownLatch inside, CountDownLatch over) {
    inside.countDown();
    try {
      over.await();
      return true;
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
