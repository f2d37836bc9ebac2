package org.metrale.gpu.nvml;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Which devices CUDA shows to a process, from {@code CUDA_VISIBLE_DEVICES} and {@code
 * CUDA_DEVICE_ORDER}. The rules are those of the CUDA programming guide: the list ends at the first
 * entry that names nothing, and an entry that comes twice leaves no device at all.
 */
final class NvmlCudaOrder {
  static final String VISIBLE = "CUDA_VISIBLE_DEVICES";
  static final String ORDER = "CUDA_DEVICE_ORDER";
  private static final String OLD_MIG = "MIG-GPU-";

  private NvmlCudaOrder() {}

  /** A device that could be shown; {@code migs} is empty unless the GPU is in MIG mode. */
  record Candidate<T>(T device, String kind, String uuid, boolean hasMig, List<Slice<T>> migs) {}

  /** A MIG device. */
  record Slice<T>(T device, String uuid, long gpuInstance, long computeInstance) {}

  static List<Candidate<NvmlDevice>> candidates(Nvml session) {
    List<Candidate<NvmlDevice>> out = new ArrayList<>();
    for (NvmlDevice gpu : session.devices()) {
      List<Slice<NvmlDevice>> slices = new ArrayList<>();
      boolean inMigMode = gpu.mig().isEnabled().orElse(false);
      for (NvmlDevice mig : inMigMode ? gpu.mig().devices() : List.<NvmlDevice>of()) {
        slices.add(
            new Slice<>(
                mig,
                mig.uuid().orElse(""),
                mig.mig().gpuInstanceId().orElse(-1L),
                mig.mig().computeInstanceId().orElse(-1L)));
      }
      out.add(
          new Candidate<>(
              gpu,
              gpu.identity().name().orElse(""),
              gpu.uuid().orElse(""),
              inMigMode,
              List.copyOf(slices)));
    }
    return out;
  }

  static <T> List<T> resolve(List<Candidate<T>> gpus, Map<String, String> environment) {
    String visible = environment.get(VISIBLE);
    boolean ordered =
        "PCI_BUS_ID".equals(environment.get(ORDER))
            || gpus.stream().map(Candidate::kind).distinct().count() <= 1;
    List<T> out = new ArrayList<>();
    if (visible == null) {
      requireOrder(ordered);
      for (Candidate<T> gpu : gpus) {
        addWhole(gpu, out);
      }
      return List.copyOf(out);
    }
    Set<T> seen = new HashSet<>();
    for (String entry : visible.split(",", -1)) {
      int before = out.size();
      addEntry(entry.strip(), gpus, ordered, out);
      if (out.size() == before) {
        break;
      }
      if (!seen.add(out.get(before))) {
        return List.of();
      }
    }
    return List.copyOf(out);
  }

  private static <T> void addEntry(
      String entry, List<Candidate<T>> gpus, boolean ordered, List<T> out) {
    if (entry.matches("[0-9]{1,6}")) {
      int position = Integer.parseInt(entry);
      if (position < gpus.size()) {
        requireOrder(ordered);
        addWhole(gpus.get(position), out);
      }
      return;
    }
    List<T> found = entry.startsWith("MIG-") ? migs(entry, gpus) : wholes(entry, gpus);
    if (found.size() == 1) {
      // A beginning that fits several devices names none of them.
      out.add(found.get(0));
    }
  }

  private static <T> List<T> wholes(String entry, List<Candidate<T>> gpus) {
    List<T> out = new ArrayList<>();
    for (Candidate<T> gpu : gpus) {
      if (entry.length() > "GPU-".length() && begins(gpu.uuid(), entry)) {
        addWhole(gpu, out);
      }
    }
    return out;
  }

  private static <T> List<T> migs(String entry, List<Candidate<T>> gpus) {
    List<T> out = new ArrayList<>();
    String[] old = entry.startsWith(OLD_MIG) ? entry.substring("MIG-".length()).split("/") : null;
    for (Candidate<T> gpu : gpus) {
      for (Slice<T> mig : gpu.migs()) {
        boolean fits =
            old == null
                ? begins(mig.uuid(), entry)
                : old.length == 3
                    && begins(gpu.uuid(), old[0])
                    && Long.toString(mig.gpuInstance()).equals(old[1])
                    && Long.toString(mig.computeInstance()).equals(old[2]);
        if (fits) {
          out.add(mig.device());
        }
      }
    }
    return out;
  }

  /** Of a GPU in MIG mode CUDA shows the first MIG device, and nothing if there is none. */
  private static <T> void addWhole(Candidate<T> gpu, List<T> out) {
    if (!gpu.hasMig()) {
      out.add(gpu.device());
    } else if (!gpu.migs().isEmpty()) {
      out.add(gpu.migs().get(0).device());
    }
  }

  private static boolean begins(String uuid, String entry) {
    return uuid.toLowerCase(Locale.ROOT).startsWith(entry.toLowerCase(Locale.ROOT));
  }

  private static void requireOrder(boolean ordered) {
    if (!ordered) {
      throw new IllegalStateException(
          "CUDA numbers GPUs of several kinds by speed, which NVML does not know: set "
              + ORDER
              + "=PCI_BUS_ID, or look the device up by its UUID");
    }
  }
}
