package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsCompletions;
import org.metrale.gpu.verbs.VerbsWorkBatch;
import org.metrale.gpu.verbs.VerbsWorkException;
import org.metrale.gpu.verbs.VerbsWorkStatus;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.Region;
import org.metrale.gpu.wire.RoRailFrame;
import org.metrale.gpu.wire.RoServerRecord;
import org.metrale.gpu.wire.ServerFrame;

/** What peers may do; over the software GPU host's devices. */
@Tag("emulator")
@Timeout(60)
final class RailRightsTest {
  private static final RailTarget START = new RailTarget(0, 0);

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private static RailHost host(long bytes, RailDialect dialect) throws Exception {
    return new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), bytes, dialect);
  }

  @SuppressWarnings("MustBeClosed") // the host does
  private static ConnectedRails serve(RailHost host, List<RailMemory> memory, RailDialect dialect)
      throws Exception {
    RailServer server =
        host.keep(
            RailServer.start(
                host.serverRails,
                RailHost.service(dialect, RailShare.of(memory)),
                RailHost.PATIENT));
    return host.connect(RailClient.to(server.address(), dialect).rebuilding(false));
  }

  /** The memory would let it be written: the queue pairs do not. */
  @Test
  void aReadOnlyServicesQueuePairsRefuseWrites() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_WRITE)) {
      host.arena.write(0, RailHost.bytes(1, 4096));
      ConnectedRails rails = serve(host, List.of(host.arena), RailDialect.READ_ONLY);
      RailMemory memory = host.memory(4096);
      RailException e =
          assertThrows(
              RailException.class, () -> rails.write(memory, 0, START, 64, RailHost.LIMIT));
      assertEquals(Reason.PEER_REFUSED, e.reason(), e::toString);
      assertEquals(VerbsWorkStatus.Side.PEER, ((VerbsWorkException) e.getCause()).status().side());
      assertEquals(RailHost.bytes(1, 4096), RailHost.read(host.arena, 0, 4096));
    }
  }

  /** The other way round: a server that is no friend, and memory that would let it. */
  @Test
  void aServerCannotReachItsClientsMemory() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_ONLY);
        ServerSocket listener = Loopback.listener();
        RailSet one = RailSet.open(RailHost.specs(RdmaDevices.clients().subList(0, 1)));
        RailMemory open = RailMemory.allocate(one, 64, VerbsAccess.READ_WRITE)) {
      open.write(0, RailHost.bytes(1, 64));
      Curious server = new Curious(host);
      FutureTask<HandshakeTransport> serving = new FutureTask<>(() -> accept(listener, server));
      new Thread(serving, "curious server").start();
      InetSocketAddress at = (InetSocketAddress) listener.getLocalSocketAddress();
      try (ConnectedRails rails =
              RailClient.to(at, RailDialect.READ_ONLY).connect(one, RailHost.LIMIT);
          HandshakeTransport unused = serving.get()) {
        Region clients = new Region(open.address(), open.region(0).rkey() & 0xffff_ffffL);
        RailMemory mine =
            host.keep(RailMemory.allocate(host.serverRails, 64, VerbsAccess.READ_WRITE));
        assertEquals(VerbsWorkStatus.Side.PEER, read(server.end, mine, clients).side());
        assertEquals(ByteBuffer.allocate(64), RailHost.read(mine, 0, 64));
      }
    }
  }

  private static HandshakeTransport accept(ServerSocket listener, ServerRails rails)
      throws IOException {
    HandshakeTransport transport = HandshakeTransport.of(listener.accept());
    ServerHandshake.Established unused =
        HandshakeConnection.over(
                transport,
                new HandshakeTerms("client", RailDialect.READ_ONLY, Deadline.after(RailHost.LIMIT)))
            .accept(rails);
    return transport;
  }

  /** A server with one rail that it can ask on. */
  private static final class Curious implements ServerRails {
    private final RailHost host;
    private final RailEnd end;

    Curious(RailHost host) {
      this.host = host;
      this.end = RailEnd.prepare(host.serverRails, 0, VerbsAccess.REMOTE_READ, new PacketNumbers());
      host.keep(end::close);
    }

    @Override
    public int available() {
      return 1;
    }

    @Override
    public ServerFrame prepare(int rails) {
      Region region = new Region(host.arena.address(), host.arena.region(0).rkey() & 0xffff_ffffL);
      return new RoRailFrame(List.of(new RoServerRecord(end.local().toWire(), List.of(region))));
    }

    @Override
    public void connect(int railIndex, RemoteQueuePair remote) {
      end.connect(remote);
    }
  }

  /** Seen by what it needs: a write alone may be done where nothing may be read. */
  @Test
  void aFenceIsAReadOfWhatWasWritten() throws Exception {
    try (RailHost host = host(64, RailDialect.READ_WRITE)) {
      VerbsAccess writeOnly = VerbsAccess.LOCAL_WRITE.and(VerbsAccess.REMOTE_WRITE);
      RailMemory sink = host.keep(RailMemory.allocate(host.serverRails, 4096, writeOnly));
      ConnectedRails rails = serve(host, List.of(sink), RailDialect.READ_WRITE);
      RailMemory memory = host.memory(4096);
      memory.write(0, RailHost.bytes(2, 4096));
      rails.write(memory, 0, START, 4096, RailHost.LIMIT);
      assertEquals(RailHost.bytes(2, 4096), RailHost.read(sink, 0, 4096));
      RailException e =
          assertThrows(
              RailException.class, () -> rails.writeFenced(memory, 0, START, 64, RailHost.LIMIT));
      assertEquals(Reason.PEER_REFUSED, e.reason(), e::toString);
    }
  }

  @Test
  void aFencedWriteInTheBackground() throws Exception {
    try (RailHost host = host(100_000, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client().inPiecesOf(7000));
      RailMemory memory = host.memory(100_000);
      memory.write(0, RailHost.bytes(8, 100_000));
      TransferTerms terms = TransferTerms.within(RailHost.LIMIT);
      rails.writeFencedAsync(memory, 0, START, 100_000, terms).stage().toCompletableFuture().join();
      assertEquals(RailHost.bytes(8, 100_000), RailHost.read(host.arena, 0, 100_000));
    }
  }

  @Test
  void thisSidesMemoryWithoutTheRightIsNotThePeersFault() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_ONLY)) {
      ConnectedRails rails = host.connect(host.client().rebuilding(true));
      RailMemory source =
          host.keep(RailMemory.allocate(host.clientRails, 4096, VerbsAccess.LOCAL_READ));
      RailException e =
          assertThrows(RailException.class, () -> rails.read(source, 0, START, 64, RailHost.LIMIT));
      assertEquals(Reason.LOCAL_FAULT, e.reason(), e::toString);
      assertTrue(e.getMessage().contains("this side failed"), e::toString);
    }
  }

  @Test
  void whatIsBeyondAKnownRegionIsRefusedBeforeItIsSent() throws Exception {
    try (RailHost host = host(4096, RailDialect.READ_ONLY)) {
      ConnectedRails rails = host.connect(host.client().knowing(() -> List.of(4096L)));
      RailMemory memory = host.memory(4096);
      rails.read(memory, 0, START, 4096, RailHost.LIMIT);
      for (RailTarget wrong : List.of(new RailTarget(0, 1), new RailTarget(1, 0))) {
        assertThrows(
            IndexOutOfBoundsException.class,
            () -> rails.read(memory, 0, wrong, 4096, RailHost.LIMIT));
      }
      rails.status().forEach(status -> assertEquals(0, status.failures()));
      HandshakeException e =
          assertThrows(
              HandshakeException.class,
              () -> host.connect(host.client().knowing(() -> List.of(4096L, 4096L))));
      assertEquals(HandshakeException.Reason.OFFER_REFUSED, e.reason());
      assertTrue(e.getMessage().contains("1 regions, where 2 are known"), e::toString);
    }
  }

  @Test
  void moreRegionsAreServedThanOldPeersCould() throws Exception {
    int count = 1000;
    try (RailHost host = host(64L * count, RailDialect.READ_ONLY)) {
      host.arena.write(0, RailHost.bytes(3, 64 * count));
      List<RailMemory> parts = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        RailBuffer part = new RailBuffer(host.arena.address() + 64L * i, 64);
        parts.add(host.keep(RailMemory.borrow(host.serverRails, part, VerbsAccess.REMOTE_READ)));
      }
      ConnectedRails rails = serve(host, parts, RailDialect.READ_ONLY);
      RailMemory memory = host.memory(64);
      for (int i = 0; i < count; i += 111) {
        rails.read(memory, 0, new RailTarget(i, 0), 64, RailHost.LIMIT);
        assertEquals(RailHost.read(host.arena, 64L * i, 64), RailHost.read(memory, 0, 64));
      }
    }
  }

  @Test
  void placesBeyondFourGibibytesAreReached() throws Exception {
    long bytes = (5L << 30) + 3;
    try (RailHost host = host(bytes, RailDialect.READ_WRITE)) {
      ConnectedRails rails = host.connect(host.client());
      RailMemory memory = host.memory(200_000);
      memory.write(0, RailHost.bytes(6, 200_000));
      rails.write(memory, 0, new RailTarget(0, bytes - 200_000), 200_000, RailHost.LIMIT);
      assertEquals(RailHost.bytes(6, 200_000), RailHost.read(host.arena, bytes - 200_000, 200_000));
      memory.write(0, ByteBuffer.allocate(200_000));
      rails.read(memory, 0, new RailTarget(0, bytes - 200_000), 200_000, RailHost.LIMIT);
      assertEquals(RailHost.bytes(6, 200_000), RailHost.read(memory, 0, 200_000));
    }
  }

  /** A domain for each client: the key of one opens nothing to the other. */
  @Test
  void aClientCannotUseTheKeyOfAnother() throws Exception {
    try (RailHost host = host(8192, RailDialect.READ_WRITE)) {
      AtomicInteger turn = new AtomicInteger();
      RailService service =
          new RailService() {
            @Override
            public RailDialect dialect() {
              return RailDialect.READ_WRITE;
            }

            @Override
            public RailShare greet(HandshakeConnection connection) {
              long place = host.arena.address() + 4096L * turn.getAndIncrement();
              return RailShare.apart(List.of(new RailBuffer(place, 4096)));
            }
          };
      RailServer server = host.keep(RailServer.start(host.serverRails, service, RailHost.PATIENT));
      RailClient client = RailClient.to(server.address(), RailDialect.READ_WRITE);
      ConnectedRails first = host.connect(client);
      Region others = first.offer().rails().get(0).regions().get(0);
      NavigableSet<Integer> one = new TreeSet<>(List.of(0));
      RailGeneration second =
          RailGeneration.connect(
              client.terms(), host.clientRails, one, List.of(), Deadline.after(RailHost.LIMIT));
      RailEnd end = second.ends().get(0);
      host.keep(end::close);
      RailMemory memory = host.memory(4096);
      Region own = second.offer().rails().get(0).regions().get(0);
      assertEquals(others.base() + 4096, own.base());
      assertEquals(VerbsWorkStatus.SUCCESS, read(end, memory, own));
      assertEquals(VerbsWorkStatus.Side.PEER, read(end, memory, others).side());
      second.hangUp();
    }
  }

  private static VerbsWorkStatus read(RailEnd end, RailMemory into, Region from)
      throws InterruptedException {
    VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
    VerbsCompletions done = VerbsCompletions.allocate(1);
    batch.read(1, into.region(0), 0, 64, from.base(), (int) from.rkey());
    end.pair().post(batch);
    assertEquals(1, end.completions().await(done, RailHost.LIMIT));
    return done.isSuccess(0) ? VerbsWorkStatus.SUCCESS : done.failure(0).status();
  }

  @Test
  void packetNumbersAreFreshForEachConnection() throws Exception {
    try (RailHost host = host(64, RailDialect.READ_ONLY)) {
      Set<Long> seen = new HashSet<>();
      for (int i = 0; i < 10; i++) {
        try (ConnectedRails rails = host.client().connect(host.clientRails, RailHost.LIMIT)) {
          rails.offer().rails().forEach(record -> seen.add(record.remoteQp().psn()));
        }
      }
      assertTrue(seen.size() >= 19, () -> seen + " of 20 numbers of 24 bits");
    }
  }
}
