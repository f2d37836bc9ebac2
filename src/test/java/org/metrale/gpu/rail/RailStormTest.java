package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.wire.RailDialect;

/**
 * Several threads' transfers while rails are taken down without a pause: no byte is lost or torn,
 * nothing is left. {@code metrale.storm.transfers} sets how many a thread does.
 */
@Tag("emulator")
@Tag("slow")
@Timeout(240)
final class RailStormTest {
  private static final int THREADS = 3;
  private static final int AREA = 2 << 20;
  private static final long SEED = Long.getLong("org.metrale.test.seed", 20_261_130L);

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @Test
  void transfersOutliveTheirRails() throws Exception {
    int transfers = Integer.getInteger("metrale.storm.transfers", 150);
    try (RailHost host =
        new RailHost(
            RdmaDevices.servers(),
            RdmaDevices.clients(),
            (long) AREA * THREADS,
            RailDialect.READ_WRITE)) {
      storm(host, 2); // What is made once is made now.
      long before = Descriptors.open();
      storm(host, transfers);
      while (host.server.clients() > 0 || Descriptors.open() > before) {
        Thread.sleep(1);
      }
    }
    assertTrue(
        Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().startsWith("rail")),
        "a thread is left");
  }

  private static void storm(RailHost host, int transfers) throws Exception {
    AtomicBoolean over = new AtomicBoolean();
    try (ConnectedRails connected =
        host.client()
            .rebuilding(true)
            .inPiecesOf(50_000)
            .connect(host.clientRails, RailHost.LIMIT)) {
      List<FutureTask<Void>> users = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        int number = i;
        users.add(
            start(
                "storm user " + i,
                () -> {
                  use(host, connected, number, transfers);
                  return null;
                }));
      }
      FutureTask<Void> saboteur =
          start(
              "storm saboteur",
              () -> {
                sabotage(host, connected, over);
                return null;
              });
      for (FutureTask<Void> user : users) {
        user.get();
      }
      over.set(true);
      saboteur.get();
    }
  }

  private static FutureTask<Void> start(String name, java.util.concurrent.Callable<Void> work) {
    FutureTask<Void> task = new FutureTask<>(work);
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
    return task;
  }

  /** Writes and reads back in a part of the arena that is this thread's. */
  private static void use(RailHost host, ConnectedRails connected, int number, int transfers)
      throws Exception {
    Random random = new Random(SEED + number);
    try (RailMemory memory =
        RailMemory.allocate(
            host.clientRails, AREA, org.metrale.gpu.verbs.VerbsAccess.LOCAL_WRITE)) {
      for (int i = 0; i < transfers; i++) {
        int length = 1 + random.nextInt(random.nextBoolean() ? AREA : 3000);
        int offset = random.nextInt(AREA - length + 1);
        RailTarget place = new RailTarget(0, (long) number * AREA + offset);
        ByteBuffer bytes = RailHost.bytes(random.nextLong(), length);
        memory.write(0, bytes.duplicate());
        if (random.nextBoolean()) {
          connected.writeFenced(memory, 0, place, length, RailHost.LIMIT);
        } else {
          TransferTerms terms = TransferTerms.within(RailHost.LIMIT);
          connected
              .writeAsync(memory, 0, place, length, terms)
              .stage()
              .toCompletableFuture()
              .join();
        }
        memory.write(0, ByteBuffer.allocate(length));
        connected.read(memory, 0, place, length, RailHost.LIMIT);
        int round = i;
        assertEquals(
            -1,
            bytes.mismatch(RailHost.read(memory, 0, length)),
            () -> "seed " + SEED + ", transfer " + round + " of thread " + number);
      }
    }
  }

  private static void sabotage(RailHost host, ConnectedRails connected, AtomicBoolean over)
      throws Exception {
    Random random = new Random(SEED - 1);
    long end = (long) AREA * THREADS;
    try (RailMemory memory =
        RailMemory.allocate(host.clientRails, 64, org.metrale.gpu.verbs.VerbsAccess.LOCAL_WRITE)) {
      while (!over.get()) {
        switch (random.nextInt(4)) {
          case 0 -> connected.takeDown(0, "a drill");
          case 1 -> connected.takeDown(1, "a drill");
          case 2 ->
              assertThrows(
                  RailException.class,
                  () -> connected.read(memory, 0, new RailTarget(0, end), 64, RailHost.LIMIT));
          default -> Thread.sleep(random.nextInt(60));
        }
      }
    }
  }
}
