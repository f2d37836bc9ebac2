package org.metrale.gpu.nvml;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * A sample in a flight recording; -1 stands for a metric without a value. Reused, so not for
 * others.
 */
@Name("org.metrale.gpu.NvmlSample")
@Label("GPU Sample")
@Category({"GPU", "NVML"})
@Description("One sample of a GPU's sensors; -1 where there is no value")
@StackTrace(false)
final class NvmlSampleEvent extends Event {
  @Label("Sampler")
  String sampler;

  @Label("Sample")
  long sequence;

  @Label("Power (mW)")
  long powerMilliwatts;

  @Label("Energy since Start (mJ)")
  long energyMillijoules;

  @Label("SM Clock (MHz)")
  long smClockMegahertz;

  @Label("Memory Clock (MHz)")
  long memoryClockMegahertz;

  @Label("Temperature (Celsius)")
  long temperatureCelsius;

  @Label("Clock Event Reasons")
  long clockEventReasons;

  @Label("Memory Total")
  @DataAmount
  long memoryTotalBytes;

  @Label("Memory Used")
  @DataAmount
  long memoryUsedBytes;

  @Label("GPU Busy (%)")
  long gpuPercent;

  @Label("Memory Busy (%)")
  long memoryPercent;

  @Label("PCIe Sent (kB/s)")
  long pcieSentKilobytesPerSecond;

  @Label("PCIe Received (kB/s)")
  long pcieReceivedKilobytesPerSecond;

  @Label("Active NVLinks")
  long activeNvLinks;

  @Label("Compute Processes")
  long computeProcesses;

  void fill(NvmlSample sample) {
    sequence = sample.sequence();
    energyMillijoules = sample.energySinceStartMillijoules();
    powerMilliwatts = value(sample, NvmlMetric.POWER_MILLIWATTS);
    smClockMegahertz = value(sample, NvmlMetric.SM_CLOCK_MEGAHERTZ);
    memoryClockMegahertz = value(sample, NvmlMetric.MEMORY_CLOCK_MEGAHERTZ);
    temperatureCelsius = value(sample, NvmlMetric.TEMPERATURE_CELSIUS);
    clockEventReasons = value(sample, NvmlMetric.CLOCK_EVENT_REASONS);
    memoryTotalBytes = value(sample, NvmlMetric.MEMORY_TOTAL_BYTES);
    memoryUsedBytes = value(sample, NvmlMetric.MEMORY_USED_BYTES);
    gpuPercent = value(sample, NvmlMetric.GPU_PERCENT);
    memoryPercent = value(sample, NvmlMetric.MEMORY_PERCENT);
    pcieSentKilobytesPerSecond = value(sample, NvmlMetric.PCIE_SENT_KILOBYTES_PER_SECOND);
    pcieReceivedKilobytesPerSecond = value(sample, NvmlMetric.PCIE_RECEIVED_KILOBYTES_PER_SECOND);
    activeNvLinks = value(sample, NvmlMetric.ACTIVE_NVLINKS);
    computeProcesses = value(sample, NvmlMetric.COMPUTE_PROCESSES);
  }

  private static long value(NvmlSample sample, NvmlMetric metric) {
    return sample.has(metric) ? sample.value(metric) : -1;
  }
}
