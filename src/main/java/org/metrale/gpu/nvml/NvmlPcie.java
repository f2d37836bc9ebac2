package org.metrale.gpu.nvml;

/**
 * The PCIe link.
 *
 * <p>Where NVLink-C2C joins the device to its CPU every reading is absent: what a driver shows
 * there as generation 1 with one lane is no link that data takes.
 */
public final class NvmlPcie {
  private final NvmlDevice device;

  NvmlPcie(NvmlDevice device) {
    this.device = device;
  }

  /**
   * The generation that the link runs at now; it falls when the device idles.
   *
   * @return 1 to 7
   * @wraps {@code nvmlDeviceGetCurrPcieLinkGeneration}; nvml.h
   */
  public NvmlReading<Long> generation() {
    return number(NvmlQuery.PCIE_GENERATION, 0);
  }

  /**
   * The highest generation that device and slot can do together.
   *
   * @return 1 to 7
   * @wraps {@code nvmlDeviceGetMaxPcieLinkGeneration}; nvml.h
   */
  public NvmlReading<Long> maxGeneration() {
    return number(NvmlQuery.PCIE_MAX_GENERATION, 0);
  }

  /**
   * The highest generation that the device can do.
   *
   * @return 1 to 7
   * @wraps {@code nvmlDeviceGetGpuMaxPcieLinkGeneration}; nvml.h
   */
  public NvmlReading<Long> deviceGeneration() {
    return number(NvmlQuery.PCIE_DEVICE_GENERATION, 0);
  }

  /**
   * How many lanes the link has now.
   *
   * @return lanes
   * @wraps {@code nvmlDeviceGetCurrPcieLinkWidth}; nvml.h
   */
  public NvmlReading<Long> lanes() {
    return number(NvmlQuery.PCIE_WIDTH, 0);
  }

  /**
   * How many lanes device and slot can have together.
   *
   * @return lanes
   * @wraps {@code nvmlDeviceGetMaxPcieLinkWidth}; nvml.h
   */
  public NvmlReading<Long> maxLanes() {
    return number(NvmlQuery.PCIE_MAX_WIDTH, 0);
  }

  /**
   * How fast a lane runs.
   *
   * @return megabits a second
   * @wraps {@code nvmlDeviceGetPcieSpeed}; nvml.h
   */
  public NvmlReading<Long> laneMegabitsPerSecond() {
    return number(NvmlQuery.PCIE_SPEED, 0);
  }

  /**
   * How often a packet had to be sent again.
   *
   * @return how many since the driver was loaded
   * @wraps {@code nvmlDeviceGetPcieReplayCounter}; nvml.h
   */
  public NvmlReading<Long> replays() {
    return number(NvmlQuery.PCIE_REPLAYS, 0);
  }

  /**
   * What the device sends.
   *
   * <p><b>Blocking:</b> measures for 20 ms.
   *
   * @return kilobytes a second
   * @wraps {@code nvmlDeviceGetPcieThroughput}; nvml.h
   */
  public NvmlReading<Long> sentKilobytesPerSecond() {
    return number(NvmlQuery.PCIE_THROUGHPUT, 0);
  }

  /**
   * What the device receives.
   *
   * <p><b>Blocking:</b> measures for 20 ms.
   *
   * @return kilobytes a second
   * @wraps {@code nvmlDeviceGetPcieThroughput}; nvml.h
   */
  public NvmlReading<Long> receivedKilobytesPerSecond() {
    return number(NvmlQuery.PCIE_THROUGHPUT, 1);
  }

  private NvmlReading<Long> number(NvmlQuery query, int argument) {
    return device.isChipToChip()
        ? new NvmlReading.Absent<>(NvmlResult.NOT_SUPPORTED)
        : device.number(query, argument);
  }
}
