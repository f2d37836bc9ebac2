package org.metrale.gpu.nvml;

/** What a sampler reads. The unit stands in the name. */
public enum NvmlMetric {
  /** What the device draws. */
  POWER_MILLIWATTS(NvmlQuery.POWER, 0, 0),

  /** What the device has used since the driver was loaded; unsigned. */
  ENERGY_MILLIJOULES(NvmlQuery.ENERGY, 0, 0),

  /** The clock of the graphics engine. */
  GRAPHICS_CLOCK_MEGAHERTZ(NvmlQuery.CLOCK, 0, 0),

  /** The clock of the streaming multiprocessors. */
  SM_CLOCK_MEGAHERTZ(NvmlQuery.CLOCK, 1, 0),

  /** The clock of the memory. */
  MEMORY_CLOCK_MEGAHERTZ(NvmlQuery.CLOCK, 2, 0),

  /** The clock of the video engines. */
  VIDEO_CLOCK_MEGAHERTZ(NvmlQuery.CLOCK, 3, 0),

  /** The temperature of the GPU. */
  TEMPERATURE_CELSIUS(NvmlQuery.TEMPERATURE, 0, 0),

  /** Why clocks are what they are, as bits; see {@link NvmlClockReasons}. */
  CLOCK_EVENT_REASONS(NvmlQuery.EVENT_REASONS, 0, 0),

  /**
   * All memory. On a device that uses the host's memory it comes from the host, at the slow
   * cadence.
   */
  MEMORY_TOTAL_BYTES(NvmlQuery.MEMORY, 0, 0),

  /** Memory that can still be had; from the host as above. */
  MEMORY_FREE_BYTES(NvmlQuery.MEMORY, 0, 1),

  /** Memory in use; from the host as above. */
  MEMORY_USED_BYTES(NvmlQuery.MEMORY, 0, 2),

  /** Memory that the driver keeps for itself; absent where that is part of used. */
  MEMORY_RESERVED_BYTES(NvmlQuery.MEMORY, 0, 3),

  /** Of the time in which at least one kernel ran. */
  GPU_PERCENT(NvmlQuery.UTILIZATION, 0, 0),

  /** Of the time in which memory was read or written. */
  MEMORY_PERCENT(NvmlQuery.UTILIZATION, 0, 1),

  /** How busy the video encoders were. */
  ENCODER_PERCENT(NvmlQuery.ENCODER, 0, 0),

  /** How busy the video decoders were. */
  DECODER_PERCENT(NvmlQuery.DECODER, 0, 0),

  /** 0, the fastest, to 15; 32 where it is not known. */
  PERFORMANCE_STATE(NvmlQuery.PERFORMANCE_STATE, 0, 0),

  /** Sent over PCIe; takes 20 ms, so it is read at the slow cadence. */
  PCIE_SENT_KILOBYTES_PER_SECOND,

  /** Received over PCIe; takes 20 ms, so it is read at the slow cadence. */
  PCIE_RECEIVED_KILOBYTES_PER_SECOND,

  /** NVLinks that are up; a call a link, so it is read at the slow cadence. */
  ACTIVE_NVLINKS,

  /** Processes that compute; takes milliseconds, so it is read at the slow cadence. */
  COMPUTE_PROCESSES;

  private static final NvmlMetric[] ALL = values();

  private final NvmlQuery query;
  private final int argument;
  private final int position;

  NvmlMetric(NvmlQuery query, int argument, int position) {
    this.query = query;
    this.argument = argument;
    this.position = position;
  }

  NvmlMetric() {
    this(null, 0, 0);
  }

  /**
   * Whether the metric is read at the slow cadence because the question itself takes long.
   *
   * @return true for PCIe throughput, NVLinks and processes
   */
  public boolean isSlow() {
    return query == null;
  }

  /** All of them, without the copy that {@link #values()} makes. */
  static NvmlMetric at(int ordinal) {
    return ALL[ordinal];
  }

  static int count() {
    return ALL.length;
  }

  /** Where the metric stands in arrays of all of them. */
  @SuppressWarnings("EnumOrdinal")
  int index() {
    return ordinal();
  }

  NvmlQuery query() {
    return query;
  }

  int argument() {
    return argument;
  }

  int position() {
    return position;
  }
}
