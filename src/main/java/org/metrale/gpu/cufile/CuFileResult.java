package org.metrale.gpu.cufile;

/**
 * A {@code CUfileOpError}, known to this build or not.
 *
 * @param code the number exactly as C gave it, without its sign
 */
public record CuFileResult(int code) {
  /** Done. */
  public static final CuFileResult SUCCESS = new CuFileResult(0);

  /** The nvidia-fs driver is not loaded and compatible mode is off. */
  public static final CuFileResult DRIVER_NOT_INITIALIZED = new CuFileResult(5001);

  /** No GPUDirect Storage on this platform. */
  public static final CuFileResult PLATFORM_NOT_SUPPORTED = new CuFileResult(5007);

  /** No GPUDirect Storage on this file. */
  public static final CuFileResult IO_NOT_SUPPORTED = new CuFileResult(5008);

  /** No GPUDirect Storage on this device. */
  public static final CuFileResult DEVICE_NOT_SUPPORTED = new CuFileResult(5009);

  /** The CUDA driver failed: the only code beside which the CUDA code means anything. */
  public static final CuFileResult CUDA_DRIVER_ERROR = new CuFileResult(5011);

  /** The file is not registered. */
  public static final CuFileResult HANDLE_NOT_REGISTERED = new CuFileResult(5027);

  /** Stream-ordered transfers are not supported. */
  public static final CuFileResult ASYNC_NOT_SUPPORTED = new CuFileResult(5038);

  /** Every cuFile code is above, every errno below. */
  static final int BASE = 5000;

  /**
   * The constant's name in the header.
   *
   * @return for example {@code CU_FILE_IO_NOT_SUPPORTED}, or {@code CUfileOpError(6001)} for a code
   *     that this build does not know
   */
  public String symbol() {
    return code < 5026 ? lowSymbol() : highSymbol();
  }

  /**
   * The header's words for the code.
   *
   * @return the text
   */
  public String text() {
    return CuFileCalls.cufileop_status_error(code);
  }

  private String lowSymbol() {
    return switch (code) {
      case 0 -> "CU_FILE_SUCCESS";
      case 5001 -> "CU_FILE_DRIVER_NOT_INITIALIZED";
      case 5002 -> "CU_FILE_DRIVER_INVALID_PROPS";
      case 5003 -> "CU_FILE_DRIVER_UNSUPPORTED_LIMIT";
      case 5004 -> "CU_FILE_DRIVER_VERSION_MISMATCH";
      case 5005 -> "CU_FILE_DRIVER_VERSION_READ_ERROR";
      case 5006 -> "CU_FILE_DRIVER_CLOSING";
      case 5007 -> "CU_FILE_PLATFORM_NOT_SUPPORTED";
      case 5008 -> "CU_FILE_IO_NOT_SUPPORTED";
      case 5009 -> "CU_FILE_DEVICE_NOT_SUPPORTED";
      case 5010 -> "CU_FILE_NVFS_DRIVER_ERROR";
      case 5011 -> "CU_FILE_CUDA_DRIVER_ERROR";
      case 5012 -> "CU_FILE_CUDA_POINTER_INVALID";
      case 5013 -> "CU_FILE_CUDA_MEMORY_TYPE_INVALID";
      case 5014 -> "CU_FILE_CUDA_POINTER_RANGE_ERROR";
      case 5015 -> "CU_FILE_CUDA_CONTEXT_MISMATCH";
      case 5016 -> "CU_FILE_INVALID_MAPPING_SIZE";
      case 5017 -> "CU_FILE_INVALID_MAPPING_RANGE";
      case 5018 -> "CU_FILE_INVALID_FILE_TYPE";
      case 5019 -> "CU_FILE_INVALID_FILE_OPEN_FLAG";
      case 5020 -> "CU_FILE_DIO_NOT_SET";
      case 5022 -> "CU_FILE_INVALID_VALUE";
      case 5023 -> "CU_FILE_MEMORY_ALREADY_REGISTERED";
      case 5024 -> "CU_FILE_MEMORY_NOT_REGISTERED";
      case 5025 -> "CU_FILE_PERMISSION_DENIED";
      default -> unknown();
    };
  }

  private String highSymbol() {
    return switch (code) {
      case 5026 -> "CU_FILE_DRIVER_ALREADY_OPEN";
      case 5027 -> "CU_FILE_HANDLE_NOT_REGISTERED";
      case 5028 -> "CU_FILE_HANDLE_ALREADY_REGISTERED";
      case 5029 -> "CU_FILE_DEVICE_NOT_FOUND";
      case 5030 -> "CU_FILE_INTERNAL_ERROR";
      case 5031 -> "CU_FILE_GETNEWFD_FAILED";
      case 5033 -> "CU_FILE_NVFS_SETUP_ERROR";
      case 5034 -> "CU_FILE_IO_DISABLED";
      case 5035 -> "CU_FILE_BATCH_SUBMIT_FAILED";
      case 5036 -> "CU_FILE_GPU_MEMORY_PINNING_FAILED";
      case 5037 -> "CU_FILE_BATCH_FULL";
      case 5038 -> "CU_FILE_ASYNC_NOT_SUPPORTED";
      case 5039 -> "CU_FILE_INTERNAL_BATCH_SETUP_ERROR";
      case 5040 -> "CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR";
      case 5041 -> "CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR";
      case 5042 -> "CU_FILE_INTERNAL_BATCH_CANCEL_ERROR";
      case 5043 -> "CU_FILE_NOMEM_ERROR";
      case 5044 -> "CU_FILE_IO_ERROR";
      case 5045 -> "CU_FILE_INTERNAL_BUF_REGISTER_ERROR";
      case 5046 -> "CU_FILE_HASH_OPR_ERROR";
      case 5047 -> "CU_FILE_INVALID_CONTEXT_ERROR";
      case 5048 -> "CU_FILE_NVFS_INTERNAL_DRIVER_ERROR";
      case 5049 -> "CU_FILE_BATCH_NOCOMPAT_ERROR";
      case 5050 -> "CU_FILE_IO_MAX_ERROR";
      default -> unknown();
    };
  }

  private String unknown() {
    return "CUfileOpError(" + code + ")";
  }
}
