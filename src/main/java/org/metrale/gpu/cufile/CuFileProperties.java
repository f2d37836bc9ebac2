package org.metrale.gpu.cufile;

/**
 * What cuFile's driver can do here.
 *
 * <p>Bits of the flags are those of the header's enumerations.
 *
 * @param nvidiaFsMajor version of the nvidia-fs driver, 0 if there is none
 * @param nvidiaFsMinor version of the nvidia-fs driver
 * @param pollThresholdKibibytes largest transfer that is polled for
 * @param maxDirectKibibytes largest piece that a device is given at once
 * @param statusFlags kinds of storage that are supported, {@code CUfileDriverStatusFlags}
 * @param controlFlags modes that are on, {@code CUfileDriverControlFlags}
 * @param featureFlags features that are there, {@code CUfileFeatureFlags}
 * @param maxCacheKibibytes device memory for bounce buffers
 * @param perBufferCacheKibibytes size of one of them
 * @param maxPinnedKibibytes device memory that may be registered
 * @param maxBatchEntries largest batch
 * @param maxBatchTimeoutMillis longest time-out of a batch
 */
public record CuFileProperties(
    int nvidiaFsMajor,
    int nvidiaFsMinor,
    long pollThresholdKibibytes,
    long maxDirectKibibytes,
    int statusFlags,
    int controlFlags,
    int featureFlags,
    long maxCacheKibibytes,
    long perBufferCacheKibibytes,
    long maxPinnedKibibytes,
    int maxBatchEntries,
    int maxBatchTimeoutMillis) {
  private static final int ALLOW_COMPAT = 1;
  private static final int P2P = 4;

  CuFileProperties(long[] words) {
    this(
        (int) words[0],
        (int) words[1],
        words[2],
        words[3],
        (int) words[4],
        (int) words[5],
        (int) words[6],
        words[7],
        words[8],
        words[9],
        (int) words[10],
        (int) words[11]);
  }

  /**
   * Whether cuFile may go through host memory.
   *
   * @return true if compatible mode is allowed
   */
  public boolean isCompatAllowed() {
    return ((controlFlags >> ALLOW_COMPAT) & 1) != 0;
  }

  /**
   * Whether cuFile can use the kernel's peer-to-peer DMA.
   *
   * @return true if it can
   */
  public boolean hasP2pDma() {
    return ((featureFlags >> P2P) & 1) != 0;
  }

  /**
   * Whether a kind of storage is supported.
   *
   * @param storage a number of {@code CUfileDriverStatusFlags}
   * @return true if it is
   */
  public boolean supportsStorage(int storage) {
    return ((statusFlags >> storage) & 1) != 0;
  }
}
