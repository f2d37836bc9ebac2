package org.metrale.gpu.cuda;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A {@code CUresult}, known to this build or not.
 *
 * @param code the number exactly as the driver gave it
 */
public record CudaResult(int code) {
  /** The call did what it was asked to. */
  public static final CudaResult SUCCESS = new CudaResult(0);

  /** An argument is out of its range. */
  public static final CudaResult INVALID_VALUE = new CudaResult(1);

  /** The device has not enough memory left. */
  public static final CudaResult OUT_OF_MEMORY = new CudaResult(2);

  /** The machine has no device that CUDA can use. */
  public static final CudaResult NO_DEVICE = new CudaResult(100);

  /** No context is current, or it is not usable. */
  public static final CudaResult INVALID_CONTEXT = new CudaResult(201);

  /** A stream, event or other handle does not exist or belongs to another context. */
  public static final CudaResult INVALID_HANDLE = new CudaResult(400);

  /** The work is not done yet; an answer, not an error. */
  public static final CudaResult NOT_READY = new CudaResult(600);

  /** A kernel used an address that it may not; the context is lost. */
  public static final CudaResult ILLEGAL_ADDRESS = new CudaResult(700);

  /** A kernel failed; the context is lost. */
  public static final CudaResult LAUNCH_FAILED = new CudaResult(719);

  /** Not done in time; also what this layer says of a call that did not come back. */
  public static final CudaResult TIMEOUT = new CudaResult(909);

