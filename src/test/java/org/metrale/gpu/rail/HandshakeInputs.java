package org.metrale.gpu.rail;

import static org.metrale.gpu.rail.Fixtures.NOW;
import static org.metrale.gpu.rail.Fixtures.terms;

import java.nio.ByteBuffer;
import org.metrale.gpu.rail.HandshakeEvent.Connected;
import org.metrale.gpu.rail.HandshakeEvent.Ended;
import org.metrale.gpu.rail.HandshakeEvent.Prepared;
import org.metrale.gpu.rail.HandshakeEvent.Received;
import org.metrale.gpu.rail.HandshakeEvent.Sent;
import org.metrale.gpu.wire.RailDialect;

/** Both machines, talked to by a peer that says any bytes and then hangs up. */
final class HandshakeInputs {
  private HandshakeInputs() {}

  /** Whether the client was satisfied; throws what the machine should not have thrown. */
  static boolean client(RailDialect dialect, int rails, ByteBuffer peer) {
    ClientHandshake begin = ClientHandshake.begin(terms(dialect), Fixtures.locals(rails));
    return run(begin, peer, new Connected()) instanceof ClientHandshake.Established;
  }

  /** Whether the server was satisfied; throws what the machine should not have thrown. */
  static boolean server(RailDialect dialect, ByteBuffer peer) {
    int rails = peer.hasRemaining() ? Math.max(1, Math.min(8, peer.get(peer.position()))) : 1;
    ServerHandshake begin = ServerHandshake.begin(terms(dialect), 8);
    Prepared prepared = new Prepared(Fixtures.offer(dialect, rails, 1));
    return run(begin, peer, prepared) instanceof ServerHandshake.Established;
  }

  private static <S extends HandshakeState<S>> S run(S begin, ByteBuffer peer, HandshakeEvent own) {
    S state = begin;
    for (int steps = 0; !state.isFinal(); steps++) {
      if (steps > 10_000) {
        throw new AssertionError("no end in " + state);
      }
      state = step(state, peer, own);
    }
    return state;
  }

  private static <S extends HandshakeState<S>> S step(
      S state, ByteBuffer peer, HandshakeEvent own) {
    if (state.flight().isPresent()) {
      return state.on(new Sent(), NOW);
    }
    if (state.wantedBytes() == 0) {
      boolean connecting = state instanceof ServerHandshake.Connecting;
      return state.on(connecting ? new Connected() : own, NOW);
    }
    if (!peer.hasRemaining()) {
      return state.on(new Ended(), NOW);
    }
    int length = Math.min(peer.remaining(), state.wantedBytes());
    ByteBuffer piece = peer.slice(peer.position(), length);
    peer.position(peer.position() + length);
    return state.on(new Received(piece), NOW);
  }
}
