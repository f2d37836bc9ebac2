package org.metrale.tools;

import java.math.BigInteger;
import java.util.Locale;

/**
 * Which parts of a file are read in which order.
 *
 * @param blockBytes how many bytes a read has; the file's end may cut the last one
 * @param offsets where each read begins
 */
record GdsPattern(String title, long blockBytes, long[] offsets) {
  /** The golden ratio's inverse: steps of this part of the file come close to no earlier block. */
  private static final double STEP = 0.6180339887498949;

  /**
   * One block after the other from the beginning; as much as there is, at most {@code mostBytes}. A
   * file that is shorter than a block is one.
   *
   * @param mostBlockBytes how many bytes a read has at most
   */
  static GdsPattern sequential(long fileBytes, long mostBlockBytes, long mostBytes) {
    long bytes = Math.min(fileBytes, mostBytes);
    long blockBytes = Math.min(mostBlockBytes, Math.max(1, fileBytes));
    long[] offsets = new long[Math.toIntExact((bytes + blockBytes - 1) / blockBytes)];
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = i * blockBytes;
    }
    return new GdsPattern("sequential", blockBytes, offsets);
  }

  /**
   * Blocks all over the file, none twice, so that none comes out of the page cache; no reads if the
   * file is shorter than one block.
   */
  static GdsPattern random(long fileBytes, long blockBytes, int reads) {
    long blocks = fileBytes / blockBytes;
    long[] offsets = new long[(int) Math.min(blocks, reads)];
    long step = Math.max(1, (long) (blocks * STEP));
    while (blocks > 0 && BigInteger.valueOf(step).gcd(BigInteger.valueOf(blocks)).intValue() != 1) {
      step++;
    }
    long block = 0;
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = block * blockBytes;
      block = (block + step) % blocks;
    }
    return new GdsPattern("random", blockBytes, offsets);
  }

  int lengthAt(int read, long fileBytes) {
    return (int) Math.min(blockBytes, fileBytes - offsets[read]);
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%s, %d %s of %s",
        title,
        offsets.length,
        offsets.length == 1 ? "read" : "reads",
        Quantities.bytes(blockBytes));
  }
}
