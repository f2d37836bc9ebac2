package org.metrale.gpu.wire;

import java.util.Objects;

/**
 * What both sides tell of a queue pair, exactly as the wire carries it.
 *
 * @param qpn the queue pair number's field, 0 to 2<sup>32</sup>-1; a real one has 24 bits
 * @param psn the first packet sequence number's field, 0 to 2<sup>32</sup>-1; a real one has 24
 *     bits
 * @param gid the port's address
 */
public record RemoteQp(long qpn, long psn, Gid gid) {
  /**
   * Checks that the numbers fit their fields.
   *
   * @param qpn the queue pair number's field, 0 to 2<sup>32</sup>-1; a real one has 24 bits
   * @param psn the first packet sequence number's field, 0 to 2<sup>32</sup>-1; a real one has 24
   *     bits
   * @param gid the port's address
   * @throws IllegalArgumentException if {@code qpn} or {@code psn} is not an unsigned 32-bit value
   */
  public RemoteQp {
    WireCounts.u32("qpn", qpn);
    WireCounts.u32("psn", psn);
    Objects.requireNonNull(gid, "gid");
  }
}
