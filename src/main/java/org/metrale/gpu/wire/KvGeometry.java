package org.metrale.gpu.wire;

import java.util.Objects;

/**
 * How a key-value cache is cut into groups: one group per layer, block, head and kind (keys or
 * values).
 *
 * @param layers the number of layers
 * @param blocks the number of blocks in a layer
 * @param heads the number of key-value heads
 * @param block what one head keeps of one block
 */
public record KvGeometry(int layers, int blocks, int heads, Block block) {
  /**
   * What one head keeps of one block.
   *
   * @param tokens the number of tokens in a block
   * @param headDimension the number of elements of one head and token
   * @param elementBytes the size of an element in bytes
   * @param fileSystemBlockBytes what a group is rounded up to, in bytes
   */
  public record Block(int tokens, int headDimension, int elementBytes, long fileSystemBlockBytes) {
    /**
     * Checks that nothing is empty and the stride fits 63 bits.
     *
     * @param tokens the number of tokens in a block
     * @param headDimension the number of elements of one head and token
     * @param elementBytes the size of an element in bytes
     * @param fileSystemBlockBytes what a group is rounded up to, in bytes
     * @throws IllegalArgumentException if a number is not positive
     * @throws ArithmeticException if the stride would not fit
     */
    public Block {
      positive("tokens", tokens);
      positive("headDimension", headDimension);
      positive("elementBytes", elementBytes);
      positive("fileSystemBlockBytes", fileSystemBlockBytes);
      stride(tokens, headDimension, elementBytes, fileSystemBlockBytes);
    }

    /**
     * The distance between two groups.
     *
     * @return tokens times dimension times element size, rounded up to the file system's block
     */
    public long strideBytes() {
      return stride(tokens, headDimension, elementBytes, fileSystemBlockBytes);
    }

    private static long stride(int tokens, int dimension, int elementBytes, long roundTo) {
      long exact = Math.multiplyExact(Math.multiplyExact((long) tokens, dimension), elementBytes);
      return Math.multiplyExact(Math.addExact(exact, roundTo - 1) / roundTo, roundTo);
    }
  }

  /** Which half of the cache a group is in. */
  public enum Half {
    /** The keys. */
    KEYS(0),
    /** The values. */
    VALUES(1);

    private final int code;

    Half(int code) {
      this.code = code;
    }
  }

  /**
   * Checks that nothing is empty.
   *
   * @param layers the number of layers
   * @param blocks the number of blocks in a layer
   * @param heads the number of key-value heads
   * @param block what one head keeps of one block
   * @throws IllegalArgumentException if a number is not positive
   */
  public KvGeometry {
    positive("layers", layers);
    positive("blocks", blocks);
    positive("heads", heads);
    Objects.requireNonNull(block, "block");
  }

  /**
   * The number of a group, which times the stride is its place in a raw arena.
   *
   * @param layerIndex the layer, from 0
   * @param blockIndex the block, from 0
   * @param headIndex the head, from 0
   * @param half keys or values
   * @return the group's number, from 0
   * @throws IndexOutOfBoundsException if an index is outside this geometry
   * @throws ArithmeticException if the number does not fit 63 bits
   */
  public long groupId(int layerIndex, int blockIndex, int headIndex, Half half) {
    Objects.checkIndex(layerIndex, layers);
    Objects.checkIndex(blockIndex, blocks);
    Objects.checkIndex(headIndex, heads);
    long before = Math.addExact(Math.multiplyExact((long) layerIndex, blocks), blockIndex);
    long halves = Math.addExact(Math.multiplyExact(before, 2), half.code);
    return Math.addExact(Math.multiplyExact(halves, heads), headIndex);
  }

  /**
   * The size of a raw arena for the whole cache.
   *
   * @return the size in bytes
   * @throws ArithmeticException if it does not fit 63 bits
   */
  public long arenaBytes() {
    long groups = Math.multiplyExact(Math.multiplyExact((long) layers, blocks), 2L * heads);
    return Math.multiplyExact(groups, block.strideBytes());
  }

  /**
   * The size of a slot of the paging cache: all groups of one layer and block.
   *
   * @return the size in bytes
   * @throws ArithmeticException if it does not fit 63 bits
   */
  public long blobBytes() {
    return Math.multiplyExact(2L * heads, block.strideBytes());
  }

  private static void positive(String field, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(field + ": wanted 1 or more, got " + value);
    }
  }
}
