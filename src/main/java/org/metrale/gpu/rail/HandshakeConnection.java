package org.metrale.gpu.rail;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.rail.HandshakeEvent.Broken;
import org.metrale.gpu.rail.HandshakeEvent.Cancelled;
import org.metrale.gpu.rail.HandshakeEvent.Connected;
import org.metrale.gpu.rail.HandshakeEvent.Declined;
import org.metrale.gpu.rail.HandshakeEvent.Ended;
import org.metrale.gpu.rail.HandshakeEvent.Expired;
import org.metrale.gpu.rail.HandshakeEvent.LocalFault;
import org.metrale.gpu.rail.HandshakeEvent.Prepared;
import org.metrale.gpu.rail.HandshakeEvent.Received;
import org.metrale.gpu.rail.HandshakeEvent.Sent;
import org.metrale.gpu.wire.WireFormatException;

/**
 * A stream on which preambles and a rail handshake are held, all under the one deadline of its
 * terms.
 *
 * <p>A client sends and receives its service's preamble, then calls {@link #connect}; a server does
 * the reverse, then calls {@link #accept}. Exactly the bytes of each message are taken off the
 * stream, so whatever follows (paging operations) is left for its own reader.
 *
 * <p><b>Ownership:</b> any failure closes the transport. After success it stays open, and the
 * caller has it back.
 *
 * <p><b>Threading:</b> one thread at a time.
 *
 * <p><b>Blocking:</b> until the deadline at the latest, and interruptible: then the exception's
 * reason says so and the thread's interrupt flag is set. The callbacks are the exception: how long
 * they take is up to them, though a handshake that they made late fails.
 */
public final class HandshakeConnection {
  /** How far a buffer runs ahead of what has arrived: a length is only a claim. */
  private static final int GROWTH_BYTES = 64 << 10;

  private final HandshakeTransport transport;
  private final HandshakeTerms terms;

  /** When bytes last arrived: what came in time counts, also if the rest came too late. */
  private long arrivedNanos;

  private HandshakeConnection(HandshakeTransport transport, HandshakeTerms terms) {
    this.transport = Objects.requireNonNull(transport, "transport");
    this.terms = Objects.requireNonNull(terms, "terms");
  }

  /**
   * A connection on which nothing has been said yet.
   *
   * @param transport the stream; closed if anything fails
   * @param terms the peer's name, the service's dialect and the deadline
   * @return the connection
   */
  public static HandshakeConnection over(HandshakeTransport transport, HandshakeTerms terms) {
    return new HandshakeConnection(transport, terms);
  }

  /**
   * Sends one message of a preamble, with one write.
   *
   * @param message the whole message; its position is left alone
   * @throws HandshakeException if the connection breaks or the deadline passes
   */
  public void send(ByteBuffer message) throws HandshakeException {
    HandshakeEvent event = write(message);
    if (!(event instanceof Sent)) {
      throw closing(end(event, "preamble"));
    }
  }

  /**
   * Receives one message of a preamble.
   *
   * @param <T> what the message is
   * @param format how it is read
   * @return the message
   * @throws HandshakeException if the bytes are refused, the connection ends or breaks, or the
   *     deadline passes
   */
  public <T> T receive(MessageFormat<T> format) throws HandshakeException {
    ByteBuffer soFar = ByteBuffer.allocate(Long.BYTES);
    try {
      int missing = format.missing(soFar.duplicate().flip());
      while (missing > 0) {
        soFar = withRoom(soFar, missing);
        soFar.limit(soFar.position() + Math.min(missing, soFar.remaining()));
        Optional<HandshakeEvent> event = fill(soFar);
        if (event.isPresent()) {
          throw closing(end(event.get(), fieldDue(format, soFar.flip())));
        }
        missing = format.missing(soFar.duplicate().flip());
      }
      return format.decode(soFar.flip());
    } catch (WireFormatException e) {
      throw closing(terms.malformed(e));
    }
  }

  /**
   * Runs the client's half of the rail handshake.
   *
   * @param rails this side's queue pairs and how to connect them
   * @return the server's memory and queue pairs; both sides are connected
   * @throws HandshakeException if the handshake comes to nothing, for whatever reason
   * @throws IllegalArgumentException if there are no rails or too many; nothing has been sent
   */
  public ClientHandshake.Established connect(ClientRails rails) throws HandshakeException {
    try {
      ClientHandshake state = converse(ClientHandshake.begin(terms, rails.locals()));
      if (state instanceof ClientHandshake.JudgingOffer judging) {
        state = converse(state.on(judge(judging, rails), System.nanoTime()));
      }
      if (state instanceof ClientHandshake.Established established) {
        return established;
      }
      throw state.failure().orElseThrow();
    } catch (HandshakeException | RuntimeException | Error e) {
      closing(e);
      throw e;
    }
  }

