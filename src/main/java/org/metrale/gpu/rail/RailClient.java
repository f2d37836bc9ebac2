package org.metrale.gpu.rail;

import com.google.errorprone.annotations.MustBeClosed;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.ServerFrame;

/**
 * How rails to one server are made: create the queue pairs, call, say the preamble, announce, look
 * at the offer, connect. Whatever fails on the way, nothing is left of it.
 *
 * <p>Immutable; each method that sets something answers another client.
 */
public final class RailClient {
  /** The longest piece of a transfer if nothing else is set. */
  public static final long DEFAULT_PIECE_BYTES = 1 << 20;

  /** What a handshake needs to know. */
  record Terms(
      String peer,
      RailDialer dialer,
      RailDialect dialect,
      RailPreamble preamble,
      Function<ServerFrame, Optional<String>> check,
      PacketNumbers numbers) {}

  private final Terms terms;
  private final boolean rebuilding;
  private final long pieceBytes;

  private RailClient(Terms terms, boolean rebuilding, long pieceBytes) {
    this.terms = terms;
    this.rebuilding = rebuilding;
    this.pieceBytes = pieceBytes;
  }

  /**
   * A client of the server at an address.
   *
   * @param address where the server listens
   * @param dialect the record format of its service
   * @return a client that says no preamble and takes any offer
   */
  public static RailClient to(InetSocketAddress address, RailDialect dialect) {
    return through(
        address.getHostString() + ":" + address.getPort(), RailDialer.tcp(address), dialect);
  }

  /**
   * A client of a server that is reached in a way of its own, such as TLS.
   *
   * @param peer the server's name, for messages
   * @param dialer how to reach it
   * @param dialect the record format of its service
   * @return a client that says no preamble and takes any offer
   */
  public static RailClient through(String peer, RailDialer dialer, RailDialect dialect) {
    Terms terms =
        new Terms(
            peer,
            dialer,
            dialect,
            RailPreamble.NONE,
            offer -> Optional.empty(),
            new PacketNumbers());
    // A read-only service offers the same bytes to every connection; others may not.
    return new RailClient(terms, dialect.equals(RailDialect.READ_ONLY), DEFAULT_PIECE_BYTES);
  }

  /**
   * The same with a preamble.
   *
   * @param preamble what is said before the handshake, each time
   * @return the client
   */
  public RailClient saying(RailPreamble preamble) {
    Terms other =
        new Terms(
            terms.peer(),
            terms.dialer(),
            terms.dialect(),
            preamble,
            terms.check(),
            terms.numbers());
    return new RailClient(other, rebuilding, pieceBytes);
  }

  /**
   * The same with a look at the offer before anything more is sent.
   *
   * @param check answers an objection, or nothing to go on; asked again when rails are rebuilt, and
   *     the offer may then be of the first rails only
   * @return the client
   */
  public RailClient checking(Function<ServerFrame, Optional<String>> check) {
    Terms other =
        new Terms(
            terms.peer(),
            terms.dialer(),
            terms.dialect(),
            terms.preamble(),
            check,
            terms.numbers());
    return new RailClient(other, rebuilding, pieceBytes);
  }

  /**
   * The same with or without rebuilding of rails that failed.
   *
   * <p>Rebuilding is a new handshake, and the peer may offer other memory in it. Set it for a
   * read-write service only if all connections share one memory: with an arena for each connection,
   * what was written before would be gone.
   *
   * @param rebuilds whether failed rails are rebuilt; true at first in the read-only dialect alone
   * @return the client
   */
  public RailClient rebuilding(boolean rebuilds) {
    return new RailClient(terms, rebuilds, pieceBytes);
  }

  /**
   * The same with another length of pieces.
   *
   * @param bytes the longest piece of a transfer, from 1
   * @return the client
   */
  public RailClient inPiecesOf(long bytes) {
    if (bytes < 1) {
      throw new IllegalArgumentException("bytes: wanted 1 or more, got " + bytes);
    }
    return new RailClient(terms, rebuilding, bytes);
  }

  /**
   * Connects.
   *
   * <p><b>Blocking:</b> until the deadline at the latest, and interruptible; only a driver that
   * looks up the peer's address may take longer.
   *
   * @param rails this side's rails, all of which are connected
   * @param timeout how long the whole may take
   * @return the connected rails
   * @throws HandshakeException if the handshake comes to nothing
   * @throws IOException if the server cannot be reached
   * @throws org.metrale.gpu.verbs.VerbsException if a queue pair cannot be made; nothing was sent
   *     then
   */
  @MustBeClosed
  public ConnectedRails connect(RailSet rails, Duration timeout) throws IOException {
    return ConnectedRails.connect(this, rails, Deadline.after(timeout));
  }

  Terms terms() {
    return terms;
  }

  boolean rebuilds() {
    return rebuilding;
  }

  long pieceBytes() {
    return pieceBytes;
  }

  @Override
  public String toString() {
    return "rail client of " + terms.peer();
  }
}
