package org.metrale.gpu.nvml;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** Runs in a JVM of its own and prints everything that can be read of a device. */
public final class NvmlProbe {
  private static final List<NvmlField> FIELDS =
      List.of(
          NvmlField.MEMORY_TEMPERATURE,
          NvmlField.CHIP_TO_CHIP_LINKS,
          NvmlField.CHIP_TO_CHIP_MEGABYTES_PER_SECOND,
          NvmlField.POWER_AVERAGE_MILLIWATTS,
          NvmlField.POWER_INSTANT_MILLIWATTS,
          NvmlField.PCIE_SENT_BYTES,
          NvmlField.PCIE_RECEIVED_BYTES,
          NvmlField.RECOVERY_ACTION,
          NvmlField.POWER_SMOOTHING_ENABLED,
          NvmlField.SOFTWARE_THERMAL_NANOSECONDS,
          NvmlField.of(100_000));

  private NvmlProbe() {}

  /** Prints every reading of GPU 1 as {@code group.reading(arguments)=answer}. */
  public static void main(String[] arguments) throws Exception {
    try (Nvml session = Nvml.open()) {
      print("driver", session.driverVersion());
      print("devices", session.deviceCount());
      print("nvml", session.nvmlVersion());
      NvmlDevice device = session.device(1);
      device(device, "");
      for (NvmlDevice mig : device.mig().devices()) {
        device(mig, "mig.");
        print("mig.parent", mig.mig().parent().orElseThrow().equals(device));
        print("mig.found", session.deviceByUuid(mig.uuid().orElseThrow()).equals(mig));
      }
      lookups(session, device);
    }
  }

  private static void device(NvmlDevice device, String prefix) throws Exception {
    print(prefix + "uuid", device.uuid());
    print(prefix + "unified", device.isUnified());
    print(prefix + "memory", memory(device.memory()));
    print(prefix + "bar1", device.bar1());
    print(prefix + "fabric", device.fabric());
    for (NvmlProcessKind kind : NvmlProcessKind.values()) {
      String text = text(device.processes(kind));
      print(
          prefix + "processes(" + kind + ")",
          text.replace("processId=" + ProcessHandle.current().pid() + ",", "processId=SELF,"));
    }
    for (NvmlFieldValue value : device.fields(FIELDS)) {
      print(prefix + "field(" + value.field().id() + ")", value.reading());
    }
    print(prefix + "events", NvmlEventSet.supported(device).map(types -> types.size()));
    print(prefix + "gpm", NvmlGpm.isSupported(device));
    for (Method method : sorted(NvmlDevice.class)) {
      if (method.getParameterCount() == 0
          && method.getReturnType().getPackage() == NvmlProbe.class.getPackage()
          && method.getReturnType() != NvmlReading.class) {
        group(method.invoke(device), prefix + method.getName());
      }
    }
  }

  /** What the host has changes from call to call. */
  private static Object memory(NvmlReading<NvmlMemory> reading) {
    return reading.map(
        memory ->
            memory.source() == NvmlMemorySource.NVML
                ? memory.toString()
                : memory.source()
                    + " unified="
                    + memory.isUnified()
                    + " plausible="
                    + (memory.totalBytes() > memory.freeBytes() && memory.freeBytes() > 0));
  }

  private static void group(Object group, String name) throws Exception {
    for (Method method : sorted(group.getClass())) {
      if (method.getReturnType() == NvmlReading.class) {
        for (Object[] arguments : arguments(group, method)) {
          String shown = Arrays.toString(arguments);
          print(
              name + "." + method.getName() + "(" + shown.substring(1, shown.length() - 1) + ")",
              method.invoke(group, arguments));
        }
      }
    }
  }

  private static List<Object[]> arguments(Object group, Method method) {
    List<Object[]> out = new ArrayList<>(List.<Object[]>of(new Object[0]));
    for (Class<?> type : method.getParameterTypes()) {
      List<Object> choices = type.isEnum() ? List.of(type.getEnumConstants()) : List.of(0, 1);
      if (method.getName().equals("supportedGraphicsMegahertz")) {
        choices =
            List.copyOf(((NvmlClocks) group).supportedMemoryMegahertz().orElse(List.of(1L)))
                .stream()
                .<Object>map(clock -> Math.toIntExact(clock))
                .toList();
      }
      List<Object[]> longer = new ArrayList<>();
      for (Object[] before : out) {
        for (Object choice : choices) {
          Object[] after = Arrays.copyOf(before, before.length + 1);
          after[before.length] = choice;
          longer.add(after);
        }
      }
      out = longer;
    }
    return out;
  }

  private static void lookups(Nvml session, NvmlDevice device) {
    String uuid = device.uuid().orElseThrow();
    String pci = device.identity().pciBusId().orElseThrow();
    print("byUuid", session.deviceByUuid(uuid).equals(device));
    print("byPci", session.deviceByPci(pci).equals(device));
    print("byShortPci", session.deviceByPci(pci.substring(4)).equals(device));
    print("unknownUuid", failure(() -> session.deviceByUuid("GPU-0-0-0-0")));
    print("unknownIndex", failure(() -> session.device(99)));
    print("unknownPci", failure(() -> session.deviceByPci("0000:ff:1f.0")));
    print("borrowed", NvmlDevice.borrow(session, device.pointer()).equals(device));
    print("name", session.processName(ProcessHandle.current().pid()).toOptional().isPresent());
    List<NvmlDevice> all = session.cudaDevices(Map.of());
    print("cuda", all.size());
    print(
        "cuda(1,0)",
        session
            .cudaDevices(Map.of("CUDA_VISIBLE_DEVICES", "1,0"))
            .equals(List.of(all.get(1), all.get(0))));
    String visible = all.get(1).uuid().orElseThrow();
    print(
        "cuda(uuid)",
        session
            .cudaDevice(
                0,
                Map.of(
                    "CUDA_VISIBLE_DEVICES",
                    visible.startsWith("GPU-") ? visible.substring(0, 20) : visible))
            .equals(all.get(1)));
    print("cuda(none)", failure(() -> session.cudaDevice(0, Map.of("CUDA_VISIBLE_DEVICES", "7"))));
  }

  static String failure(Runnable call) {
    try {
      call.run();
      return "none";
    } catch (RuntimeException e) {
      return e.getClass().getSimpleName() + " " + e.getMessage();
    }
  }

  static List<Method> sorted(Class<?> type) {
    return Arrays.stream(type.getDeclaredMethods())
        .filter(method -> Modifier.isPublic(method.getModifiers()))
        .filter(method -> !Modifier.isStatic(method.getModifiers()))
        .sorted(Comparator.comparing(Method::toString))
        .toList();
  }

  static String text(Object answer) {
    if (answer instanceof NvmlReading<?> reading) {
      return reading instanceof NvmlReading.Value<?> value
          ? String.valueOf(value.value())
          : reading.getClass().getSimpleName() + " " + reading.result().code();
    }
    return String.valueOf(answer);
  }

  static void print(String key, Object answer) {
    System.out.println(key + "=" + text(answer));
  }
}
