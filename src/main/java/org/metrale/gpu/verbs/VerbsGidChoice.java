package org.metrale.gpu.verbs;

import java.util.List;
import java.util.Optional;

/**
 * Which entry of a GID table a connection should use, and why.
 *
 * <p>The order: RoCE v2 with a routable IPv4 address, RoCE v2 with a routable IPv6 address, RoCE v2
 * with a link-local one, InfiniBand, RoCE v1; among equals the lowest index. An index that was
 * right on one machine or yesterday may be wrong on another or today, so the choice is made from
 * the table each time.
 *
 * @param entry the entry chosen
 * @param reason why, in words
 */
public record VerbsGidChoice(VerbsGidEntry entry, String reason) {
  /**
   * Chooses from a table.
   *
   * @param table the entries of one port, empty ones may be among them
   * @return the choice, or empty if no entry can be used
   */
  public static Optional<VerbsGidChoice> of(List<VerbsGidEntry> table) {
    VerbsGidEntry best = null;
    for (VerbsGidEntry entry : table) {
      if (!entry.gid().isZero() && (best == null || rank(entry) < rank(best))) {
        best = entry;
      }
    }
    return Optional.ofNullable(best).map(entry -> new VerbsGidChoice(entry, reason(entry, table)));
  }

  private static int rank(VerbsGidEntry entry) {
    if (entry.type().equals(VerbsGidType.ROCE_V2)) {
      if (entry.gid().isLinkLocal()) {
        return 2;
      }
      return entry.gid().isIpv4() ? 0 : 1;
    }
    if (entry.type().equals(VerbsGidType.INFINIBAND)) {
      return 3;
    }
    return entry.type().equals(VerbsGidType.ROCE_V1) ? 5 : 4;
  }

  private static String reason(VerbsGidEntry best, List<VerbsGidEntry> table) {
    String what =
        switch (rank(best)) {
          case 0 -> "RoCE v2 with a routable IPv4 address";
          case 1 -> "RoCE v2 with a routable IPv6 address; no IPv4 address is there";
          case 2 -> "RoCE v2, but link-local: reaches peers on the same link only";
          case 3 -> "InfiniBand";
          case 4 -> "the kernel does not say which protocol it is for";
          default -> "RoCE v1: cannot be routed; nothing better is there";
        };
    long equals =
        table.stream().filter(entry -> !entry.gid().isZero() && rank(entry) == rank(best)).count();
    return equals > 1 ? what + "; the first of " + equals : what;
  }
}
