package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;

/** Several who want the same at the same moment, over the software GPU host's devices. */
@Tag("emulator")
@Tag("slow")
@Timeout(120)
final class RailRaceTest {
  private static final RailTarget START = new RailTarget(0, 0);
  private static final int LENGTH = 8 << 20;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private static <T> FutureTask<T> begin(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    Thread thread = new Thread(task, "racer");
    thread.setDaemon(true);
    thread.start();
    return task;
  }

  private static void untilNobody(RailServer server) throws InterruptedException {
    while (server.clients() > 0) {
      Thread.sleep(1);
    }
  }

  @Test
  void ofTwoClientsOneGetsTheLastPlace() throws Exception {
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), 4096, RailDialect.READ_ONLY)) {
      RailServer server =
          host.keep(
              RailServer.start(
                  host.serverRails,
                  RailHost.service(RailDialect.READ_ONLY, RailShare.of(List.of(host.arena))),
                  RailServerOptions.loopback().withLimits(1, RailHost.LIMIT, MemoryLedger.of(0))));
      RailClient client = RailClient.to(server.address(), RailDialect.READ_ONLY);
      int rounds = 30;
      for (int round = 0; round < rounds; round++) {
        CyclicBarrier both = new CyclicBarrier(2);
        List<FutureTask<ConnectedRails>> racers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          racers.add(
              begin(
                  () -> {
                    both.await();
                    try {
                      return client.connect(host.clientRails, RailHost.LIMIT);
                    } catch (HandshakeException e) {
                      return null;
                    }
                  }));
        }
        List<ConnectedRails> in = new ArrayList<>();
        for (FutureTask<ConnectedRails> racer : racers) {
          if (racer.get() != null) {
            in.add(racer.get());
          }
        }
        assertEquals(1, in.size(), "clients in round " + round);
        in.get(0).close();
        untilNobody(server);
      }
      assertEquals(rounds, server.connectedSoFar());
      assertEquals(rounds, server.refusedSoFar());
    }
  }

  @Test
  void railsAreClosedOnceByWhoeverComesFirst() throws Exception {
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), LENGTH, RailDialect.READ_ONLY)) {
      long before = Descriptors.open();
      for (int round = 0; round < 20; round++) {
        RailMemory memory = RailMemory.allocate(host.clientRails, LENGTH, VerbsAccess.LOCAL_WRITE);
        ConnectedRails rails =
            host.client().inPiecesOf(65_536).connect(host.clientRails, RailHost.LIMIT);
        RailTransfer transfer =
            rails.readAsync(memory, 0, START, LENGTH, TransferTerms.within(RailHost.LIMIT));
        while (transfer.doneBytes() == 0) {
          Thread.onSpinWait();
        }
        CyclicBarrier all = new CyclicBarrier(3);
        List<FutureTask<Boolean>> closers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
          closers.add(
              begin(
                  () -> {
                    all.await();
                    rails.close();
                    return rails.isClosed();
                  }));
        }
        for (FutureTask<Boolean> closer : closers) {
          assertTrue(closer.get());
        }
        assertTrue(transfer.isDone());
        try {
          transfer.stage().toCompletableFuture().join();
        } catch (CompletionException e) {
          assertEquals(
              RailException.Reason.CLOSED,
              assertInstanceOf(RailException.class, e.getCause()).reason());
        }
        memory.close();
      }
      untilNobody(host.server);
      while (Descriptors.open() > before) {
        Thread.sleep(1);
      }
    }
  }

  /** A name given twice is two rails over one adapter. */
  @Test
  void oneDeviceCarriesTwoRails() throws Exception {
    String client = RdmaDevices.clients().get(0);
    String server = RdmaDevices.servers().get(0);
    try (RailHost host =
        new RailHost(
            List.of(server, server), List.of(client, client), LENGTH, RailDialect.READ_WRITE)) {
      host.arena.write(0, RailHost.bytes(3, LENGTH));
      RailMemory memory = host.memory(LENGTH);
      ConnectedRails rails = host.connect(host.client().rebuilding(true));
      rails.read(memory, 0, START, LENGTH, RailHost.LIMIT);
      assertEquals(RailHost.bytes(3, LENGTH), RailHost.read(memory, 0, LENGTH));
      rails.status().forEach(status -> assertTrue(status.carriedBytes() > 0, status::toString));
      rails.takeDown(1, "a drill");
      memory.write(0, RailHost.bytes(5, LENGTH));
      rails.writeFenced(memory, 0, START, LENGTH, RailHost.LIMIT);
      assertEquals(RailHost.bytes(5, LENGTH), RailHost.read(host.arena, 0, LENGTH));
      while (rails.status().get(1).state() != RailStatus.State.ACTIVE) {
        Thread.sleep(1);
      }
    }
  }

  /** Thousands who say nothing, many at a time, until no more descriptors are to be had. */
  @Test
  void aServerWithoutDescriptorsServesAgainWhenTheyAreBack() throws Exception {
    ForkedJvm.Result said =
        SoftwareHost.running(FloodProbe.class)
            .by("prlimit", "--nofile=220:220")
            .deadline(Duration.ofSeconds(110))
            .run()
            .succeeded();
    assertTrue(Long.parseLong(said.value("asked")) >= FloodProbe.MOST_ASKED, said::toString);
    assertEquals("2", said.value("connected"), said::toString);
  }

  /** A server that has no place for descriptors, and clients that each hold one at both ends. */
  static final class FloodProbe {
    static final int MOST_ASKED = 3000;

    private FloodProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      try (RailHost host =
          new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), 4096, RailDialect.READ_ONLY)) {
        InetSocketAddress at = host.server.address();
        RailMemory memory = host.memory(4096);
        // A class is a file too, and is not looked for again where it could not be opened.
        host.connect(host.client()).read(memory, 0, START, 4096, RailHost.LIMIT);
        new Socket(at.getAddress(), at.getPort()).close();
        long asked = 0;
        while (asked < MOST_ASKED) {
          List<Socket> silent = new ArrayList<>();
          try {
            while (silent.size() < 1000) {
              silent.add(new Socket(at.getAddress(), at.getPort()));
              asked++;
            }
          } catch (java.io.IOException noMore) {
            assertTrue(silent.size() > 10, noMore::toString);
          }
          for (Socket one : silent) {
            one.close();
          }
        }
        while (host.server.clients() > 1) {
          Thread.sleep(1);
        }
        host.connect(host.client()).read(memory, 0, START, 4096, RailHost.LIMIT);
        System.out.println("asked=" + asked);
        System.out.println("connected=" + host.server.connectedSoFar());
      }
    }
  }

  @Test
  void placesThatNoMemoryHasAreRefusedBeforeAnythingIsSent() throws Exception {
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), 4096, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client());
      RailMemory memory = host.memory(4096);
      for (long offset : new long[] {Long.MAX_VALUE, Long.MAX_VALUE - 64}) {
        RailTarget nowhere = new RailTarget(0, offset);
        assertThrows(
            IndexOutOfBoundsException.class,
            () -> rails.read(memory, 0, nowhere, 4096, RailHost.LIMIT));
        assertThrows(
            IndexOutOfBoundsException.class,
            () -> rails.write(memory, 0, nowhere, 4096, RailHost.LIMIT));
      }
      for (long length : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE}) {
        assertThrows(
            IndexOutOfBoundsException.class,
            () -> rails.read(memory, 0, START, length, RailHost.LIMIT));
        assertThrows(
            IndexOutOfBoundsException.class,
            () -> rails.read(memory, Long.MAX_VALUE, START, length, RailHost.LIMIT));
      }
      rails.read(memory, 0, START, 4096, RailHost.LIMIT);
      rails.status().forEach(status -> assertEquals(0, status.failures(), status::toString));
    }
  }
}
