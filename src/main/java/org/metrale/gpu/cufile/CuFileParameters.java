package org.metrale.gpu.cufile;

/**
 * cuFile's parameters, as its configuration file has them.
 *
 * <p>Most are taken when the driver is opened; set later they are refused by cuFile.
 *
 * <p><b>Threading:</b> safe for any number of threads. <b>Blocking:</b> at most {@link
 * CuFileOptions#callTimeout()} each, then a {@link CuFileException} that says so.
 */
public final class CuFileParameters {
  private final CuFileDriver driver;

  CuFileParameters(CuFileDriver driver) {
    this.driver = driver;
  }

  /** Parameters that are numbers, with the header's numbers. */
  public enum Size {
    /** Level of statistics. */
    PROFILE_STATS(0),
    /** Entries of the queue of transfers. */
    EXECUTION_MAX_IO_QUEUE_DEPTH(1),
    /** Threads of cuFile's own. */
    EXECUTION_MAX_IO_THREADS(2),
    /** Smallest transfer that is split, in KiB. */
    EXECUTION_MIN_IO_THRESHOLD_SIZE_KB(3),
    /** Parts that one transfer is split into. */
    EXECUTION_MAX_REQUEST_PARALLELISM(4),
    /** Largest direct piece, in KiB. */
    PROPERTIES_MAX_DIRECT_IO_SIZE_KB(5),
    /** Device memory for bounce buffers, in KiB. */
    PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB(6),
    /** Size of a bounce buffer, in KiB. */
    PROPERTIES_PER_BUFFER_CACHE_SIZE_KB(7),
    /** Device memory that may be registered, in KiB. */
    PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB(8),
    /** Entries of a batch. */
    PROPERTIES_IO_BATCHSIZE(9),
    /** Largest transfer that is polled for, in KiB. */
    POLLTHRESHOLD_SIZE_KB(10),
    /** Time-out of a batch, in milliseconds. */
    PROPERTIES_BATCH_IO_TIMEOUT_MS(11);

    private final int number;

    Size(int number) {
      this.number = number;
    }
  }

  /** Parameters that are on or off, with the header's numbers. */
  public enum Flag {
    /** Poll for small transfers. */
    PROPERTIES_USE_POLL_MODE(0),
    /** Go through host memory where there is no other way. */
    PROPERTIES_ALLOW_COMPAT_MODE(1),
    /** Always go through host memory. */
    FORCE_COMPAT_MODE(2),
    /** Check the file system more closely. */
    FS_MISC_API_CHECK_AGGRESSIVE(3),
    /** Split transfers. */
    EXECUTION_PARALLEL_IO(4),
    /** Deprecated by cuFile. */
    PROFILE_NVTX(5),
    /** Take host memory too. */
    PROPERTIES_ALLOW_SYSTEM_MEMORY(6),
    /** Use the kernel's peer-to-peer DMA. */
    USE_PCIP2PDMA(7),
    /** Use io_uring. */
    PREFER_IO_URING(8),
    /** Demand direct descriptors. */
    FORCE_ODIRECT_MODE(9),
    /** Do not look at the PCIe topology. */
    SKIP_TOPOLOGY_DETECTION(10),
    /** Do without memory operations on streams. */
    STREAM_MEMOPS_BYPASS(11),
    /** Plain file system calls. */
    PROPERTIES_POSIX_IO_MODE(12),
    /** Fall back during a transfer. */
    GDS_FALLBACK_IO(13);

    private final int number;

    Flag(int number) {
      this.number = number;
    }
  }

  /** Parameters that are texts, with the header's numbers. */
  public enum Text {
    /** What is logged. */
    LOGGING_LEVEL(0),
    /** The log's file. */
    ENV_LOGFILE_PATH(1),
    /** The log's folder. */
    LOG_DIR(2),
    /** Transport of network file systems. */
    RDMA_TRANSPORT(3);

    private final int number;

    Text(int number) {
      this.number = number;
    }
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
    return driver.call(
        "cuFileGetParameterSizeT", () -> CuFileCalls.cuFileGetParameterSizeT(parameter.number));
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
    return driver.call(
        "cuFileGetParameterBool", () -> CuFileCalls.cuFileGetParameterBool(parameter.number));
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
    return driver.call(
        "cuFileGetParameterString", () -> CuFileCalls.cuFileGetParameterString(parameter.number));
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
    driver.call(
        "cuFileSetParameterSizeT",
        () -> {
          CuFileCalls.cuFileSetParameterSizeT(parameter.number, value);
          return null;
        });
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
    driver.call(
        "cuFileSetParameterBool",
        () -> {
          CuFileCalls.cuFileSetParameterBool(parameter.number, on);
          return null;
        });
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
    driver.call(
        "cuFileSetParameterString",
        () -> {
          CuFileCalls.cuFileSetParameterString(parameter.number, value);
          return null;
        });
  }
}
