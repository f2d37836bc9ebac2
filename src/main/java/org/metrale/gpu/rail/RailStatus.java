package org.metrale.gpu.rail;

/**
 * How a rail is doing. Taken while transfers go on, so that one number may be a moment ahead of
 * another.
 *
 * @param rail its number from 0
 * @param device the device's name
 * @param state whether it carries anything
 * @param carriedBytes how much it has carried since it was first connected
 * @param failures how often it has failed
 * @param lastFault what went wrong last, or an empty text
 */
public record RailStatus(
    int rail, String device, State state, long carriedBytes, long failures, String lastFault) {
  /** Whether a rail carries anything. */
  public enum State {
    /** In rotation. */
    ACTIVE,
    /** Out of rotation; what it has in flight is being given back. */
    FAILING,
    /** Out of rotation. */
    DOWN
  }
}
