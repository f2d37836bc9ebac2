package org.metrale.gpu.rail;

/**
 * A place in the peer's memory.
 *
 * @param region which of the regions that the peer offers, from 0
 * @param offset where in it, in bytes
 */
public record RailTarget(int region, long offset) {
  /**
   * Checks the numbers.
   *
   * @param region which of the regions that the peer offers, from 0
   * @param offset where in it, in bytes
   * @throws IllegalArgumentException if one is negative
   */
  public RailTarget {
    if (region < 0 || offset < 0) {
      throw new IllegalArgumentException("region " + region + ", offset " + offset);
    }
  }

  @Override
  public String toString() {
    return "region " + region + " offset " + offset;
  }
}
