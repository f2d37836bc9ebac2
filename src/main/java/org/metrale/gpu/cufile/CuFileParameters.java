package org.metrale.gpu.cufile;

/**
 * cuFile's parameters, as its configuration file has them.
 *
 * <p>Most are taken when the driver is opened; set later they are refused by cuFile.
 */
public final class CuFileParameters {
  CuFileParameters() {}

  /** Parameters that are numbers, in the header's order. */
  public enum Size {
    /** Level of statistics. */
    PROFILE_STATS,
    /** Entries of the queue of transfers. */
    EXECUTION_MAX_IO_QUEUE_DEPTH,
    /** Threads of cuFile's own. */
    EXECUTION_MAX_IO_THREADS,
    /** Smallest transfer that is split, in KiB. */
    EXECUTION_MIN_IO_THRESHOLD_SIZE_KB,
    /** Parts that one transfer is split into. */
    EXECUTION_MAX_REQUEST_PARALLELISM,
    /** Largest direct piece, in KiB. */
    PROPERTIES_MAX_DIRECT_IO_SIZE_KB,
    /** Device memory for bounce buffers, in KiB. */
    PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB,
    /** Size of a bounce buffer, in KiB. */
    PROPERTIES_PER_BUFFER_CACHE_SIZE_KB,
    /** Device memory that may be registered, in KiB. */
    PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB,
    /** Entries of a batch. */
    PROPERTIES_IO_BATCHSIZE,
    /** Largest transfer that is polled for, in KiB. */
    POLLTHRESHOLD_SIZE_KB,
    /** Time-out of a batch, in milliseconds. */
    PROPERTIES_BATCH_IO_TIMEOUT_MS
  }

  /** Parameters that are on or off, in the header's order. */
  public enum Flag {
    /** Poll for small transfers. */
    PROPERTIES_USE_POLL_MODE,
    /** Go through host memory where there is no other way. */
    PROPERTIES_ALLOW_COMPAT_MODE,
    /** Always go through host memory. */
    FORCE_COMPAT_MODE,
    /** Check the file system more closely. */
    FS_MISC_API_CHECK_AGGRESSIVE,
    /** Split transfers. */
    EXECUTION_PARALLEL_IO,
    /** Deprecated by cuFile. */
    PROFILE_NVTX,
    /** Take host memory too. */
    PROPERTIES_ALLOW_SYSTEM_MEMORY,
    /** Use the kernel's peer-to-peer DMA. */
    USE_PCIP2PDMA,
    /** Use io_uring. */
    PREFER_IO_URING,
    /** Demand direct descriptors. */
    FORCE_ODIRECT_MODE,
    /** Do not look at the PCIe topology. */
    SKIP_TOPOLOGY_DETECTION,
    /** Do without memory operations on streams. */
    STREAM_MEMOPS_BYPASS,
    /** Plain file system calls. */
    PROPERTIES_POSIX_IO_MODE,
    /** Fall back during a transfer. */
    GDS_FALLBACK_IO
  }

  /** Parameters that are texts, in the header's order. */
  public enum Text {
    /** What is logged. */
    LOGGING_LEVEL,
    /** The log's file. */
    ENV_LOGFILE_PATH,
    /** The log's folder. */
    LOG_DIR,
    /** Transport of network file systems. */
    RDMA_TRANSPORT
  }

  /**
   * Asks for a number.
   *
   * @param parameter which one
   * @return its value, in the unit of its name
   * @throws CuFileException if cuFile refuses
   * @wraps {@code cuFileGetParameterSizeT}; cufile.h, cuFile 1.14 and later
   */
  public long value(Size parameter) {
    return CuFileCalls.cuFileGetParameterSizeT(parameter.ordinal());
  }

  /**
   * Asks whether something is on.
   *
   * @param parameter which one
   * @return true if it is on
   * @throws CuFileException if cuFile refuses
   * @wraps {@code cuFileGetParameterBool}; cufile.h, cuFile 1.14 and later
   */
  public boolean isOn(Flag parameter) {
    return CuFileCalls.cuFileGetParameterBool(parameter.ordinal());
  }

  /**
   * Asks for a text.
   *
   * @param parameter which one
   * @return its value
   * @throws CuFileException if cuFile refuses
   * @wraps {@code cuFileGetParameterString}; cufile.h, cuFile 1.14 and later
   */
  public String value(Text parameter) {
    return CuFileCalls.cuFileGetParameterString(parameter.ordinal());
  }

  /**
   * Sets a number.
   *
   * @param parameter which one
   * @param value its value, in the unit of its name
   * @throws CuFileException if cuFile refuses
   * @wraps {@code cuFileSetParameterSizeT}; cufile.h, cuFile 1.14 and later
   */
  public void set(Size parameter, long value) {
    CuFileCalls.cuFileSetParameterSizeT(parameter.ordinal(), value);
  }

  /**
   * Turns something on or off.
   *
   * @param parameter which one
   * @param on true for on
   * @throws CuFileException if cuFile refuses
   * @wraps {@code cuFileSetParameterBool}; cufile.h, cuFile 1.14 and later
   */
  public void set(Flag parameter, boolean on) {
    CuFileCalls.cuFileSetParameterBool(parameter.ordinal(), on);
  }

  /**
   * Sets a text.
   *
   * @param parameter which one
   * @param value its value
   * @throws CuFileException if cuFile refuses
   * @wraps {@code cuFileSetParameterString}; cufile.h, cuFile 1.14 and later
   */
  public void set(Text parameter, String value) {
    CuFileCalls.cuFileSetParameterString(parameter.ordinal(), value);
  }
}
