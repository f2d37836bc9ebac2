package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.metrale.gpu.wire.KvGeometry.Half;

/**
 * What keeps the keys of one client's key-value cache apart from all others on a shared server.
 *
 * <p>The namespace is the FNV-1a hash of twelve tagged fields, in this order:
 *
 * <pre>
 *   0    1       9    10      18
 *   +----+-------+----+-------+---
 *   |  0 | value |  1 | value | ... 12 times 9 bytes
 *   +----+-------+----+-------+---
 *
 *   0 version (1)          4 tokens a block     8 heads
 *   1 model fingerprint    5 head dimension     9 file system block, bytes
 *   2 KV domain            6 layers            10 stride, bytes
 *   3 element size, bytes  7 blocks            11 client salt
 * </pre>
 *
 * @param value the namespace, 64 bits, never 0
 */
public record KvNamespace(long value) {
  /** The version of the encoding, hashed with the rest. */
  public static final long VERSION = 1;

  /** What keeps key-value caches apart from other caches: {@code KV}, {@code PAGE}, 1. */
  public static final long DOMAIN = 0x4B56_5041_4745_0001L;

  private static final int FIELD_BYTES = 9;

  /**
   * Refuses 0, which would mix the keys of unrelated clients.
   *
   * @param value the namespace, 64 bits, never 0
   * @throws IllegalArgumentException if {@code value} is 0
   */
  public KvNamespace {
    if (value == 0) {
      throw new IllegalArgumentException("a namespace is never 0");
    }
  }

  /**
   * The namespace of a model, a geometry and a client.
   *
   * @param modelFingerprint what tells this model from others, 64 bits
   * @param geometry the cache's cut
   * @param clientSalt what tells this client from others of the same model, 64 bits
   * @return the namespace
   */
  public static KvNamespace of(long modelFingerprint, KvGeometry geometry, long clientSalt) {
    KvGeometry.Block block = geometry.block();
    long[] values = {
      VERSION,
      modelFingerprint,
      DOMAIN,
      block.elementBytes(),
      block.tokens(),
      block.headDimension(),
      geometry.layers(),
      geometry.blocks(),
      geometry.heads(),
      block.fileSystemBlockBytes(),
      block.strideBytes(),
      clientSalt
    };
    ByteBuffer fields = ByteBuffer.allocate(FIELD_BYTES * values.length);
    fields.order(ByteOrder.LITTLE_ENDIAN);
    for (int tag = 0; tag < values.length; tag++) {
      fields.put((byte) tag).putLong(values[tag]);
    }
    long hash = CacheKeys.fnv1a64(fields.flip());
    return new KvNamespace(hash == 0 ? CacheKeys.FNV_OFFSET_BASIS : hash);
  }

  /**
   * The key that a block is stored under.
   *
   * @param geometry the cache's cut
   * @param layerIndex the layer, from 0
   * @param blockIndex the block, from 0
   * @return the key as it is sent, 64 bits
   * @throws IndexOutOfBoundsException if an index is outside the geometry
   */
  public long key(KvGeometry geometry, int layerIndex, int blockIndex) {
    return CacheKeys.mix64(geometry.groupId(layerIndex, blockIndex, 0, Half.KEYS), value);
  }

  /**
   * The namespace in hexadecimal.
   *
   * @return a text such as {@code KvNamespace[0x74b402b0f4215375]}
   */
  @Override
  public String toString() {
    return "KvNamespace[0x" + Long.toHexString(value) + "]";
  }
}
