package org.metrale.tools;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.metrale.gpu.nvml.Nvml;
import org.metrale.gpu.nvml.NvmlDevice;
import org.metrale.gpu.nvml.NvmlException;
import org.metrale.gpu.nvml.NvmlMemory;
import org.metrale.gpu.nvml.NvmlProcess;
import org.metrale.gpu.nvml.NvmlProcessKind;
import org.metrale.gpu.nvml.NvmlReading;

/**
 * One GPU, or MIG device, at one time.
 *
 * @param label NVML's index, for a MIG device with the instances after it
 * @param memory with its source, which the numbers alone do not tell
 * @param migProblem why the MIG devices are not listed; empty if they are
 */
record TopDevice(
    String label,
    NvmlReading<String> name,
    NvmlReading<String> uuid,
    boolean unified,
    NvmlReading<NvmlMemory> memory,
    NvmlReading<Boolean> mig,
    Map<TopField, NvmlReading<Long>> numbers,
    Map<NvmlProcessKind, NvmlReading<List<TopProcess>>> processes,
    String migProblem) {
  /**
   * A process on a device.
   *
   * @param name what NVML says it is called
   */
  record TopProcess(NvmlProcess process, NvmlReading<String> name) {}

  /** Reads a GPU and its MIG devices; these come after it. */
  static List<TopDevice> read(Nvml session, int deviceIndex) {
    NvmlDevice device = session.device(deviceIndex);
    List<TopDevice> out = new ArrayList<>();
    TopPatience patience = new TopPatience();
    String problem = "";
    try {
      for (NvmlDevice part : device.mig().devices()) {
        String label =
            deviceIndex
                + "/"
                + TopReadings.text(patience.ask(() -> part.mig().gpuInstanceId()))
                + "/"
                + TopReadings.text(patience.ask(() -> part.mig().computeInstanceId()));
        out.add(read(session, part, patience, label, ""));
      }
    } catch (NvmlException e) {
      problem = e.getMessage();
    }
    out.add(0, read(session, device, patience, Integer.toString(deviceIndex), problem));
    return out;
  }

  private static TopDevice read(
      Nvml session, NvmlDevice device, TopPatience patience, String label, String migProblem) {
    // First what names the device: it is still known where the sensors hang.
    NvmlReading<String> name = patience.ask(() -> device.identity().name());
    NvmlReading<String> uuid = patience.ask(device::uuid);
    Map<TopField, NvmlReading<Long>> numbers = new EnumMap<>(TopField.class);
    for (TopField field : TopField.values()) {
      numbers.put(field, patience.ask(() -> field.read(device)));
    }
    Map<NvmlProcessKind, NvmlReading<List<TopProcess>>> processes =
        new EnumMap<>(NvmlProcessKind.class);
    for (NvmlProcessKind kind : NvmlProcessKind.values()) {
      processes.put(
          kind,
          patience
              .ask(() -> device.processes(kind))
              .map(all -> all.stream().map(p -> process(session, patience, p)).toList()));
    }
    return new TopDevice(
        label,
        name,
        uuid,
        patience.ask(() -> new NvmlReading.Value<>(device.isUnified())).orElse(false),
        patience.ask(device::memory),
        patience.ask(() -> device.mig().isEnabled()),
        numbers,
        processes,
        migProblem);
  }

  private static TopProcess process(Nvml session, TopPatience patience, NvmlProcess process) {
    return new TopProcess(process, patience.ask(() -> session.processName(process.processId())));
  }

  NvmlReading<Long> number(TopField field) {
    return numbers.get(field);
  }

  Map<String, Object> toJson() {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("gpu", label);
    out.put("name", TopReadings.json(name));
    out.put("uuid", TopReadings.json(uuid));
    out.put("unified_memory", unified);
    out.put("memory_source", TopReadings.json(memory.map(m -> m.source().name())));
    out.put("mig_enabled", TopReadings.json(mig));
    if (!migProblem.isEmpty()) {
      out.put("mig_problem", migProblem);
    }
    numbers.forEach((field, reading) -> out.put(field.key(), TopReadings.json(reading)));
    Map<String, Object> lists = new LinkedHashMap<>();
    processes.forEach(
        (kind, reading) ->
            lists.put(
                kind.name().toLowerCase(Locale.ROOT),
                TopReadings.json(reading.map(all -> all.stream().map(TopDevice::json).toList()))));
    out.put("processes", lists);
    return out;
  }

  private static Map<String, Object> json(TopProcess one) {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("pid", one.process().processId());
    out.put("name", TopReadings.json(one.name()));
    if (one.process().memoryBytes().isPresent()) {
      out.put("memory_bytes", one.process().memoryBytes().getAsLong());
    }
    return out;
  }
}
