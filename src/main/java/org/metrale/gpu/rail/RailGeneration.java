package org.metrale.gpu.rail;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.ServerFrame;

/** What one handshake made: this side's ends, the peer's offer, and the stream it was held on. */
final class RailGeneration {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  private final HandshakeTransport transport;
  private final List<RailEnd> ends;
  private final ServerFrame offer;

  private RailGeneration(HandshakeTransport transport, List<RailEnd> ends, ServerFrame offer) {
    this.transport = transport;
    this.ends = List.copyOf(ends);
    this.offer = offer;
  }

  /**
   * Makes this side's queue pairs, and only then calls the peer. If anything fails nothing is left
   * here, and the peer sees the stream closed.
   */
  static RailGeneration connect(RailClient.Terms client, RailSet rails, Deadline deadline)
      throws IOException {
    List<RailEnd> ends = new ArrayList<>();
    HandshakeTransport transport = null;
    try {
      for (int rail = 0; rail < rails.size(); rail++) {
        ends.add(RailEnd.prepare(rails, rail, VerbsAccess.LOCAL_READ, client.numbers()));
      }
      transport = client.dialer().open(deadline);
      HandshakeConnection connection =
          HandshakeConnection.over(
              transport, new HandshakeTerms(client.peer(), client.dialect(), deadline));
      client.preamble().exchange(connection);
      ClientHandshake.Established established = connection.connect(new Half(ends, client.check()));
      return new RailGeneration(transport, ends, established.offer());
    } catch (IOException | RuntimeException | Error e) {
      Closing.afterFailure(e, ends.stream().map(end -> (AutoCloseable) end::close).toList());
      if (transport != null) {
        transport.close();
      }
      throw e;
    }
  }

  /** This side of the handshake. */
  private record Half(List<RailEnd> ends, Function<ServerFrame, Optional<String>> check)
      implements ClientRails {
    @Override
    public List<LocalQueuePair> locals() {
      return ends.stream().map(RailEnd::local).toList();
    }

    @Override
    public Optional<String> objection(ServerFrame offer) {
      return check.apply(offer);
    }

    @Override
    public void connect(int railIndex, RemoteQueuePair remote) {
      ends.get(railIndex).connect(remote);
    }
  }

  List<RailEnd> ends() {
    return ends;
  }

  ServerFrame offer() {
    return offer;
  }

  HandshakeTransport transport() {
    return transport;
  }

  /** Lets the peer know; the ends are closed by whoever has them in use. */
  void hangUp() {
    try {
      transport.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "the stream of a handshake did not close", e);
    }
  }
}
