package org.metrale.gpu.rail;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.metrale.gpu.rail.HandshakeException.Fault;
import org.metrale.gpu.rail.HandshakeException.Reason;
import org.metrale.gpu.wire.ClientRecord;
import org.metrale.gpu.wire.Region;
import org.metrale.gpu.wire.RemoteQp;
import org.metrale.gpu.wire.RwServerRecord;
import org.metrale.gpu.wire.ServerRecord;

/** The step from what the wire carries to what a queue pair can be connected to. */
public final class RailPairing {
  private static final long MAX_24_BITS = 0xFF_FFFF;

  private RailPairing() {}

  /**
   * The server's queue pairs, one for each of this client's.
   *
   * @param peer the server's name, for messages
   * @param records what the server told
   * @param localRails how many rails this side has
   * @return the queue pairs, in the order of the rails
   * @throws HandshakeException if the numbers of rails differ, a number has more than 24 bits, an
   *     address is zero, or a key is zero
   */
  public static List<RemoteQueuePair> withServer(
      String peer, List<? extends ServerRecord> records, int localRails) throws HandshakeException {
    requireSameNumber(peer, records.size(), localRails);
    List<RemoteQueuePair> pairs = new ArrayList<>(localRails);
    for (int rail = 0; rail < localRails; rail++) {
      ServerRecord record = records.get(rail);
      pairs.add(usable(peer, rail, record.remoteQp()));
      requireKeys(peer, rail, record);
    }
    return List.copyOf(pairs);
  }

  /**
   * The client's queue pairs, one for each of this server's.
   *
   * @param peer the client's name, for messages
   * @param records what the client told
   * @param localRails how many rails this side made
   * @return the queue pairs, in the order of the rails
   * @throws HandshakeException if the numbers of rails differ, a number has more than 24 bits, or
   *     an address is zero
   */
  public static List<RemoteQueuePair> withClient(
      String peer, List<ClientRecord> records, int localRails) throws HandshakeException {
    requireSameNumber(peer, records.size(), localRails);
    List<RemoteQueuePair> pairs = new ArrayList<>(localRails);
    for (int rail = 0; rail < localRails; rail++) {
      pairs.add(usable(peer, rail, records.get(rail).remoteQp()));
    }
    return List.copyOf(pairs);
  }

  static void requireUsable(RemoteQp qp) {
    Optional<Objection> objection = objection(qp);
    if (objection.isPresent()) {
      Objection o = objection.get();
      throw new IllegalArgumentException(o.field() + ": wanted " + o.wanted() + ", got " + o.got());
    }
  }

  private static void requireSameNumber(String peer, int records, int localRails)
      throws HandshakeException {
    if (records != localRails) {
      Fault fault =
          new Fault(
              Reason.PAIRING_MISMATCH,
              "rails",
              localRails + " (this side's)",
              records + " (the peer's)",
              "how many rails each side is configured with");
      throw new HandshakeException(peer, fault);
    }
  }

  private static RemoteQueuePair usable(String peer, int rail, RemoteQp qp)
      throws HandshakeException {
    Optional<Objection> objection = objection(qp);
    if (objection.isPresent()) {
      throw unusable(peer, rail, objection.get());
    }
    return new RemoteQueuePair((int) qp.qpn(), (int) qp.psn(), qp.gid());
  }

  private static void requireKeys(String peer, int rail, ServerRecord record)
      throws HandshakeException {
    List<Region> regions = record.regions();
    for (int i = 0; i < regions.size(); i++) {
      if (regions.get(i).rkey() == 0) {
        String field = record instanceof RwServerRecord ? "rkey" : "region[" + i + "].rkey";
        throw unusable(peer, rail, new Objection(field, "a key", "0"));
      }
    }
  }

  private static HandshakeException unusable(String peer, int rail, Objection o) {
    String field = "rail[" + rail + "]." + o.field();
    String hint = "the peer's device and its version";
    return new HandshakeException(
        peer, new Fault(Reason.UNUSABLE_RECORD, field, o.wanted(), o.got(), hint));
  }

  private static Optional<Objection> objection(RemoteQp qp) {
    if (qp.qpn() > MAX_24_BITS) {
      return Optional.of(new Objection("qpn", "24 bits", "0x" + Long.toHexString(qp.qpn())));
    }
    if (qp.psn() > MAX_24_BITS) {
      return Optional.of(new Objection("psn", "24 bits", "0x" + Long.toHexString(qp.psn())));
    }
    if (qp.gid().isZero()) {
      return Optional.of(new Objection("gid", "an address", "zero"));
    }
    return Optional.empty();
  }

  /** What is wrong with one field. */
  private record Objection(String field, String wanted, String got) {}
}
