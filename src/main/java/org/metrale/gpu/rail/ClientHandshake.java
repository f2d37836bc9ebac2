package org.metrale.gpu.rail;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.metrale.gpu.rail.HandshakeEvent.Connected;
import org.metrale.gpu.rail.HandshakeEvent.Declined;
import org.metrale.gpu.rail.HandshakeEvent.Received;
import org.metrale.gpu.rail.HandshakeEvent.Sent;
import org.metrale.gpu.rail.HandshakeException.Fault;
import org.metrale.gpu.rail.HandshakeException.Reason;
import org.metrale.gpu.wire.AckStatus;
import org.metrale.gpu.wire.ClientRailFrame;
import org.metrale.gpu.wire.RailCount;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.ServerFrame;
import org.metrale.gpu.wire.WireFormatException;

/**
 * The client's half of the rail handshake as a pure state machine: bytes and time are arguments,
 * and there is no socket, clock or thread inside.
 *
 * <pre>
 *   state          does                           event      next
 *   -------------  -----------------------------  ---------  ------------------------------------
 *   Announcing     sends the rail count           Sent       AwaitingOffer
 *   AwaitingOffer  reads the server's frame       Received   AwaitingOffer, JudgingOffer or Failed
 *   JudgingOffer   waits for this side to look    Connected  Answering
 *                  at the offer and connect       Declined   Failed (OFFER_REFUSED)
 *   Answering      sends the count and its        Sent       AwaitingAck
 *                  records
 *   AwaitingAck    reads the acknowledgement      Received   Established or Failed (ACK_REFUSED)
 *   Established    nothing: final
 *   Failed         nothing: final
 *
 *   any but the    Ended, Broken                  Failed (PEER_REJECTED before the first byte of
 *   final ones                                    the offer, else TRUNCATED)
 *                  Expired, or the deadline       Failed (DEADLINE_PASSED)
 *                  Cancelled                      Failed (INTERRUPTED)
 *                  LocalFault                     Failed (LOCAL_FAULT)
 *                  any other                      IllegalStateException
 * </pre>
 *
 * <p>The client's queue pairs are connected before the second flight is sent, so that a fault of
 * this side never leaves a server with connected rails that nobody will use. The bytes and their
 * order on the stream are the same either way.
 */
public sealed interface ClientHandshake extends HandshakeState<ClientHandshake> {
  /**
   * A handshake that has not begun; its queue pairs exist.
   *
   * @param terms what it is held under
   * @param rails this side's queue pairs, one per rail, 1 to 8
   * @return the first state
   * @throws IllegalArgumentException if the number of rails is impossible; the cause is what a
   *     reader of such a frame would say
   */
  static ClientHandshake begin(HandshakeTerms terms, List<LocalQueuePair> rails) {
    ByteBuffer announcement = new RailCount(rails.size()).encode().asReadOnlyBuffer();
    ClientRailFrame answer =
        new ClientRailFrame(rails.stream().map(LocalQueuePair::toClientRecord).toList());
    return new Announcing(terms, announcement, answer);
  }

