package org.metrale.gpu.nvml;

/**
 * A metric of GPU performance monitoring, by NVML's number.
 *
 * @param id the number in the header
 * @param name what it is about, with its unit
 */
public record NvmlGpmMetric(int id, String name) {
  /** Of the time, any graphics or compute engine was busy. */
  public static final NvmlGpmMetric GRAPHICS_PERCENT = new NvmlGpmMetric(1, "graphicsPercent");

  /** Of the time, streaming multiprocessors had work. */
  public static final NvmlGpmMetric SM_PERCENT = new NvmlGpmMetric(2, "smPercent");

  /** Of the warps that fit, were there. */
  public static final NvmlGpmMetric SM_OCCUPANCY_PERCENT =
      new NvmlGpmMetric(3, "smOccupancyPercent");

  /** Of the time, integer units were busy. */
  public static final NvmlGpmMetric INTEGER_PERCENT = new NvmlGpmMetric(4, "integerPercent");

  /** Of the time, tensor cores of any kind were busy. */
  public static final NvmlGpmMetric TENSOR_PERCENT = new NvmlGpmMetric(5, "tensorPercent");

  /** Of the memory's bandwidth, was used. */
  public static final NvmlGpmMetric DRAM_BANDWIDTH_PERCENT =
      new NvmlGpmMetric(10, "dramBandwidthPercent");

  /** Of the time, units for 64-bit numbers were busy. */
  public static final NvmlGpmMetric FP64_PERCENT = new NvmlGpmMetric(11, "fp64Percent");

  /** Of the time, units for 32-bit numbers were busy. */
  public static final NvmlGpmMetric FP32_PERCENT = new NvmlGpmMetric(12, "fp32Percent");

  /** Of the time, units for 16-bit numbers were busy. */
  public static final NvmlGpmMetric FP16_PERCENT = new NvmlGpmMetric(13, "fp16Percent");

  /** Sent over PCIe. */
  public static final NvmlGpmMetric PCIE_SENT_MEBIBYTES_PER_SECOND =
      new NvmlGpmMetric(20, "pcieSentMebibytesPerSecond");

  /** Received over PCIe. */
  public static final NvmlGpmMetric PCIE_RECEIVED_MEBIBYTES_PER_SECOND =
      new NvmlGpmMetric(21, "pcieReceivedMebibytesPerSecond");

  /** Received over all NVLinks. */
  public static final NvmlGpmMetric NVLINK_RECEIVED_MEBIBYTES_PER_SECOND =
      new NvmlGpmMetric(60, "nvLinkReceivedMebibytesPerSecond");

  /** Sent over all NVLinks. */
  public static final NvmlGpmMetric NVLINK_SENT_MEBIBYTES_PER_SECOND =
      new NvmlGpmMetric(61, "nvLinkSentMebibytesPerSecond");
}
