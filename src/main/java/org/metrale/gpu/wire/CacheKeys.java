package org.metrale.gpu.wire;

import java.nio.ByteBuffer;

/**
 * The hash functions behind the keys of the paging cache.
 *
 * <p>Keys outlive the client that made them, in the server's swap file, so these functions must
 * give the same numbers everywhere and for ever. They separate caches of one owner's models; they
 * are no protection against somebody who picks inputs that collide.
 */
public final class CacheKeys {
  /** What FNV-1a begins with, and the hash of no bytes. */
  public static final long FNV_OFFSET_BASIS = 0xcbf2_9ce4_8422_2325L;

  private static final long FNV_PRIME = 0x100_0000_01b3L;
  private static final long GOLDEN_RATIO = 0x9E37_79B9_7F4A_7C15L;
  private static final long SPLITMIX_FIRST = 0xBF58_476D_1CE4_E5B9L;
  private static final long SPLITMIX_SECOND = 0x94D0_49BB_1331_11EBL;

  private CacheKeys() {}

  /**
   * The 64-bit FNV-1a hash of the remaining bytes.
   *
   * @param bytes what to hash; its position is left alone
   * @return the hash, 64 bits
   */
  public static long fnv1a64(ByteBuffer bytes) {
    long hash = FNV_OFFSET_BASIS;
    for (int at = bytes.position(); at < bytes.limit(); at++) {
      hash = (hash ^ Byte.toUnsignedLong(bytes.get(at))) * FNV_PRIME;
    }
    return hash;
  }

  /**
   * Folds a namespace into a key: the finaliser of splitmix64 over {@code key XOR namespace *
   * 0x9E3779B97F4A7C15}. For one namespace no two keys give the same answer.
   *
   * @param key the key inside the namespace
   * @param namespace the namespace
   * @return the key as it is sent, 64 bits
   */
  public static long mix64(long key, long namespace) {
    long mixed = key ^ namespace * GOLDEN_RATIO;
    mixed = (mixed ^ mixed >>> 30) * SPLITMIX_FIRST;
    mixed = (mixed ^ mixed >>> 27) * SPLITMIX_SECOND;
    return mixed ^ mixed >>> 31;
  }
}