  /**
   * Runs the server's half of the rail handshake.
   *
   * @param rails how to make this side's queue pairs and to connect them
   * @return the client's queue pairs; both sides are connected
   * @throws HandshakeException if the handshake comes to nothing, for whatever reason
   * @throws IllegalArgumentException if no rail is available, or {@code rails} prepares records of
   *     another dialect
   */
  public ServerHandshake.Established accept(ServerRails rails) throws HandshakeException {
    try {
      ServerHandshake state = converse(ServerHandshake.begin(terms, rails.available()));
      if (state instanceof ServerHandshake.Preparing preparing) {
        state = converse(state.on(prepare(preparing, rails), System.nanoTime()));
      }
      if (state instanceof ServerHandshake.Connecting connecting) {
        state =
            converse(state.on(connectAll(connecting.clients(), rails::connect), System.nanoTime()));
      }
      if (state instanceof ServerHandshake.Established established) {
        return established;
      }
      throw state.failure().orElseThrow();
    } catch (HandshakeException | RuntimeException | Error e) {
      closing(e);
      throw e;
    }
  }

  /** Connects one queue pair of either side. */
  @FunctionalInterface
  private interface Connect {
    void connect(int railIndex, RemoteQueuePair remote) throws IOException;
  }

  private static HandshakeEvent judge(ClientHandshake.JudgingOffer judging, ClientRails rails) {
    Optional<String> objection;
    try {
      objection = rails.objection(judging.offer());
    } catch (RuntimeException e) {
      return new LocalFault("looking at the offer", e);
    }
    return objection.isPresent()
        ? new Declined(objection.get())
        : connectAll(judging.servers(), rails::connect);
  }

  private static HandshakeEvent prepare(ServerHandshake.Preparing preparing, ServerRails rails) {
    try {
      return new Prepared(rails.prepare(preparing.rails()));
    } catch (IOException | RuntimeException e) {
      return new LocalFault("preparing " + preparing.rails() + " rails", e);
    }
  }

  private static HandshakeEvent connectAll(List<RemoteQueuePair> remotes, Connect connect) {
    for (int rail = 0; rail < remotes.size(); rail++) {
      try {
        connect.connect(rail, remotes.get(rail));
      } catch (IOException | RuntimeException e) {
        return new LocalFault("connecting rail[" + rail + "] of " + remotes.size(), e);
      }
    }
    return new Connected();
  }

  /** Sends and receives for as long as the state asks for either. */
  private <S extends HandshakeState<S>> S converse(S begin) {
    S state = begin;
    while (true) {
      Optional<ByteBuffer> flight = state.flight();
      int wantedBytes = state.wantedBytes();
      if (flight.isPresent()) {
        state = state.on(write(flight.get()), System.nanoTime());
      } else if (wantedBytes > 0) {
        state = listen(state, wantedBytes);
      } else {
        return state;
      }
    }
  }

  private <S extends HandshakeState<S>> S listen(S state, int wantedBytes) {
    ByteBuffer bytes = ByteBuffer.allocate(wantedBytes);
    Optional<HandshakeEvent> cutShort = fill(bytes);
    S told = state;
    if (bytes.flip().hasRemaining()) {
      told = state.on(new Received(bytes), arrivedNanos);
    }
    return cutShort.isEmpty() || told.isFinal() ? told : told.on(cutShort.get(), System.nanoTime());
  }

  /** Fills the buffer; answers the event that prevented it, if one did. */
  private Optional<HandshakeEvent> fill(ByteBuffer bytes) {
    try {
      while (bytes.hasRemaining()) {
        if (transport.read(bytes, terms.deadline()) < 0) {
          return Optional.of(new Ended());
        }
        arrivedNanos = System.nanoTime();
      }
      return Optional.empty();
    } catch (IOException e) {
      return Optional.of(new Broken(e));
    } catch (TimeoutException e) {
      return Optional.of(new Expired());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.of(new Cancelled());
    }
  }

  private HandshakeEvent write(ByteBuffer flight) {
    try {
      transport.write(flight.duplicate(), terms.deadline());
      return new Sent();
    } catch (IOException e) {
      return new Broken(e);
    } catch (TimeoutException e) {
      return new Expired();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new Cancelled();
    }
  }

  private HandshakeException end(HandshakeEvent event, String field) {
    return terms
        .ending(event, System.nanoTime(), () -> HandshakeTerms.endAt(field))
        .orElseThrow(() -> new IllegalStateException("unexpected " + event));
  }

  private static String fieldDue(MessageFormat<?> format, ByteBuffer soFar) {
    try {
      format.decode(soFar);
      return "preamble";
    } catch (WireFormatException e) {
      return e.field();
    }
  }

  /** The same bytes with room for some of the missing ones, doubling up to all of them. */
  private static ByteBuffer withRoom(ByteBuffer soFar, int missingBytes) {
    soFar.limit(soFar.capacity());
    if (soFar.remaining() >= Math.min(missingBytes, GROWTH_BYTES)) {
      return soFar;
    }
    int room = Math.min(missingBytes, Math.max(GROWTH_BYTES, soFar.capacity()));
    return ByteBuffer.allocate(soFar.position() + room).put(soFar.flip());
  }

  /** Closes the transport because of {@code failure}, which is then to be thrown. */
  private <E extends Throwable> E closing(E failure) {
    try {
      transport.close();
    } catch (IOException e) {
      failure.addSuppressed(e);
    }
    return failure;
  }
}
