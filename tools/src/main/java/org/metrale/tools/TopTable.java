package org.metrale.tools;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongFunction;
import org.metrale.gpu.nvml.NvmlMemorySource;
import org.metrale.gpu.nvml.NvmlProcessKind;
import org.metrale.gpu.nvml.NvmlReading;

/** A sample as a table for people. */
final class TopTable {
  private TopTable() {}

  static List<String> lines(TopSample sample) {
    List<String> out = new ArrayList<>();
    out.add(
        (sample.emulated() ? "EMULATED: " : "")
            + sample.time()
            + "  driver "
            + sample.driver()
            + "  "
            + sample.devices().stream().filter(d -> !d.label().contains("/")).count()
            + " GPUs");
    out.add("");
    out.addAll(devices(sample));
    for (TopDevice device : sample.devices()) {
      if (device.unified()) {
        out.add("GPU " + device.label() + ": " + unified(device));
      }
      if (!device.migProblem().isEmpty()) {
        out.add("GPU " + device.label() + ": MIG devices not listed: " + device.migProblem());
      }
    }
    out.addAll(sample.problems());
    out.add("");
    out.addAll(processes(sample));
    return out;
  }

  private static List<String> devices(TopSample sample) {
    TextTable table =
        new TextTable(
            "GPU",
            "name",
            "busy",
            "mem busy",
            "memory",
            "power",
            "SM clock",
            "mem clock",
            "temp",
            "fan",
            "state",
            "PCIe",
            "NVLink");
    for (TopDevice d : sample.devices()) {
      table.row(
          d.label(),
          TopReadings.text(d.name()),
          unit(d, TopField.GPU_PERCENT, " %"),
          unit(d, TopField.MEMORY_BUSY_PERCENT, " %"),
          of(d, TopField.MEMORY_USED_BYTES, TopField.MEMORY_TOTAL_BYTES, Quantities::bytes),
          of(d, TopField.POWER_MILLIWATTS, TopField.POWER_LIMIT_MILLIWATTS, TopTable::watts),
          unit(d, TopField.SM_CLOCK_MEGAHERTZ, " MHz"),
          unit(d, TopField.MEMORY_CLOCK_MEGAHERTZ, " MHz"),
          unit(d, TopField.TEMPERATURE_CELSIUS, " C"),
          unit(d, TopField.FAN_PERCENT, " %"),
          with(d, TopField.PERFORMANCE_STATE, state -> "P" + state),
          pair(d, TopField.PCIE_GENERATION, TopField.PCIE_LANES, "gen %s x%s"),
          pair(d, TopField.NVLINKS_ACTIVE, TopField.NVLINKS_PRESENT, "%s of %s up"));
    }
    return table.lines();
  }

  private static List<String> processes(TopSample sample) {
    TextTable table = new TextTable("GPU", "pid", "kind", "memory", "process");
    List<String> refused = new ArrayList<>();
    boolean any = false;
    for (TopDevice device : sample.devices()) {
      for (Map.Entry<NvmlProcessKind, NvmlReading<List<TopDevice.TopProcess>>> kind :
          device.processes().entrySet()) {
        String name = kind.getKey().name().toLowerCase(Locale.ROOT);
        if (kind.getValue() instanceof NvmlReading.Denied<?>
            || kind.getValue() instanceof NvmlReading.Failed<?>) {
          refused.add(
              "GPU "
                  + device.label()
                  + ": "
                  + name
                  + " processes "
                  + TopReadings.refusal(kind.getValue()));
        }
        for (TopDevice.TopProcess one : kind.getValue().orElse(List.of())) {
          any = true;
          table.row(
              device.label(),
              Long.toString(one.process().processId()),
              name,
              one.process().memoryBytes().isPresent()
                  ? Quantities.bytes(one.process().memoryBytes().getAsLong())
                  : "not told",
              TopReadings.text(one.name()));
        }
      }
    }
    List<String> out = new ArrayList<>(any ? table.lines() : List.of("no processes"));
    out.addAll(refused);
    return out;
  }

  private static String unified(TopDevice device) {
    return device
        .memory()
        .toOptional()
        .map(
            memory ->
                memory.source() == NvmlMemorySource.OPERATING_SYSTEM
                    ? "unified memory: NVML does not tell, the numbers are the operating system's"
                        + " for the whole host"
                    : "unified memory: CPU and GPU share one address space; the numbers are "
                        + memory.source()
                        + "'s")
        .orElse("unified memory");
  }

  private static String unit(TopDevice device, TopField field, String unit) {
    return with(device, field, value -> value + unit);
  }

  private static String with(TopDevice device, TopField field, LongFunction<String> format) {
    NvmlReading<Long> reading = device.number(field);
    return TopReadings.text(reading.map(format::apply));
  }

  private static String watts(long milliwatts) {
    return Math.round(milliwatts / 1e3) + " W";
  }

  /** What there is of how much; the limit is left out where there is none. */
  private static String of(
      TopDevice device, TopField used, TopField limit, LongFunction<String> format) {
    String part = with(device, used, format);
    NvmlReading<Long> all = device.number(limit);
    return all instanceof NvmlReading.Absent<?> || TopReadings.isRefusal(part)
        ? part
        : part + " / " + with(device, limit, format);
  }

  private static String pair(TopDevice device, TopField one, TopField other, String format) {
    NvmlReading<Long> first = device.number(one);
    return first instanceof NvmlReading.Value<Long>
        ? String.format(format, first.orElseThrow(), TopReadings.text(device.number(other)))
        : TopReadings.refusal(first);
  }
}
