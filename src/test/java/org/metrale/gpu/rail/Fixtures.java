package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.StreamSupport;
import org.metrale.gpu.wire.ClientRecord;
import org.metrale.gpu.wire.Gid;
import org.metrale.gpu.wire.GoldenVectors;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.Region;
import org.metrale.gpu.wire.RoRailFrame;
import org.metrale.gpu.wire.RoServerRecord;
import org.metrale.gpu.wire.RwRailFrame;
import org.metrale.gpu.wire.RwServerRecord;
import org.metrale.gpu.wire.ServerFrame;

/** Queue pairs, offers and terms that tests of both halves share; all numbers are distinct. */
final class Fixtures {
  static final String PEER = "test-peer:9918";

  /** A moment on a clock that does not run. */
  static final long NOW = 1_000;

  static final long LATE = 2_000;

  private Fixtures() {}

  /** Terms on the clock that does not run. */
  static HandshakeTerms terms(RailDialect dialect) {
    return new HandshakeTerms(PEER, dialect, new Deadline(LATE));
  }

  /** Terms on the real clock. */
  static HandshakeTerms terms(RailDialect dialect, Duration timeout) {
    return new HandshakeTerms(PEER, dialect, Deadline.after(timeout));
  }

  static List<LocalQueuePair> locals(int rails) {
    List<LocalQueuePair> locals = new ArrayList<>();
    for (int rail = 0; rail < rails; rail++) {
      locals.add(new LocalQueuePair(0x100 + rail, 0x200 + rail, new Gid(0x300, 0x400 + rail)));
    }
    return locals;
  }

  /** What a server of that dialect offers, with so many regions where it has a choice. */
  static ServerFrame offer(RailDialect dialect, int rails, int regions) {
    List<RoServerRecord> readOnly = new ArrayList<>();
    List<RwServerRecord> readWrite = new ArrayList<>();
    for (int rail = 0; rail < rails; rail++) {
      LocalQueuePair qp = new LocalQueuePair(0x500 + rail, 0x600 + rail, new Gid(0x700, rail));
      Region region = new Region(0x7f00_0000_0000L, 0x800 + rail);
      readOnly.add(new RoServerRecord(qp.toWire(), Collections.nCopies(regions, region)));
      readWrite.add(new RwServerRecord(qp.toWire(), region));
    }
    return dialect == RailDialect.READ_ONLY
        ? new RoRailFrame(readOnly)
        : new RwRailFrame(readWrite);
  }

  static List<LocalQueuePair> locals(JsonNode transcript) {
    return GoldenVectors.clients(transcript).stream().map(Fixtures::local).toList();
  }

  static List<RemoteQueuePair> remotes(ServerFrame offer) throws HandshakeException {
    return RailPairing.withServer(PEER, offer.rails(), offer.rails().size());
  }

  static List<RemoteQueuePair> remotes(List<LocalQueuePair> locals) {
    return locals.stream().map(l -> new RemoteQueuePair(l.qpn(), l.psn(), l.gid())).toList();
  }

  static List<String> steps(JsonNode transcript) {
    return StreamSupport.stream(transcript.path("steps").spliterator(), false)
        .map(step -> step.path("hex").textValue())
        .toList();
  }

  /** Lets bytes arrive in pieces of at most so many, as far as the state wants them. */
  static <S extends HandshakeState<S>> S receive(S begin, ByteBuffer bytes, int pieceBytes) {
    S state = begin;
    while (bytes.hasRemaining() && state.wantedBytes() > 0) {
      int length = Math.min(bytes.remaining(), Math.min(pieceBytes, state.wantedBytes()));
      ByteBuffer piece = bytes.slice(bytes.position(), length);
      bytes.position(bytes.position() + length);
      state = state.on(new HandshakeEvent.Received(piece), NOW);
    }
    return state;
  }

  static <S extends HandshakeState<S>> S receive(S begin, String hex) {
    ByteBuffer bytes = GoldenVectors.bytes(hex);
    S state = receive(begin, bytes, Integer.MAX_VALUE);
    assertEquals(0, bytes.remaining(), "bytes that the state did not want");
    return state;
  }

  private static LocalQueuePair local(ClientRecord record) {
    return new LocalQueuePair(
        (int) record.remoteQp().qpn(), (int) record.remoteQp().psn(), record.remoteQp().gid());
  }

  /** Queue pairs that cost nothing and remember what they were connected to. */
  static class ScriptedClient implements ClientRails {
    final List<RemoteQueuePair> connected = new ArrayList<>();
    private final List<LocalQueuePair> locals;

    ScriptedClient(List<LocalQueuePair> locals) {
      this.locals = locals;
    }

    @Override
    public List<LocalQueuePair> locals() {
      return locals;
    }

    @Override
    public void connect(int railIndex, RemoteQueuePair remote) {
      assertEquals(connected.size(), railIndex);
      connected.add(remote);
    }
  }

  /** Queue pairs and memory that cost nothing. */
  static class ScriptedServer implements ServerRails {
    final List<RemoteQueuePair> connected = new ArrayList<>();
    final List<Integer> prepared = new ArrayList<>();
    private final int available;
    private final ServerFrame offer;

    ScriptedServer(int available, ServerFrame offer) {
      this.available = available;
      this.offer = offer;
    }

    @Override
    public int available() {
      return available;
    }

    @Override
    public ServerFrame prepare(int rails) throws IOException {
      prepared.add(rails);
      return offer;
    }

    @Override
    public void connect(int railIndex, RemoteQueuePair remote) throws IOException {
      assertEquals(connected.size(), railIndex);
      connected.add(remote);
    }
  }
}