  private static final String NAMES =
      """
      0 SUCCESS;1 ERROR_INVALID_VALUE;2 ERROR_OUT_OF_MEMORY;3 ERROR_NOT_INITIALIZED;
      4 ERROR_DEINITIALIZED;5 ERROR_PROFILER_DISABLED;6 ERROR_PROFILER_NOT_INITIALIZED;
      7 ERROR_PROFILER_ALREADY_STARTED;8 ERROR_PROFILER_ALREADY_STOPPED;
      34 ERROR_STUB_LIBRARY;36 ERROR_CALL_REQUIRES_NEWER_DRIVER;
      46 ERROR_DEVICE_UNAVAILABLE;47 ERROR_MULTICAST_RESOURCE_FULL;100 ERROR_NO_DEVICE;
      101 ERROR_INVALID_DEVICE;102 ERROR_DEVICE_NOT_LICENSED;200 ERROR_INVALID_IMAGE;
      201 ERROR_INVALID_CONTEXT;202 ERROR_CONTEXT_ALREADY_CURRENT;205 ERROR_MAP_FAILED;
      206 ERROR_UNMAP_FAILED;207 ERROR_ARRAY_IS_MAPPED;208 ERROR_ALREADY_MAPPED;
      209 ERROR_NO_BINARY_FOR_GPU;210 ERROR_ALREADY_ACQUIRED;211 ERROR_NOT_MAPPED;
      212 ERROR_NOT_MAPPED_AS_ARRAY;213 ERROR_NOT_MAPPED_AS_POINTER;
      214 ERROR_ECC_UNCORRECTABLE;215 ERROR_UNSUPPORTED_LIMIT;
      216 ERROR_CONTEXT_ALREADY_IN_USE;217 ERROR_PEER_ACCESS_UNSUPPORTED;
      218 ERROR_INVALID_PTX;219 ERROR_INVALID_GRAPHICS_CONTEXT;
      220 ERROR_NVLINK_UNCORRECTABLE;221 ERROR_JIT_COMPILER_NOT_FOUND;
      222 ERROR_UNSUPPORTED_PTX_VERSION;223 ERROR_JIT_COMPILATION_DISABLED;
      224 ERROR_UNSUPPORTED_EXEC_AFFINITY;225 ERROR_UNSUPPORTED_DEVSIDE_SYNC;
      226 ERROR_CONTAINED;227 ERROR_INSUFFICIENT_LOADER_VERSION;300 ERROR_INVALID_SOURCE;
      301 ERROR_FILE_NOT_FOUND;302 ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
      303 ERROR_SHARED_OBJECT_INIT_FAILED;304 ERROR_OPERATING_SYSTEM;
      400 ERROR_INVALID_HANDLE;401 ERROR_ILLEGAL_STATE;402 ERROR_LOSSY_QUERY;
      500 ERROR_NOT_FOUND;600 ERROR_NOT_READY;700 ERROR_ILLEGAL_ADDRESS;
      701 ERROR_LAUNCH_OUT_OF_RESOURCES;702 ERROR_LAUNCH_TIMEOUT;
      703 ERROR_LAUNCH_INCOMPATIBLE_TEXTURING;704 ERROR_PEER_ACCESS_ALREADY_ENABLED;
      705 ERROR_PEER_ACCESS_NOT_ENABLED;708 ERROR_PRIMARY_CONTEXT_ACTIVE;
      709 ERROR_CONTEXT_IS_DESTROYED;710 ERROR_ASSERT;711 ERROR_TOO_MANY_PEERS;
      712 ERROR_HOST_MEMORY_ALREADY_REGISTERED;713 ERROR_HOST_MEMORY_NOT_REGISTERED;
      714 ERROR_HARDWARE_STACK_ERROR;715 ERROR_ILLEGAL_INSTRUCTION;
      716 ERROR_MISALIGNED_ADDRESS;717 ERROR_INVALID_ADDRESS_SPACE;718 ERROR_INVALID_PC;
      719 ERROR_LAUNCH_FAILED;720 ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
      721 ERROR_TENSOR_MEMORY_LEAK;800 ERROR_NOT_PERMITTED;801 ERROR_NOT_SUPPORTED;
      802 ERROR_SYSTEM_NOT_READY;803 ERROR_SYSTEM_DRIVER_MISMATCH;
      804 ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE;805 ERROR_MPS_CONNECTION_FAILED;
      806 ERROR_MPS_RPC_FAILURE;807 ERROR_MPS_SERVER_NOT_READY;
      808 ERROR_MPS_MAX_CLIENTS_REACHED;809 ERROR_MPS_MAX_CONNECTIONS_REACHED;
      810 ERROR_MPS_CLIENT_TERMINATED;811 ERROR_CDP_NOT_SUPPORTED;
      812 ERROR_CDP_VERSION_MISMATCH;900 ERROR_STREAM_CAPTURE_UNSUPPORTED;
      901 ERROR_STREAM_CAPTURE_INVALIDATED;902 ERROR_STREAM_CAPTURE_MERGE;
      903 ERROR_STREAM_CAPTURE_UNMATCHED;904 ERROR_STREAM_CAPTURE_UNJOINED;
      905 ERROR_STREAM_CAPTURE_ISOLATION;906 ERROR_STREAM_CAPTURE_IMPLICIT;
      907 ERROR_CAPTURED_EVENT;908 ERROR_STREAM_CAPTURE_WRONG_THREAD;909 ERROR_TIMEOUT;
      910 ERROR_GRAPH_EXEC_UPDATE_FAILURE;911 ERROR_EXTERNAL_DEVICE;
      912 ERROR_INVALID_CLUSTER_SIZE;913 ERROR_FUNCTION_NOT_LOADED;
      914 ERROR_INVALID_RESOURCE_TYPE;915 ERROR_INVALID_RESOURCE_CONFIGURATION;
      916 ERROR_KEY_ROTATION;917 ERROR_STREAM_DETACHED;918 ERROR_GRAPH_RECAPTURE_FAILURE;
      919 ERROR_FABRIC_NOT_READY;999 ERROR_UNKNOWN;
      """;

  private static final Map<Integer, String> SYMBOLS = symbols();

  /** After these every later call in the context fails with the same code. */
  private static final Set<Integer> STICKY =
      Set.of(4, 46, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721);

  /**
   * The name of the code.
   *
   * @return the header's constant, or {@code CUresult(n)} for a code that is not in it
   */
  public String symbol() {
    return SYMBOLS.getOrDefault(code, "CUresult(" + code + ")");
  }

  /**
   * Whether the context cannot be used any more after this code.
   *
   * @return true if only a new process, or a reset of the device's context, helps
   */
  public boolean losesContext() {
    return STICKY.contains(code);
  }

  @Override
  public String toString() {
    return symbol();
  }

  private static Map<Integer, String> symbols() {
    Map<Integer, String> out = new TreeMap<>();
    for (String entry : NAMES.strip().split(";\\s*", -1)) {
      int space = entry.indexOf(' ');
      if (space > 0) {
        out.put(Integer.valueOf(entry.substring(0, space)), "CUDA_" + entry.substring(space + 1));
      }
    }
    return out;
  }
}
