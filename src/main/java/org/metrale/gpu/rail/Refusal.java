package org.metrale.gpu.rail;

import org.metrale.gpu.verbs.VerbsException;
import org.metrale.gpu.verbs.VerbsWorkException;
import org.metrale.gpu.verbs.VerbsWorkStatus;

/** What a request that was not done says of the piece that it was for. */
final class Refusal {
  private Refusal() {}

  /** Whether the peer answered and refused. */
  static boolean isPeers(VerbsWorkException cause) {
    return cause != null && cause.status().side().equals(VerbsWorkStatus.Side.PEER);
  }

  /**
   * Whether no other rail could do it. Other refusals may be about the connection: Soft-RoCE
   * answers a late packet with 9.
   */
  static boolean isCertain(VerbsWorkException cause) {
    return cause != null
        && (cause.status().equals(VerbsWorkStatus.LOCAL_PROTECTION)
            || cause.status().equals(VerbsWorkStatus.REMOTE_ACCESS)
            || cause.status().equals(VerbsWorkStatus.LOCAL_LENGTH));
  }

  /** Whether it may be this piece that is wrong, and not just the rail that it was on. */
  static boolean isOfThePiece(RailLink link, VerbsWorkException cause) {
    if (cause == null) {
      return link.fault().reason() instanceof VerbsException;
    }
    return !cause.status().equals(VerbsWorkStatus.FLUSHED)
        && !cause.status().side().equals(VerbsWorkStatus.Side.PATH);
  }
}
