package org.metrale.gpu.rail;

/**
 * How a transfer is cut into pieces.
 *
 * <p>Rails take pieces as they have room, so each carries in proportion to what it can; the plan
 * only sees to it that there are enough pieces to share, that none is longer than a message may be,
 * and that short transfers are not cut at all.
 *
 * @param lengthBytes the whole transfer
 * @param pieceBytes the length of every piece but the last
 */
public record StripePlan(long lengthBytes, long pieceBytes) {
  /** Below this a piece costs more than sharing it brings. */
  static final long LEAST_PIECE_BYTES = 64 << 10;

  private static final long ALIGNMENT_BYTES = 4096;

  /**
   * The plan for a transfer.
   *
   * @param lengthBytes how much, from 1
   * @param rails how many rails may share it, from 1
   * @param chunkBytes the longest piece wanted
   * @param maxMessageBytes the longest piece possible
   * @return the plan
   * @throws IllegalArgumentException if a number is below 1
   */
  public static StripePlan of(long lengthBytes, int rails, long chunkBytes, long maxMessageBytes) {
    if (lengthBytes < 1 || rails < 1 || chunkBytes < 1 || maxMessageBytes < 1) {
      throw new IllegalArgumentException(
          lengthBytes + " bytes, " + rails + " rails, chunk " + chunkBytes);
    }
    long most = Math.min(chunkBytes, maxMessageBytes);
    long share = (lengthBytes - 1) / rails + 1;
    long even = (share + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    return new StripePlan(lengthBytes, Math.min(most, Math.max(LEAST_PIECE_BYTES, even)));
  }

  /**
   * How many pieces there are.
   *
   * @return 1 or more
   */
  public long pieces() {
    return (lengthBytes - 1) / pieceBytes + 1;
  }

  /**
   * The length of the piece that begins at an offset.
   *
   * @param offset 0 or a multiple of {@link #pieceBytes()}, below the length
   * @return bytes
   */
  public long pieceAt(long offset) {
    return Math.min(pieceBytes, lengthBytes - offset);
  }
}
