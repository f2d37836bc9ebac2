package org.metrale.tools;

import java.util.Locale;
import java.util.OptionalLong;
import java.util.function.Function;
import org.metrale.gpu.nvml.NvmlClock;
import org.metrale.gpu.nvml.NvmlDevice;
import org.metrale.gpu.nvml.NvmlLinkCount;
import org.metrale.gpu.nvml.NvmlMemory;
import org.metrale.gpu.nvml.NvmlRates;
import org.metrale.gpu.nvml.NvmlReading;
import org.metrale.gpu.nvml.NvmlResult;

/** One number of a GPU; its unit stands in its name, as in JSON and CSV. */
enum TopField {
  GPU_PERCENT(d -> d.utilization().rates().map(NvmlRates::gpuPercent)),
  MEMORY_BUSY_PERCENT(d -> d.utilization().rates().map(NvmlRates::memoryPercent)),
  MEMORY_USED_BYTES(d -> d.memory().map(NvmlMemory::usedBytes)),
  MEMORY_TOTAL_BYTES(d -> d.memory().map(NvmlMemory::totalBytes)),
  MEMORY_RESERVED_BYTES(d -> reserved(d.memory())),
  POWER_MILLIWATTS(d -> d.power().usageMilliwatts()),
  POWER_LIMIT_MILLIWATTS(d -> d.power().enforcedLimitMilliwatts()),
  TEMPERATURE_CELSIUS(d -> d.thermals().celsius()),
  FAN_PERCENT(d -> d.thermals().fanPercent(0)),
  SM_CLOCK_MEGAHERTZ(d -> d.clocks().megahertz(NvmlClock.SM)),
  MEMORY_CLOCK_MEGAHERTZ(d -> d.clocks().megahertz(NvmlClock.MEMORY)),
  PERFORMANCE_STATE(d -> d.clocks().performanceState()),
  ENCODER_PERCENT(d -> d.utilization().encoder().map(e -> e.percent())),
  DECODER_PERCENT(d -> d.utilization().decoder().map(e -> e.percent())),
  PCIE_GENERATION(d -> d.pcie().generation()),
  PCIE_LANES(d -> d.pcie().lanes()),
  NVLINKS_ACTIVE(d -> d.nvLinks().count().map(NvmlLinkCount::active)),
  NVLINKS_PRESENT(d -> d.nvLinks().count().map(NvmlLinkCount::present)),
  NVLINK_SENT_KIBIBYTES(d -> d.nvLinks().sentKibibytes()),
  NVLINK_RECEIVED_KIBIBYTES(d -> d.nvLinks().receivedKibibytes());

  private final Function<NvmlDevice, NvmlReading<Long>> query;

  TopField(Function<NvmlDevice, NvmlReading<Long>> query) {
    this.query = query;
  }

  NvmlReading<Long> read(NvmlDevice device) {
    return query.apply(device);
  }

  /** The name in JSON and CSV. */
  String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  private static NvmlReading<Long> reserved(NvmlReading<NvmlMemory> memory) {
    OptionalLong reserved =
        memory.toOptional().map(NvmlMemory::reservedBytes).orElse(OptionalLong.empty());
    if (reserved.isPresent()) {
      return new NvmlReading.Value<>(reserved.getAsLong());
    }
    return memory instanceof NvmlReading.Value<NvmlMemory>
        ? new NvmlReading.Absent<>(NvmlResult.NOT_SUPPORTED)
        : memory.map(NvmlMemory::usedBytes);
  }
}
