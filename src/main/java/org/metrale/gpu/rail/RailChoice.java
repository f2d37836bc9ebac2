package org.metrale.gpu.rail;

import java.util.List;

/**
 * Which rail a piece goes to: the one that would be done with it first, by what each has in flight
 * and how fast it has been. So rails carry in proportion to what they can, and a slow one does not
 * get the last piece.
 *
 * <p>If that rail has no room now, the piece waits for it, but for one exception: a rail that has
 * nothing to do takes a piece of a transfer with many, and now and then any piece, or it could
 * never show that it has become faster, or that it is dead. Of several such rails the one takes it
 * that has waited longest.
 */
final class RailChoice {
  /** One piece in so many goes to a rail that has nothing to do. */
  static final int TRIAL = 32;

  /** What is to be known of a rail. */
  interface Lane {
    boolean isActive();

    /** Whether nothing is in flight on it. */
    boolean isIdle();

    boolean hasRoom();

    /** How many pieces may be in flight on it. */
    int depth();

    RailRate rate();

    /** Its last turn, 0 if it had none. */
    long lastTurn();

    void takeTurn(long turn);
  }

  /** Counts choices; among equals each gets its turn. */
  private long turn;

  /**
   * The rail for a transfer's next piece; null if it has to wait.
   *
   * @param pieceBytes the piece's length
   * @param piecesLeft how many pieces of the transfer no rail has, with this one
   */
  <L extends Lane> L laneFor(List<L> lanes, long pieceBytes, long piecesLeft) {
    boolean isTrial = turn % TRIAL == 0;
    turn++;
    L chosen = longestIdle(lanes, isTrial ? Long.MAX_VALUE : piecesLeft);
    if (chosen == null) {
      L first = soonest(lanes, pieceBytes);
      chosen = first != null && first.hasRoom() ? first : null;
    }
    if (chosen != null) {
      chosen.takeTurn(turn);
    }
    return chosen;
  }

  /** Of the rails that have nothing to do and may take a piece all the same; null if none may. */
  private static <L extends Lane> L longestIdle(List<L> lanes, long piecesLeft) {
    L longest = null;
    for (int i = 0; i < lanes.size(); i++) {
      L lane = lanes.get(i);
      if (lane.isActive()
          && lane.isIdle()
          && piecesLeft > lane.depth()
          && (longest == null || lane.lastTurn() < longest.lastTurn())) {
        longest = lane;
      }
    }
    return longest;
  }

  private <L extends Lane> L soonest(List<L> lanes, long pieceBytes) {
    double otherwise = best(lanes);
    L first = null;
    double least = Double.MAX_VALUE;
    for (int i = 0; i < lanes.size(); i++) {
      L lane = lanes.get((int) ((turn + i) % lanes.size()));
      double nanos =
          lane.isActive() ? lane.rate().nanosFor(pieceBytes, otherwise) : Double.MAX_VALUE;
      if (nanos < least) {
        least = nanos;
        first = lane;
      }
    }
    return first;
  }

  /** The best known rate, for rails of which nothing is known. */
  private static double best(List<? extends Lane> lanes) {
    double best = 0;
    for (int i = 0; i < lanes.size(); i++) {
      best = Math.max(best, lanes.get(i).rate().bytesPerNano());
    }
    return best == 0 ? 1 : best;
  }
}
