package org.metrale.gpu.cuda;

import java.util.Objects;

/**
 * Where memory lies, as the driver says.
 *
 * @param kind what sort of memory it is
 * @param cudaOrdinal the device it belongs to, or -1 for memory of no device
 */
public record CudaLocation(Kind kind, int cudaOrdinal) {
  /** A sort of memory. */
  public enum Kind {
    /** The host's ordinary memory, which no device can reach by itself. */
    PAGEABLE_HOST,
    /** Host memory that is pinned or registered, which devices can reach. */
    PINNED_HOST,
    /** A device's own memory. */
    DEVICE,
    /** Memory that moves between host and device. */
    MANAGED,
    /** A sort that this build does not know. */
    OTHER
  }

  static final CudaLocation PAGEABLE = new CudaLocation(Kind.PAGEABLE_HOST, -1);

  /**
   * Checks that nothing is null.
   *
   * @param kind what sort of memory it is
   * @param cudaOrdinal the device it belongs to, or -1
   */
  public CudaLocation {
    Objects.requireNonNull(kind, "kind");
  }

  /**
   * Whether a device can read and write the memory by itself.
   *
   * @return false for ordinary host memory
   */
  public boolean isReachableByDevices() {
    return kind != Kind.PAGEABLE_HOST;
  }

  /** From the driver's {@code CUmemorytype}, 0 if it does not know the address. */
  static CudaLocation of(int type, int cudaOrdinal) {
    return switch (type) {
      case 0 -> PAGEABLE;
      case 1 -> new CudaLocation(Kind.PINNED_HOST, cudaOrdinal);
      case 2 -> new CudaLocation(Kind.DEVICE, cudaOrdinal);
      case 4 -> new CudaLocation(Kind.MANAGED, cudaOrdinal);
      default -> new CudaLocation(Kind.OTHER, cudaOrdinal);
    };
  }
}
