package org.metrale.gpu.rail;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RemoteQp;
import org.metrale.gpu.wire.ServerFrame;
import org.metrale.gpu.wire.ServerRecord;

/** What one handshake made: this side's ends, the peer's offer, and the stream it was held on. */
final class RailGeneration {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  private final HandshakeTransport transport;

  /** One a rail; null where the peer's queue pair has no end here. */
  private final List<RailEnd> ends;

  private final ServerFrame offer;

  private RailGeneration(HandshakeTransport transport, List<RailEnd> ends, ServerFrame offer) {
    this.transport = transport;
    this.ends = Collections.unmodifiableList(ends);
    this.offer = offer;
  }

  /**
   * Connects some rails: makes this side's queue pairs, and only then calls the peer. If anything
   * fails nothing is left here, and the peer sees the stream closed.
   *
   * <p>A peer pairs rails by their place, so those before a wanted one have to be named too. Where
   * they are not wanted the peer is told of an address of its own, which it can always reach: its
   * queue pair is idle then.
   *
   * @param wanted the rails that are connected; if something is known, without those whose queue
   *     pairs cannot be made now, unless that is all of them
   * @param known what the peer has offered before, a record each rail; empty if nothing
   */
  static RailGeneration connect(
      RailClient.Terms client,
      RailSet rails,
      NavigableSet<Integer> wanted,
      List<? extends ServerRecord> known,
      Deadline deadline)
      throws IOException {
    List<RailEnd> ends = new ArrayList<>();
    List<LocalQueuePair> locals = new ArrayList<>();
    HandshakeTransport transport = null;
    try {
      RuntimeException failure = null;
      for (int rail = 0; rail <= wanted.last(); rail++) {
        RailEnd end = null;
        if (wanted.contains(rail)) {
          try {
            end = prepare(client, rails, rail, deadline);
          } catch (RuntimeException e) {
            if (known.isEmpty()) {
              throw e;
            }
            failure = e;
          }
        }
        ends.add(end);
        locals.add(end == null ? standIn(known.get(rail), client.numbers()) : end.local());
      }
      if (ends.stream().allMatch(Objects::isNull)) {
        throw failure;
      }
      transport = client.dialer().open(deadline);
      HandshakeConnection connection =
          HandshakeConnection.over(
              transport, new HandshakeTerms(client.peer(), client.dialect(), deadline));
      client.preamble().exchange(connection);
      ClientHandshake.Established established =
          connection.connect(new Half(ends, locals, client, deadline));
      return new RailGeneration(transport, ends, established.offer());
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      closeAfter(e, ends);
      if (transport != null) {
        transport.close();
      }
      throw e;
    }
  }

  private static RailEnd prepare(
      RailClient.Terms client, RailSet rails, int rail, Deadline deadline)
      throws HandshakeException {
    return LocalStep.take(
        client.peer(),
        LocalStep.tooLate(
            "making rail[" + rail + "]",
            "a queue pair",
            "device " + rails.specs().get(rail).device()),
        () -> RailEnd.prepare(rails, rail, VerbsAccess.LOCAL_READ, client.numbers()),
        deadline,
        RailEnd::closeQuietly);
  }

  private static LocalQueuePair standIn(ServerRecord known, PacketNumbers numbers) {
    RemoteQp own = known.remoteQp();
    return new LocalQueuePair((int) own.qpn(), numbers.next(), own.gid());
  }

  private static void closeAfter(Throwable failure, List<RailEnd> ends) {
    ends.stream().filter(Objects::nonNull).forEach(end -> LocalStep.undo(failure, end::close));
  }

  /** This side of the handshake. */
  private record Half(
      List<RailEnd> ends, List<LocalQueuePair> locals, RailClient.Terms client, Deadline deadline)
      implements ClientRails {
    @Override
    public Optional<String> objection(ServerFrame offer) {
      return client.objection(offer);
    }

    @Override
    public void connect(int railIndex, RemoteQueuePair remote) throws IOException {
      RailEnd end = ends.get(railIndex);
      if (end == null) {
        return;
      }
      try {
        boolean unused =
            LocalStep.take(
                () -> {
                  end.connect(remote);
                  return true;
                },
                deadline,
                connected -> end.closeQuietly());
      } catch (TimeoutException e) {
        throw new IOException("the device did not connect its queue pair in time", e);
      }
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

  /** Undoes the connection because of a failure that is about to be thrown. */
  void closeAfter(Throwable failure) {
    closeAfter(failure, ends);
    hangUp();
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
