package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.wire.RailDialect;

/** Rails between two halves in this process. */
@Timeout(60)
abstract class RailTransferCases {
  private static final RailTarget START = new RailTarget(0, 0);

  private static RailHost host(long bytes, RailDialect dialect) throws Exception {
    return new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), bytes, dialect);
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void readsOverTwoRails(RailDialect dialect) throws Exception {
    int length = 9_000_001;
    try (RailHost host = host(length, dialect)) {
      host.arena.write(0, RailHost.bytes(3, length));
      ConnectedRails rails = host.connect(host.client());
      RailMemory memory = host.memory(length + 10);
      rails.read(memory, 10, START, length, RailHost.LIMIT);
      assertEquals(RailHost.bytes(3, length), RailHost.read(memory, 10, length));
      for (RailStatus status : rails.status()) {
        assertTrue(status.carriedBytes() > 0, status::toString);
        assertEquals(RailStatus.State.ACTIVE, status.state());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4095, 65_536, 65_537, 3_000_000})
  void writesAnyLength(int length) throws Exception {
    try (RailHost host = host(3_000_100, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client());
      RailMemory memory = host.memory(length);
      memory.write(0, RailHost.bytes(length, length));
      rails.write(memory, 0, new RailTarget(0, 7), length, RailHost.LIMIT);
      assertEquals(RailHost.bytes(length, length), RailHost.read(host.arena, 7, length));
      memory.write(0, RailHost.bytes(length + 1, length));
      rails.writeFenced(memory, 0, new RailTarget(0, 7), length, RailHost.LIMIT);
      assertEquals(RailHost.bytes(length + 1, length), RailHost.read(host.arena, 7, length));
      assertEquals(0, host.arena.region(0).lengthBytes() - 3_000_100);
    }
  }

  @Test
  void manyTransfersInTheBackgroundWithProgress() throws Exception {
    int length = 300_000;
    try (RailHost host = host(20L * length, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client().inPiecesOf(50_000));
      RailMemory memory = host.memory(20L * length);
      List<RailTransfer> all = new ArrayList<>();
      List<List<Long>> told = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        memory.write((long) i * length, RailHost.bytes(i, length));
        List<Long> steps = new CopyOnWriteArrayList<>();
        told.add(steps);
        all.add(
            rails.writeAsync(
                memory,
                (long) i * length,
                new RailTarget(0, (long) i * length),
                length,
                TransferTerms.within(RailHost.LIMIT).telling(steps::add)));
      }
      for (RailTransfer transfer : all) {
        transfer.stage().toCompletableFuture().join();
        assertEquals(length, transfer.doneBytes());
      }
      for (List<Long> steps : told) {
        // Pieces of 50,000 at most: each is told, and none twice.
        assertTrue(steps.size() >= 6, steps::toString);
        assertEquals(steps, List.copyOf(new TreeSet<>(steps)));
        assertEquals(length, steps.get(steps.size() - 1));
      }
      for (int i = 0; i < 20; i++) {
        assertEquals(
            RailHost.bytes(i, length), RailHost.read(host.arena, (long) i * length, length));
      }
    }
  }

  @Test
  void aReadOnlyServiceCannotBeWrittenTo() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_ONLY)) {
      ConnectedRails rails = host.connect(host.client());
      RailMemory memory = host.memory(4096);
      RailException e =
          assertThrows(
              RailException.class, () -> rails.write(memory, 0, START, 64, RailHost.LIMIT));
      assertEquals(Reason.PEER_REFUSED, e.reason());
      String peer = "localhost:" + host.server.address().getPort();
      assertEquals(peer, e.peer());
      String beginning = peer + " rail " + e.rail().orElseThrow() + ": the peer refused: ";
      assertTrue(e.getMessage().startsWith(beginning), e::getMessage);
      assertTrue(e.getMessage().contains("write of 64 bytes at region 0 offset 0"), e::getMessage);
    }
  }

  @Test
  void aRailThatAPeerRefusedComesBackRebuilt() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_WRITE)) {
      host.arena.write(0, RailHost.bytes(9, 4096));
      ConnectedRails rails = host.connect(host.client().rebuilding(true));
      RailMemory memory = host.memory(4096);
      for (int i = 0; i < 4; i++) {
        RailException e =
            assertThrows(
                RailException.class,
                () -> rails.read(memory, 0, new RailTarget(0, 4000), 200, RailHost.LIMIT));
        assertEquals(Reason.PEER_REFUSED, e.reason(), e::toString);
        rails.read(memory, 0, START, 4096, RailHost.LIMIT);
        assertEquals(RailHost.bytes(9, 4096), RailHost.read(memory, 0, 4096));
      }
      assertTrue(host.server.connectedSoFar() > 1);
      assertTrue(rails.status().stream().mapToLong(RailStatus::failures).sum() >= 4);
    }
  }

  @Test
  void withoutRebuildingTheLastRailsLossFailsTheTransferAtOnce() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client());
      RailMemory memory = host.memory(4096);
      host.server.close();
      RailException e =
          assertThrows(
              RailException.class, () -> rails.read(memory, 0, START, 4096, Duration.ofMinutes(2)));
      assertEquals(Reason.RAILS_LOST, e.reason(), e::toString);
      assertTrue(e.getMessage().contains("IBV_WC_RETRY_EXC_ERR"), e::getMessage);
    }
  }

  @Test
  void aDeadlineAndAnInterruptEndTransfersAndLetMemoryGo() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client().rebuilding(true));
      RailMemory memory = host.memory(4096);
      host.server.close();
      RailException e =
          assertThrows(
              RailException.class,
              () -> rails.read(memory, 0, START, 4096, Duration.ofMillis(300)));
      assertEquals(Reason.DEADLINE_PASSED, e.reason(), e::toString);
      Thread.currentThread().interrupt();
      assertThrows(
          InterruptedException.class, () -> rails.read(memory, 0, START, 4096, RailHost.LIMIT));
      RailTransfer pending =
          rails.readAsync(memory, 0, START, 4096, TransferTerms.within(RailHost.LIMIT));
      assertFalse(pending.isDone());
      rails.close();
      CompletionException closed =
          assertThrows(
              CompletionException.class, () -> pending.stage().toCompletableFuture().join());
      assertEquals(
          Reason.CLOSED, assertInstanceOf(RailException.class, closed.getCause()).reason());
      memory.close();
    }
  }

  @Test
  void wrongRangesAreRefusedBeforeAnythingIsSent() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client());
      RailMemory memory = host.memory(4096);
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> rails.read(memory, 1, START, 4096, RailHost.LIMIT));
      assertThrows(
          IllegalArgumentException.class, () -> rails.read(memory, 0, START, 0, RailHost.LIMIT));
      RailException e =
          assertThrows(
              RailException.class,
              () -> rails.read(memory, 0, new RailTarget(1, 0), 1, RailHost.LIMIT));
      assertEquals(Reason.LOCAL_FAULT, e.reason());
      memory.close();
      assertThrows(
          IllegalStateException.class, () -> rails.read(memory, 0, START, 1, RailHost.LIMIT));
    }
  }

  @Test
  void memoryForOneClientAlone() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_WRITE)) {
      RailMemory two =
          host.keep(
              RailMemory.allocate(
                  host.serverRails, 8192, org.metrale.gpu.verbs.VerbsAccess.LOCAL_WRITE));
      MemoryLedger ledger = MemoryLedger.of(8192);
      RailServer server =
          host.keep(
              RailServer.start(
                  host.serverRails,
                  RailHost.service(
                      RailDialect.READ_WRITE,
                      RailShare.apart(List.of(new RailBuffer(two.address(), 8192)))),
                  RailServerOptions.loopback().withLimits(2, RailHost.LIMIT, ledger)));
      RailClient client = RailClient.to(server.address(), RailDialect.READ_WRITE);
      RailMemory memory = host.memory(8192);
      try (ConnectedRails rails = client.connect(host.clientRails, RailHost.LIMIT)) {
        memory.write(0, RailHost.bytes(1, 8192));
        rails.write(memory, 0, START, 8192, RailHost.LIMIT);
        assertEquals(8192, ledger.reservedBytes());
        HandshakeException e =
            assertThrows(
                HandshakeException.class,
                () -> client.connect(host.clientRails, RailHost.LIMIT).close());
        assertEquals(HandshakeException.Reason.PEER_REJECTED, e.reason(), e::toString);
      }
      assertEquals(RailHost.bytes(1, 8192), RailHost.read(two, 0, 8192));
      server.close();
      assertEquals(0, ledger.reservedBytes());
    }
  }

  @Test
  void aServerTurnsAwayWhomItMustNotServe() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_WRITE)) {
      RailServer server =
          host.keep(
              RailServer.start(
                  host.serverRails,
                  RailHost.service(RailDialect.READ_WRITE, RailShare.of(List.of(host.arena))),
                  RailServerOptions.loopback()
                      .at(
                          RailServerOptions.loopback().address(),
                          AddressFilter.only("10.0.0.0/8", "::1"))));
      assertThrows(
          HandshakeException.class,
          () ->
              RailClient.to(server.address(), RailDialect.READ_WRITE)
                  .connect(host.clientRails, RailHost.LIMIT)
                  .close());
      assertEquals(1, server.refusedSoFar());
      assertEquals(0, server.connectedSoFar());
    }
  }

  @Test
  void anOfferThatIsNotWantedEndsTheHandshakeAndLeavesNothing() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_WRITE)) {
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () -> host.connect(host.client().checking(offer -> Optional.of("too small"))));
      assertEquals(HandshakeException.Reason.OFFER_REFUSED, e.reason());
    }
  }

  @Test
  void connectsAndClosesAgainAndAgain() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_WRITE)) {
      RailMemory memory = host.memory(64);
      for (int i = 0; i < 50; i++) {
        try (ConnectedRails rails = host.client().connect(host.clientRails, RailHost.LIMIT)) {
          rails.read(memory, 0, START, 64, RailHost.LIMIT);
        }
      }
      assertEquals(50, host.server.connectedSoFar());
    }
  }
}
