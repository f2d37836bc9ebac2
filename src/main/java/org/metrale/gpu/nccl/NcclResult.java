package org.metrale.gpu.nccl;

/**
 * An {@code ncclResult_t}, known to this build or not.
 *
 * @param code the number exactly as NCCL gave it
 */
public record NcclResult(int code) {
  /** The call did what it was asked to. */
  public static final NcclResult SUCCESS = new NcclResult(0);

  /** A call of CUDA failed. */
  public static final NcclResult UNHANDLED_CUDA_ERROR = new NcclResult(1);

  /** A call of the operating system failed. */
  public static final NcclResult SYSTEM_ERROR = new NcclResult(2);

  /** NCCL found itself broken. */
  public static final NcclResult INTERNAL_ERROR = new NcclResult(3);

  /** An argument is out of its range. */
  public static final NcclResult INVALID_ARGUMENT = new NcclResult(4);

  /** The call is not allowed now. */
  public static final NcclResult INVALID_USAGE = new NcclResult(5);

  /** Another rank failed or is gone. */
  public static final NcclResult REMOTE_ERROR = new NcclResult(6);

  /** The work goes on; a state, not an error. */
  public static final NcclResult IN_PROGRESS = new NcclResult(7);

  /** A deadline passed. */
  public static final NcclResult TIMEOUT = new NcclResult(8);

  /**
   * The name of the code.
   *
   * @return the header's constant, or {@code ncclResult(n)} for a code that is not in it
   */
  public String symbol() {
    return switch (code) {
      case 0 -> "ncclSuccess";
      case 1 -> "ncclUnhandledCudaError";
      case 2 -> "ncclSystemError";
      case 3 -> "ncclInternalError";
      case 4 -> "ncclInvalidArgument";
      case 5 -> "ncclInvalidUsage";
      case 6 -> "ncclRemoteError";
      case 7 -> "ncclInProgress";
      case 8 -> "ncclTimeout";
      default -> "ncclResult(" + code + ")";
    };
  }

  @Override
  public String toString() {
    return symbol();
  }
}
