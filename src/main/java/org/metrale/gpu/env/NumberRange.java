package org.metrale.gpu.env;

/**
 * The numbers that a setting may have.
 *
 * @param least the least, 0 or more
 * @param greatest the greatest, at most 2<sup>32</sup>-1
 */
public record NumberRange(long least, long greatest) {
  /** Every unsigned 32-bit number. */
  public static final NumberRange U32 = new NumberRange(0, Numbers.MAX_U32);

  /** Every index into a port's GID table, which has at most 256 entries. */
  public static final NumberRange GID_INDEX = new NumberRange(0, 255);

  /**
   * Checks the bounds.
   *
   * @param least the least, 0 or more
   * @param greatest the greatest, at most 2<sup>32</sup>-1
   * @throws IllegalArgumentException if a bound is not an unsigned 32-bit number, or they are the
   *     wrong way round
   */
  public NumberRange {
    Numbers.requireU32("least", least);
    Numbers.requireU32("greatest", greatest);
    if (least > greatest) {
      throw new IllegalArgumentException("least " + least + " is above greatest " + greatest);
    }
  }

  /**
   * Whether a number is allowed.
   *
   * @param number the number
   * @return true if it is from least to greatest, both included
   */
  public boolean contains(long number) {
    return least <= number && number <= greatest;
  }

  /**
   * The range in words.
   *
   * @return a text such as {@code a number from 1 to 128}
   */
  @Override
  public String toString() {
    return "a number from " + least + " to " + greatest;
  }
}
