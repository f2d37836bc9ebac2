package org.metrale.gpu.rail;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.metrale.gpu.rail.HandshakeEvent.Connected;
import org.metrale.gpu.rail.HandshakeEvent.LocalFault;
import org.metrale.gpu.rail.HandshakeEvent.Prepared;
import org.metrale.gpu.rail.HandshakeEvent.Received;
import org.metrale.gpu.rail.HandshakeEvent.Sent;
import org.metrale.gpu.rail.HandshakeException.Fault;
import org.metrale.gpu.rail.HandshakeException.Reason;
import org.metrale.gpu.wire.AckStatus;
import org.metrale.gpu.wire.ClientRailFrame;
import org.metrale.gpu.wire.RailCount;
import org.metrale.gpu.wire.ServerFrame;
import org.metrale.gpu.wire.WireCounts;
import org.metrale.gpu.wire.WireFormatException;

/**
 * The server's half of the rail handshake as a pure state machine: bytes and time are arguments,
 * and there is no socket, clock or thread inside.
 *
 * <pre>
 *   state           does                           event       next
 *   --------------  -----------------------------  ----------  ------------------------------------
 *   AwaitingCount   reads the rail count           Received    Preparing or Failed
 *                                                              (RAILS_UNAVAILABLE)
 *   Preparing       waits for this side's queue    Prepared    Offering or Failed
 *                   pairs and memory                           (PAIRING_MISMATCH, LOCAL_FAULT)
 *   Offering        sends its frame                Sent        AwaitingAnswer
 *   AwaitingAnswer  reads the client's frame       Received    AwaitingAnswer, Connecting, Refusing
 *                                                              (UNUSABLE_RECORD) or Failed
 *   Connecting      waits for this side to         Connected   Acknowledging
 *                   connect                        LocalFault  Refusing (LOCAL_FAULT)
 *   Acknowledging   sends OK                       Sent        Established
 *   Refusing        sends ERR                      any         Failed, for the reason it had
 *   Established     nothing: final
 *   Failed          nothing: final
 *
 *   any other, but  Ended, Broken                  Failed (TRUNCATED)
 *   the final ones  Expired, or the deadline       Failed (DEADLINE_PASSED)
 *                   Cancelled                      Failed (INTERRUPTED)
 *                   LocalFault                     Failed (LOCAL_FAULT)
 *                   any other                      IllegalStateException
 * </pre>
 *
 * <p>A refusal can be told only where the client reads an acknowledgement: after its whole frame.
 * Before that the format has no place for one, and closing the connection is all that there is.
 */
public sealed interface ServerHandshake extends HandshakeState<ServerHandshake> {
  /**
   * A handshake that has not begun.
   *
   * @param terms what it is held under
   * @param availableRails how many rails this server has; a client may ask for 1 up to this many,
   *     and never for more than {@link WireCounts#MAX_RAILS}
   * @return the first state
   * @throws IllegalArgumentException if there is no rail
   */
  static ServerHandshake begin(HandshakeTerms terms, int availableRails) {
    if (availableRails < 1) {
      throw new IllegalArgumentException("availableRails: wanted 1 or more, got " + availableRails);
    }
    return new AwaitingCount(terms, Math.min(availableRails, WireCounts.MAX_RAILS));
  }

  /**
   * Reading how many rails the client wants.
   *
   * @param terms what the handshake is held under
   * @param availableRails how many it may have
   */
  record AwaitingCount(HandshakeTerms terms, int availableRails) implements ServerHandshake {
    @Override
    public int wantedBytes() {
      return RailCount.BYTES;
    }

    @Override
    public ServerHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending =
          terms.ending(event, nowNanos, () -> HandshakeTerms.endAt("railCount"));
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Received received) {
        return take(
            HandshakeTerms.join(HandshakeTerms.nothing(), received.bytes(), RailCount.BYTES));
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }

