package org.metrale.gpu.rail;

import org.metrale.gpu.wire.ClientRecord;
import org.metrale.gpu.wire.Gid;
import org.metrale.gpu.wire.RemoteQp;

/**
 * What the peer is to be told of one of this side's queue pairs.
 *
 * @param qpn the queue pair number, 24 bits
 * @param psn the first packet sequence number that this side sends with, 24 bits
 * @param gid the address of the port, not zero
 */
public record LocalQueuePair(int qpn, int psn, Gid gid) {
  /**
   * Checks the numbers.
   *
   * @param qpn the queue pair number, 24 bits
   * @param psn the first packet sequence number that this side sends with, 24 bits
   * @param gid the address of the port, not zero
   * @throws IllegalArgumentException if a number has more than 24 bits or the address is zero
   */
  public LocalQueuePair {
    RailPairing.requireUsable(new RemoteQp(qpn & 0xFFFF_FFFFL, psn & 0xFFFF_FFFFL, gid));
  }

  /**
   * The queue pair as the wire carries it.
   *
   * @return the value that goes into a server's record
   */
  public RemoteQp toWire() {
    return new RemoteQp(qpn, psn, gid);
  }

  /**
   * The queue pair as a client's record.
   *
   * @return the record
   */
  public ClientRecord toClientRecord() {
    return new ClientRecord(toWire());
  }
}
