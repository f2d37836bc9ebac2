package org.metrale.gpu.rail;

import com.google.errorprone.annotations.MustBeClosed;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
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
      Supplier<List<Long>> regionBytes,
      PacketNumbers numbers) {
    private Terms saying(RailPreamble other) {
      return new Terms(peer, dialer, dialect, other, check, regionBytes, numbers);
    }

    private Terms checking(Function<ServerFrame, Optional<String>> other) {
      return new Terms(peer, dialer, dialect, preamble, other, regionBytes, numbers);
    }

    private Terms knowing(Supplier<List<Long>> other) {
      return new Terms(peer, dialer, dialect, preamble, check, other, numbers);
    }

    /** What speaks against an offer. */
    Optional<String> objection(ServerFrame offer) {
      int known = regionBytes.get().size();
      int offered = offer.rails().get(0).regions().size();
      return known == 0 || known == offered
          ? check.apply(offer)
          : Optional.of(offered + " regions, where " + known + " are known");
    }
  }

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
            List::of,
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
    return new RailClient(terms.saying(preamble), rebuilding, pieceBytes);
  }

  /**
   * The same with a look at the offer before anything more is sent.
   *
   * @param check answers an objection, or nothing to go on; asked again when rails are rebuilt, and
   *     the offer may then be of the first rails only
   * @return the client
   */
  public RailClient checking(Function<ServerFrame, Optional<String>> check) {
    return new RailClient(terms.checking(check), rebuilding, pieceBytes);
  }

  /**
   * The same with the lengths of the peer's regions, which the handshake does not tell: an offer of
   * another number of regions is declined, and a transfer beyond a region's end is refused before
   * anything is sent, instead of costing the rail that it would have been on.
   *
   * @param regionBytes answers the length of each region, in the offer's order; asked after the
   *     preamble, which may have told them. An empty list if they are not known
   * @return the client
   */
  public RailClient knowing(Supplier<List<Long>> regionBytes) {
    return new RailClient(terms.knowing(regionBytes), rebuilding, pieceBytes);
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
   * <p><b>Blocking:</b> until the deadline at the latest, also if a device of this side does not
   * answer, and a few seconds more to undo what was made; interruptible while it waits for the
   * peer.
   *
   * @param rails this side's rails, all of which are connected
   * @param timeout how long the whole may take
   * @return the connected rails
   * @throws HandshakeException if the handshake comes to nothing
   * @throws IOException if the server cannot be reached
   * @throws org.metrale.gpu.verbs.VerbsException if a queue pair cannot be made; nothing was sent
   *     then
   * @throws IllegalStateException if a device has no usable address, or is on InfiniBand; nothing
   *     was sent then either
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