    private ServerHandshake take(ByteBuffer bytes) {
      try {
        int rails = RailCount.decode(bytes).rails();
        if (rails >= WireCounts.MIN_RAILS && rails <= availableRails) {
          return new Preparing(terms, rails);
        }
        Fault fault =
            new Fault(
                Reason.RAILS_UNAVAILABLE,
                "railCount",
                WireCounts.MIN_RAILS + " to " + availableRails,
                Integer.toString(rails),
                "how many rails each side is configured with");
        return new Failed(new HandshakeException(terms.peer(), fault));
      } catch (WireFormatException e) {
        return new Failed(terms.malformed(e));
      }
    }
  }

  /**
   * Waiting for this side to make queue pairs and to register memory.
   *
   * @param terms what the handshake is held under
   * @param rails how many rails the client wants
   */
  record Preparing(HandshakeTerms terms, int rails) implements ServerHandshake {
    @Override
    public ServerHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending =
          terms.ending(event, nowNanos, () -> HandshakeTerms.endAt("railCount"));
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Prepared prepared) {
        return take(prepared.offer());
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }

    /** What this side made has to satisfy what this side asks of others. */
    private ServerHandshake take(ServerFrame offer) {
      if (offer.dialect() != terms.dialect()) {
        throw new IllegalArgumentException(
            "offer: wanted " + terms.dialect() + ", got " + offer.dialect());
      }
      try {
        RailPairing.withServer(terms.peer(), offer.rails(), rails);
        return new Offering(terms, rails, offer.encode().asReadOnlyBuffer());
      } catch (HandshakeException e) {
        if (e.reason() == Reason.PAIRING_MISMATCH) {
          return new Failed(e);
        }
        LocalFault fault = new LocalFault("preparing " + e.field(), e);
        return on(fault, terms.deadline().nanoTime());
      }
    }
  }

  /**
   * About to tell the client of this side's queue pairs and memory.
   *
   * @param terms what the handshake is held under
   * @param rails how many rails there are
   * @param offer the flight
   */
  record Offering(HandshakeTerms terms, int rails, ByteBuffer offer) implements ServerHandshake {
    /**
     * The flight.
     *
     * @return a read-only view of its own
     */
    @Override
    public ByteBuffer offer() {
      return offer.duplicate();
    }

    @Override
    public Optional<ByteBuffer> flight() {
      return Optional.of(offer());
    }

    @Override
    public ServerHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending =
          terms.ending(event, nowNanos, () -> HandshakeTerms.endAt("railCount"));
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Sent) {
        return new AwaitingAnswer(terms, rails, HandshakeTerms.nothing());
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }
  }

  /**
   * Reading the client's queue pairs.
   *
   * @param terms what the handshake is held under
   * @param rails how many rails there are
   * @param soFar what has arrived of the client's frame
   */
  record AwaitingAnswer(HandshakeTerms terms, int rails, ByteBuffer soFar)
      implements ServerHandshake {
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
        return ClientRailFrame.missing(soFar, rails);
      } catch (WireFormatException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public ServerHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending = terms.ending(event, nowNanos, this::due);
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Received received) {
        return take(HandshakeTerms.join(soFar, received.bytes(), wantedBytes()));
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }

    private ServerHandshake take(ByteBuffer bytes) {
      try {
        if (ClientRailFrame.missing(bytes, rails) > 0) {
          return new AwaitingAnswer(terms, rails, bytes);
        }
        ClientRailFrame answer = ClientRailFrame.decode(bytes, rails);
        return new Connecting(terms, RailPairing.withClient(terms.peer(), answer.rails(), rails));
      } catch (WireFormatException e) {
        return new Failed(terms.malformed(e));
      } catch (HandshakeException e) {
        return new Refusing(e);
      }
    }

    private Fault due() {
      try {
        ClientRailFrame.decode(soFar, rails);
        return HandshakeTerms.endAt("railCount");
      } catch (WireFormatException e) {
        return HandshakeTerms.endAt(e.field());
      }
    }
  }

  /**
   * Waiting for this side to connect its queue pairs.
   *
   * @param terms what the handshake is held under
   * @param clients the client's queue pairs, one for each of this side's
   */
  record Connecting(HandshakeTerms terms, List<RemoteQueuePair> clients)
      implements ServerHandshake {
    @Override
    public ServerHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending =
          terms.ending(event, nowNanos, () -> HandshakeTerms.endAt("ack"));
      if (ending.isPresent()) {
        return event instanceof LocalFault ? new Refusing(ending.get()) : new Failed(ending.get());
      }
      if (event instanceof Connected) {
        return new Acknowledging(terms, clients);
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }
  }

  /**
   * About to say that all rails can receive.
   *
   * @param terms what the handshake is held under
   * @param clients the client's queue pairs
   */
  record Acknowledging(HandshakeTerms terms, List<RemoteQueuePair> clients)
      implements ServerHandshake {
    @Override
    public Optional<ByteBuffer> flight() {
      return Optional.of(AckStatus.OK.encode());
    }

    @Override
    public ServerHandshake on(HandshakeEvent event, long nowNanos) {
      Optional<HandshakeException> ending =
          terms.ending(event, nowNanos, () -> HandshakeTerms.endAt("ack"));
      if (ending.isPresent()) {
        return new Failed(ending.get());
      }
      if (event instanceof Sent) {
        return new Established(clients);
      }
      throw HandshakeTerms.outOfOrder(this, event);
    }
  }

  /**
   * About to tell the client that there will be no rails.
   *
   * @param cause why, which stays on this side
   */
  record Refusing(HandshakeException cause) implements ServerHandshake {
    @Override
    public Optional<ByteBuffer> flight() {
      return Optional.of(AckStatus.ERR.encode());
    }

    @Override
    public ServerHandshake on(HandshakeEvent event, long nowNanos) {
      if (event instanceof Received || event instanceof Prepared || event instanceof Connected) {
        throw HandshakeTerms.outOfOrder(this, event);
      }
      return new Failed(cause);
    }
  }

  /**
   * Both sides are connected; the client may begin at any moment.
   *
   * @param clients the client's queue pairs, in the order of the rails
   */
  record Established(List<RemoteQueuePair> clients) implements ServerHandshake {
    /**
     * Copies the list.
     *
     * @param clients the client's queue pairs, in the order of the rails
     */
    public Established {
      clients = List.copyOf(clients);
    }

    @Override
    public ServerHandshake on(HandshakeEvent event, long nowNanos) {
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
  record Failed(HandshakeException cause) implements ServerHandshake {
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
    public ServerHandshake on(HandshakeEvent event, long nowNanos) {
      throw HandshakeTerms.outOfOrder(this, event);
    }

    @Override
    public boolean isFinal() {
      return true;
    }
  }
}