  /**
   * About to say how many rails are wanted.
   *
   * @param terms what the handshake is held under
   * @param announcement the first flight
   * @param answer what the second flight will be
   */
  record Announcing(HandshakeTerms terms, ByteBuffer announcement, ClientRailFrame answer)
      implements ClientHandshake {
    /**
     * The first flight.
     *
     * @return a read-only view of its own
     */
    @Override
    public ByteBuffer announcement() {
      return announcement.duplicate();
    }

    @Override
    public Optional<ByteBuffer> flight() {
      return Optional.of(announcement());
    }

    @Override
    public ClientHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending =
          terms.ending(event, nowNanos, () -> HandshakeTerms.refusal(answer.rails().size()));
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Sent) {
        return new AwaitingOffer(terms, answer, HandshakeTerms.nothing());
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }
  }

  /**
   * Reading what the server offers.
   *
   * @param terms what the handshake is held under
   * @param answer what the second flight will be
   * @param soFar what has arrived of the server's frame
   */
  record AwaitingOffer(HandshakeTerms terms, ClientRailFrame answer, ByteBuffer soFar)
      implements ClientHandshake {
    /**
     * What has arrived.
     *
     * @return a read-only view of its own
     */
    @Override
    public ByteBuffer soFar() {
      return soFar.duplicate();
    }

    @Override
    public int wantedBytes() {
      try {
        return terms.dialect().missing(soFar, answer.rails().size());
      } catch (WireFormatException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public ClientHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending = terms.ending(event, nowNanos, this::due);
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Received received) {
        return take(HandshakeTerms.join(soFar, received.bytes(), wantedBytes()));
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }

    private ClientHandshake take(ByteBuffer bytes) {
      int wanted = answer.rails().size();
      try {
        if (terms.dialect().missing(bytes, wanted) > 0) {
          return new AwaitingOffer(terms, answer, bytes);
        }
        ServerFrame offer = terms.dialect().decode(bytes, wanted);
        return new JudgingOffer(
            terms, answer, offer, RailPairing.withServer(terms.peer(), offer.rails(), wanted));
      } catch (WireFormatException e) {
        return new Failed(terms.malformed(e));
      } catch (HandshakeException e) {
        return new Failed(e);
      }
    }

    /** What it amounts to if the connection ends now: decoding what there is names the field. */
    private Fault due() {
      int wanted = answer.rails().size();
      if (!soFar.hasRemaining()) {
        return HandshakeTerms.refusal(wanted);
      }
      try {
        terms.dialect().decode(soFar, wanted);
        return HandshakeTerms.endAt("railCount");
      } catch (WireFormatException e) {
        return HandshakeTerms.endAt(e.field());
      }
    }
  }

  /**
   * Waiting for this side to look at the offer and to connect its queue pairs.
   *
   * @param terms what the handshake is held under
   * @param answer what the second flight will be
   * @param offer what the server offers
   * @param servers the server's queue pairs, one for each of this side's
   */
  record JudgingOffer(
      HandshakeTerms terms,
      ClientRailFrame answer,
      ServerFrame offer,
      List<RemoteQueuePair> servers)
      implements ClientHandshake {
    @Override
    public ClientHandshake on(HandshakeEvent event, long nowNanos) {
      if (event instanceof Declined declined) {
        return new Failed(declined(declined.objection()));
      }
      Optional<HandshakeException> ending =
          terms.ending(event, nowNanos, () -> HandshakeTerms.endAt("offer"));
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Connected) {
        ByteBuffer flight = answer.encode().asReadOnlyBuffer();
        return new Answering(terms, flight, offer, servers);
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }

    private HandshakeException declined(String objection) {
      String hint = "whether both sides mean the same model or cache";
      String wanted = "what this side expects";
      return new HandshakeException(
          terms.peer(), new Fault(Reason.OFFER_REFUSED, "offer", wanted, objection, hint));
    }
  }

  /**
   * About to tell the server of this side's queue pairs.
   *
   * @param terms what the handshake is held under
   * @param answer the second flight
   * @param offer what the server offers
   * @param servers the server's queue pairs
   */
  record Answering(
      HandshakeTerms terms, ByteBuffer answer, ServerFrame offer, List<RemoteQueuePair> servers)
      implements ClientHandshake {
    /**
     * The second flight.
     *
     * @return a read-only view of its own
     */
    @Override
    public ByteBuffer answer() {
      return answer.duplicate();
    }

    @Override
    public Optional<ByteBuffer> flight() {
      return Optional.of(answer());
    }

    @Override
    public ClientHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending =
          terms.ending(event, nowNanos, () -> HandshakeTerms.endAt("ack"));
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Sent) {
        return new AwaitingAck(terms, offer, servers);
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }
  }

  /**
   * Reading whether the server's rails are connected.
   *
   * @param terms what the handshake is held under
   * @param offer what the server offers
   * @param servers the server's queue pairs
   */
  record AwaitingAck(HandshakeTerms terms, ServerFrame offer, List<RemoteQueuePair> servers)
      implements ClientHandshake {
    @Override
    public int wantedBytes() {
      return AckStatus.BYTES;
    }

    @Override
    public ClientHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending =
          terms.ending(event, nowNanos, () -> HandshakeTerms.endAt("ack"));
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Received received) {
        return take(
            HandshakeTerms.join(HandshakeTerms.nothing(), received.bytes(), AckStatus.BYTES));
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }

    private ClientHandshake take(ByteBuffer bytes) {
      try {
        AckStatus ack = AckStatus.decode(bytes);
        if (ack.isOk()) {
          return new Established(offer, servers);
        }
        String got = ack.code() + " (" + ack + ")";
        String hint =
            "the peer's log: its device could not connect to this side's"
                + (terms.dialect().equals(RailDialect.READ_WRITE)
                    ? "; or it serves read-only, which nothing on the wire tells apart"
                    : "");
        Fault fault = new Fault(Reason.ACK_REFUSED, "ack", "0 (OK)", got, hint);
        return new Failed(new HandshakeException(terms.peer(), fault));
      } catch (WireFormatException e) {
        return new Failed(terms.malformed(e));
      }
    }
  }

  /**
   * Both sides are connected; transfers may begin.
   *
   * @param offer the memory that the server offers
   * @param servers the server's queue pairs, in the order of the rails
   */
  record Established(ServerFrame offer, List<RemoteQueuePair> servers) implements ClientHandshake {
    /**
     * Copies the list.
     *
     * @param offer the memory that the server offers
     * @param servers the server's queue pairs, in the order of the rails
     */
    public Established {
      Objects.requireNonNull(offer, "offer");
      servers = List.copyOf(servers);
    }

    @Override
    public ClientHandshake on(HandshakeEvent event, long nowNanos) {
      throw HandshakeTerms.outOfOrder(this, event);
    }

    @Override
    public boolean isFinal() {
      return true;
    }
  }

  /**
   * The handshake came to nothing.
   *
   * @param cause why
   */
  record Failed(HandshakeException cause) implements ClientHandshake {
    /**
     * Refuses null.
     *
     * @param cause why
     */
    public Failed {
      Objects.requireNonNull(cause, "cause");
    }

    @Override
    public Optional<HandshakeException> failure() {
      return Optional.of(cause);
    }

    @Override
    public ClientHandshake on(HandshakeEvent event, long nowNanos) {
      throw HandshakeTerms.outOfOrder(this, event);
    }

    @Override
    public boolean isFinal() {
      return true;
    }
  }
}
