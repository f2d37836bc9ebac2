package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.wire.RailDialect;

/** On the software GPU host. */
@Tag("emulator")
final class RailTakeDownTest extends RailTakeDownCases {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  /** Both rails fail again and again under a piece, which is not what is wrong. */
  @Test
  void aPieceOutlivesManyRails() throws Exception {
    int length = 64 << 20;
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), length, RailDialect.READ_ONLY)) {
      host.arena.write(0, RailHost.bytes(9, length));
      ConnectedRails connected = host.connect(host.client().rebuilding(true).inPiecesOf(length));
      RailMemory memory = host.memory(length);
      RailTransfer transfer =
          connected.readAsync(
              memory, 0, new RailTarget(0, 0), length, TransferTerms.within(RailHost.LIMIT));
      for (int i = 0; i < 8 && !transfer.isDone(); i++) {
        untilActive(connected);
        connected.takeDown(0, "a drill");
        connected.takeDown(1, "a drill");
      }
      transfer.stage().toCompletableFuture().join();
      assertEquals(RailHost.bytes(9, length), RailHost.read(memory, 0, length));
    }
  }

  @Test
  void whatARailHasCarriedIsNeverLessThanItWas() throws Exception {
    int length = 64 << 10;
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), length, RailDialect.READ_ONLY)) {
      ConnectedRails connected = host.connect(host.client().rebuilding(true).inPiecesOf(4096));
      connected.read(host.memory(length), 0, new RailTarget(0, 0), length, RailHost.LIMIT);
      AtomicBoolean isOver = new AtomicBoolean();
      FutureTask<String> looking = new FutureTask<>(() -> fallOf(connected, isOver));
      new Thread(looking, "looks").start();
      try {
        for (int i = 0; i < 40; i++) {
          connected.takeDown(0, "a drill");
          untilActive(connected);
        }
      } finally {
        isOver.set(true);
      }
      assertEquals("", looking.get());
    }
  }

  /** What is less than it was before, if anything ever is. */
  private static String fallOf(ConnectedRails connected, AtomicBoolean isOver) {
    long before = 0;
    while (!isOver.get()) {
      RailStatus status = connected.status().get(0);
      if (status.carriedBytes() < before) {
        return before + " bytes, then " + status;
      }
      before = status.carriedBytes();
    }
    return "";
  }
}
