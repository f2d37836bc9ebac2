package org.metrale.gpu.verbs;

import java.util.Objects;

/**
 * The queue pair at the other end.
 *
 * @param queuePairNumber its number, 24 bits
 * @param packetNumber the first packet number that it sends with, 24 bits
 * @param gid the address of its port; zero if the peer is reached by {@code lid} alone
 * @param lid the local identifier of its port; 0 with RoCE
 */
public record VerbsRemote(int queuePairNumber, int packetNumber, VerbsGid gid, int lid) {
  /**
   * Checks the numbers.
   *
   * @param queuePairNumber its number, 24 bits
   * @param packetNumber the first packet number that it sends with, 24 bits
   * @param gid the address of its port
   * @param lid the local identifier of its port
   * @throws IllegalArgumentException if a number does not fit, or there is no address
   */
  public VerbsRemote {
    Objects.requireNonNull(gid, "gid");
    if (queuePairNumber >>> 24 != 0 || packetNumber >>> 24 != 0 || lid >>> 16 != 0) {
      throw new IllegalArgumentException(
          "number " + queuePairNumber + ", packet number " + packetNumber + ", lid " + lid);
    }
    if (gid.isZero() && lid == 0) {
      throw new IllegalArgumentException("neither a GID nor a LID");
    }
  }

  /** The address; packet numbers are nobody's business. */
  @Override
  public String toString() {
    return "queue pair " + queuePairNumber + " at " + gid + (lid == 0 ? "" : ", lid " + lid);
  }
}
