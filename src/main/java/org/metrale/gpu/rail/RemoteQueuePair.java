package org.metrale.gpu.rail;

import org.metrale.gpu.wire.Gid;
import org.metrale.gpu.wire.RemoteQp;

/**
 * A queue pair of the peer that one of this side's can be connected to.
 *
 * @param qpn the queue pair number, 24 bits
 * @param psn the first packet sequence number that the peer sends with, 24 bits
 * @param gid the address of the peer's port, not zero
 */
public record RemoteQueuePair(int qpn, int psn, Gid gid) {
  /**
   * Checks the numbers.
   *
   * @param qpn the queue pair number, 24 bits
   * @param psn the first packet sequence number that the peer sends with, 24 bits
   * @param gid the address of the peer's port, not zero
   * @throws IllegalArgumentException if a number has more than 24 bits or the address is zero
   */
  public RemoteQueuePair {
    RailPairing.requireUsable(new RemoteQp(qpn & 0xFFFF_FFFFL, psn & 0xFFFF_FFFFL, gid));
  }
}
