package org.metrale.gpu.nvml;

/**
 * An {@code nvmlReturn_t}, known to this build or not.
 *
 * @param code the number exactly as NVML gave it
 */
public record NvmlResult(int code) {
  /** The call worked. */
  public static final NvmlResult SUCCESS = new NvmlResult(0);

  /** An argument is not what NVML takes. */
  public static final NvmlResult INVALID_ARGUMENT = new NvmlResult(2);

  /** This device has no such thing. */
  public static final NvmlResult NOT_SUPPORTED = new NvmlResult(3);

  /** This process may not ask. */
  public static final NvmlResult NO_PERMISSION = new NvmlResult(4);

  /** There is no such device. */
  public static final NvmlResult NOT_FOUND = new NvmlResult(6);

  /** The room given was too small. */
  public static final NvmlResult INSUFFICIENT_SIZE = new NvmlResult(7);

  /** No driver is loaded, or there is no GPU. */
  public static final NvmlResult DRIVER_NOT_LOADED = new NvmlResult(9);

  /** A wait is over and nothing came. */
  public static final NvmlResult TIMEOUT = new NvmlResult(10);

  /** The library lacks the function. */
  public static final NvmlResult FUNCTION_NOT_FOUND = new NvmlResult(13);

  /** The GPU has fallen off the bus or is otherwise unreachable. */
  public static final NvmlResult GPU_IS_LOST = new NvmlResult(15);

  /** The library knows no version of the structure that this build knows. */
  public static final NvmlResult ARGUMENT_VERSION_MISMATCH = new NvmlResult(25);

  /**
   * The name of the code.
   *
   * @return the header's constant, or {@code nvmlReturn(N)} for one that it does not know
   */
  public String symbol() {
    return switch (code) {
      case 0 -> "NVML_SUCCESS";
      case 1 -> "NVML_ERROR_UNINITIALIZED";
      case 2 -> "NVML_ERROR_INVALID_ARGUMENT";
      case 3 -> "NVML_ERROR_NOT_SUPPORTED";
      case 4 -> "NVML_ERROR_NO_PERMISSION";
      case 5 -> "NVML_ERROR_ALREADY_INITIALIZED";
      case 6 -> "NVML_ERROR_NOT_FOUND";
      case 7 -> "NVML_ERROR_INSUFFICIENT_SIZE";
      case 8 -> "NVML_ERROR_INSUFFICIENT_POWER";
      case 9 -> "NVML_ERROR_DRIVER_NOT_LOADED";
      case 10 -> "NVML_ERROR_TIMEOUT";
      case 11 -> "NVML_ERROR_IRQ_ISSUE";
      case 12 -> "NVML_ERROR_LIBRARY_NOT_FOUND";
      case 13 -> "NVML_ERROR_FUNCTION_NOT_FOUND";
      case 14 -> "NVML_ERROR_CORRUPTED_INFOROM";
      case 15 -> "NVML_ERROR_GPU_IS_LOST";
      case 16 -> "NVML_ERROR_RESET_REQUIRED";
      case 17 -> "NVML_ERROR_OPERATING_SYSTEM";
      case 18 -> "NVML_ERROR_LIB_RM_VERSION_MISMATCH";
      case 19 -> "NVML_ERROR_IN_USE";
      case 20 -> "NVML_ERROR_MEMORY";
      case 21 -> "NVML_ERROR_NO_DATA";
      case 22 -> "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED";
      case 23 -> "NVML_ERROR_INSUFFICIENT_RESOURCES";
      case 24 -> "NVML_ERROR_FREQ_NOT_SUPPORTED";
      case 25 -> "NVML_ERROR_ARGUMENT_VERSION_MISMATCH";
      case 26 -> "NVML_ERROR_DEPRECATED";
      case 27 -> "NVML_ERROR_NOT_READY";
      case 28 -> "NVML_ERROR_GPU_NOT_FOUND";
      case 29 -> "NVML_ERROR_INVALID_STATE";
      case 30 -> "NVML_ERROR_RESET_TYPE_NOT_SUPPORTED";
      case 999 -> "NVML_ERROR_UNKNOWN";
      default -> "nvmlReturn(" + code + ")";
    };
  }

  /** Whether the code means that there is no such sensor, function or structure here. */
  boolean isAbsent() {
    return isAbsent(code);
  }

  /** The same without an object. */
  static boolean isAbsent(int code) {
    return code == 3 || code == 13 || code == 25;
  }

  @Override
  public String toString() {
    return symbol() + " (" + code + ")";
  }
}
