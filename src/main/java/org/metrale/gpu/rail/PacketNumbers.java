package org.metrale.gpu.rail;

import java.security.SecureRandom;

/**
 * First packet sequence numbers that nobody can guess, fresh for every queue pair.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class PacketNumbers {
  private static final int BITS = 24;
  private final SecureRandom random;

  /** Draws from the platform's secure source. */
  public PacketNumbers() {
    this(new SecureRandom());
  }

  /**
   * Draws from a given source.
   *
   * @param random the source; shared, not copied
   */
  public PacketNumbers(SecureRandom random) {
    this.random = random;
  }

  /**
   * A new number.
   *
   * @return 24 random bits
   */
  public int next() {
    return random.nextInt(1 << BITS);
  }
}
