package org.metrale.gpu.tool;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.PointerScope;
import org.metrale.global.cuda;
import org.metrale.global.nccl;
import org.metrale.global.nvml;
import org.metrale.gpu.NativeLibrary;
import org.metrale.nvml.nvmlDevice_st;

/** What the doctor asks the libraries themselves, each question on its own. */
@SuppressWarnings("try") // a scope is there for what is allocated in it
final class DoctorCalls {
  private static final int TEXT_BYTES = 96;

  private DoctorCalls() {}

  static void cuda(Map<String, Object> out) {
    int code = cuda.cuInit(0);
    if (code != 0) {
      out.put(LibrarySection.PROBLEM, "cuInit: " + cudaText(code));
      return;
    }
    int[] count = new int[1];
    code = cuda.cuDeviceGetCount(count);
    if (code != 0) {
      out.put(LibrarySection.PROBLEM, "cuDeviceGetCount: " + cudaText(code));
      return;
    }
    List<Map<String, Object>> devices = new ArrayList<>();
    for (int ordinal = 0; ordinal < count[0]; ordinal++) {
      devices.add(cudaDevice(ordinal));
    }
    out.put("devices", devices);
    if (devices.isEmpty()) {
      out.put(LibrarySection.PROBLEM, "the driver has no device");
    }
  }

  private static Map<String, Object> cudaDevice(int ordinal) {
    Map<String, Object> out = new LinkedHashMap<>();
    byte[] text = new byte[TEXT_BYTES];
    int[] device = new int[1];
    out.put("ordinal", ordinal);
    int code = cuda.cuDeviceGet(device, ordinal);
    if (code == 0) {
      code = cuda.cuDeviceGetName(text, text.length, device[0]);
      out.put("name", string(text));
    }
    if (code == 0) {
      code = cuda.cuDeviceGetPCIBusId(text, text.length, device[0]);
      out.put("PCI address", string(text));
    }
    if (code != 0) {
      out.put("error", cudaText(code));
    }
    return out;
  }

  private static String cudaText(int code) {
    try (PointerScope scope = new PointerScope()) {
      PointerPointer<BytePointer> text = new PointerPointer<>(1L);
      String name =
          cuda.cuGetErrorName(code, text) == 0
              ? text.get(BytePointer.class, 0).getString()
              : "unknown code";
      return name + " (" + code + ")";
    }
  }

  static void nccl(Map<String, Object> out) {
    if (!NativeLibrary.CUDA.isAvailable()) {
      out.put(LibrarySection.PROBLEM, "NCCL needs the CUDA driver, which is not available");
      return;
    }
    int[] count = new int[1];
    int code = cuda.cuInit(0);
    if (code == 0) {
      code = cuda.cuDeviceGetCount(count);
    }
    if (code != 0 || count[0] == 0) {
      out.put(
          LibrarySection.PROBLEM,
          "NCCL needs a CUDA device: " + (code == 0 ? "there is none" : cudaText(code)));
      return;
    }
    int[] version = new int[1];
    code = nccl.ncclGetVersion(version);
    if (code != 0) {
      out.put(LibrarySection.PROBLEM, "ncclGetVersion: code " + code);
    }
  }

  static void nvml(Map<String, Object> out) {
    int code = nvml.nvmlInit_v2();
    if (code != 0) {
      out.put(LibrarySection.PROBLEM, "nvmlInit_v2: " + nvmlText(code));
      return;
    }
    try (PointerScope scope = new PointerScope()) {
      byte[] text = new byte[TEXT_BYTES];
      if (nvml.nvmlSystemGetDriverVersion(text, text.length) == 0) {
        out.put("driver version", string(text));
      }
      if (nvml.nvmlSystemGetNVMLVersion(text, text.length) == 0) {
        out.put("NVML version", string(text));
      }
      int[] count = new int[1];
      code = nvml.nvmlDeviceGetCount_v2(count);
      if (code != 0) {
        out.put(LibrarySection.PROBLEM, "nvmlDeviceGetCount_v2: " + nvmlText(code));
        return;
      }
      List<Map<String, Object>> devices = new ArrayList<>();
      for (int deviceIndex = 0; deviceIndex < count[0]; deviceIndex++) {
        devices.add(nvmlDevice(deviceIndex));
      }
      out.put("devices", devices);
      if (devices.isEmpty()) {
        out.put(LibrarySection.PROBLEM, "the driver has no device");
      }
    } finally {
      nvml.nvmlShutdown();
    }
  }

  private static Map<String, Object> nvmlDevice(int deviceIndex) {
    Map<String, Object> out = new LinkedHashMap<>();
    byte[] text = new byte[TEXT_BYTES];
    nvmlDevice_st device = new nvmlDevice_st(null);
    out.put("index", deviceIndex);
    int code = nvml.nvmlDeviceGetHandleByIndex_v2(deviceIndex, device);
    if (code == 0) {
      code = nvml.nvmlDeviceGetName(device, text, text.length);
      out.put("name", string(text));
    }
    if (code == 0) {
      code = nvml.nvmlDeviceGetUUID(device, text, text.length);
      out.put("UUID", string(text));
    }
    if (code != 0) {
      out.put("error", nvmlText(code));
    }
    return out;
  }

  private static String nvmlText(int code) {
    BytePointer text = nvml.nvmlErrorString(code);
    return (text == null ? "unknown code" : text.getString()) + " (" + code + ")";
  }

  private static String string(byte[] text) {
    int end = 0;
    while (end < text.length && text[end] != 0) {
      end++;
    }
    return new String(text, 0, end, StandardCharsets.UTF_8);
  }
}
