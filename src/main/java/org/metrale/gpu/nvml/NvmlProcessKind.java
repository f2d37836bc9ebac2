package org.metrale.gpu.nvml;

/** Which processes. The order is that of the flat call. */
public enum NvmlProcessKind {
  /** Those that compute. */
  COMPUTE("nvmlDeviceGetComputeRunningProcesses_v3"),

  /** Those that draw. */
  GRAPHICS("nvmlDeviceGetGraphicsRunningProcesses_v3"),

  /** Those that compute through the multi-process service. */
  MPS("nvmlDeviceGetMPSComputeRunningProcesses_v3");

  private final String call;

  NvmlProcessKind(String call) {
    this.call = call;
  }

  /** The C function that lists them, in its newest version. */
  String call() {
    return call;
  }

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
