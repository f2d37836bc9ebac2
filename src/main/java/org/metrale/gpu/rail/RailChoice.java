package org.metrale.gpu.rail;

import java.util.List;

/**
 * Which rail a piece goes to: the one that would be done with it first, by what each has in flight
 * and how fast it has been. So rails carry in proportion to what they can, and a slow one does not
 * get the last piece.
 *
 * <p>If that rail has no room now, the piece waits for it, but for one exception: a rail that has
 * nothing to do takes a piece of a transfer with many, and now and then any piece, or it could
 * never show that it has become faster, or that it is dead.
 */
final class RailChoice {
  /** One piece in so many goes to a rail that has nothing to do. */
  private static final int TRIAL = 32;

  /** Among equals each gets its turn. */
  private int next;

  /** The rail for a transfer's next piece; null if it has to wait. */
  RailLink linkFor(List<RailLink> links, RailTransfer transfer) {
    double otherwise = best(links);
    long bytes = transfer.nextPieceBytes();
    RailLink first = null;
    double least = Double.MAX_VALUE;
    boolean isTrial = next % TRIAL == 0;
    for (int i = 0; i < links.size(); i++) {
      RailLink link = links.get(Math.floorMod(next + i, links.size()));
      if (!link.isActive()) {
        continue;
      }
      if (link.isIdle() && (isTrial || transfer.piecesLeft() > link.depth())) {
        next++;
        return link;
      }
      double nanos = link.rate().nanosFor(bytes, otherwise);
      if (nanos < least) {
        least = nanos;
        first = link;
      }
    }
    next++;
    return first != null && first.hasRoom() ? first : null;
  }

  /** The best known rate, for rails of which nothing is known. */
  private static double best(List<RailLink> links) {
    double best = 0;
    for (int i = 0; i < links.size(); i++) {
      best = Math.max(best, links.get(i).rate().bytesPerNano());
    }
    return best == 0 ? 1 : best;
  }
}
