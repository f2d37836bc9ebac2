package org.metrale.gpu.nvml;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.metrale.global.nvml;
import org.metrale.nvml.nvmlDevice_st;

/**
 * The one class that calls the generated code. Methods carry the name of the C function; those that
 * return {@link NvmlResult} or an answer never throw for a code, because a sensor's refusal is an
 * answer.
 */
final class NvmlCalls {
  /** Layout of {@code struct metrale_nvml_step}. */
  static final int STEP_BYTES = 8;

  private static final int TEXT_BYTES = 256;

  private NvmlCalls() {}

  static long address(ByteBuffer direct) {
    return new Pointer(direct).address();
  }

  static nvmlDevice_st pointer(long handle) {
    // A byte pointer counts in bytes, here from address 0.
    return new nvmlDevice_st(new BytePointer((Pointer) null).getPointer(handle));
  }

  static void metrale_nvml_init() {
    check("nvmlInit_v2", nvml.metrale_nvml_init(), "");
  }

  static void metrale_nvml_shutdown() {
    check("nvmlShutdown", nvml.metrale_nvml_shutdown(), "");
  }

  static int metrale_nvml_count() {
    NvmlScratch scratch = NvmlScratch.ofThread();
    check("nvmlDeviceGetCount_v2", nvml.metrale_nvml_count(scratch.address()), "");
    return scratch.bytes().getInt(0);
  }

  static long metrale_nvml_device_by_index(int deviceIndex) {
    NvmlScratch scratch = NvmlScratch.ofThread();
    int code =
        nvml.metrale_nvml_device(nvml.METRALE_NVML_BY_INDEX, deviceIndex, 0, scratch.address());
    check("nvmlDeviceGetHandleByIndex_v2", code, "deviceIndex=" + deviceIndex);
    return scratch.bytes().getLong(0);
  }

  static long metrale_nvml_device_by_uuid(String uuid) {
    return byText("nvmlDeviceGetHandleByUUID", nvml.METRALE_NVML_BY_UUID, uuid, "uuid=");
  }

  static long metrale_nvml_device_by_pci(String address) {
    return byText(
        "nvmlDeviceGetHandleByPciBusId_v2", nvml.METRALE_NVML_BY_PCI, address, "pciBusId=");
  }

  /** 0 where there is no MIG device of that index. */
  static long metrale_nvml_mig(long gpu, int migIndex) {
    NvmlScratch scratch = NvmlScratch.ofThread();
    int code = nvml.metrale_nvml_device(nvml.METRALE_NVML_MIG, gpu, migIndex, scratch.address());
    NvmlResult result = new NvmlResult(code);
    if (result.equals(NvmlResult.NOT_FOUND) || result.isAbsent()) {
      return 0;
    }
    check("nvmlDeviceGetMigDeviceHandleByIndex", code, "migIndex=" + migIndex);
    return scratch.bytes().getLong(0);
  }

  static long metrale_nvml_mig_parent(long mig) {
    NvmlScratch scratch = NvmlScratch.ofThread();
    int code = nvml.metrale_nvml_device(nvml.METRALE_NVML_MIG_PARENT, mig, 0, scratch.address());
    check("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", code, "");
    return scratch.bytes().getLong(0);
  }

  static NvmlAnswer metrale_nvml_query_one(long device, NvmlQuery query, int argument) {
    NvmlScratch scratch = NvmlScratch.ofThread();
    nvml.metrale_nvml_query_one(device, query.number(), argument, scratch.address());
    return new NvmlAnswer(scratch.bytes());
  }

  /** Allocates nothing. */
  static int metrale_nvml_sample(long device, long plan, int countSteps, long answers) {
    return nvml.metrale_nvml_sample(device, plan, countSteps, answers);
  }

  static NvmlReading<String> metrale_nvml_text(long device, NvmlTextQuery query, int argument) {
    NvmlScratch scratch = NvmlScratch.ofThread();
    int code =
        nvml.metrale_nvml_text(device, query.number(), argument, scratch.address(), TEXT_BYTES);
    return NvmlReading.of(new NvmlResult(code), () -> text(scratch.bytes()));
  }

  static NvmlResult metrale_nvml_fields(long device, NvmlScratch fields, int count) {
    return new NvmlResult(nvml.metrale_nvml_fields(device, fields.address(), count));
  }

  /** Writes processes into the scratch; the true number goes to its first bytes. */
  static NvmlResult metrale_nvml_processes(
      long device, int kind, NvmlScratch into, int offsetBytes, int capacity) {
    return new NvmlResult(
        nvml.metrale_nvml_processes(
            device, kind, into.address() + offsetBytes, capacity, into.address()));
  }

  static NvmlResult metrale_nvml_clocks(
      long device, int memoryMegahertz, NvmlScratch into, int offsetBytes, int capacity) {
    return new NvmlResult(
        nvml.metrale_nvml_clocks(
            device, memoryMegahertz, into.address() + offsetBytes, capacity, into.address()));
  }

  static NvmlResult metrale_nvml_fabric_info(long device, NvmlScratch into) {
    return new NvmlResult(nvml.metrale_nvml_fabric_info(device, into.address()));
  }

  static long metrale_nvml_events_create() {
    NvmlScratch scratch = NvmlScratch.ofThread();
    check("nvmlEventSetCreate", nvml.metrale_nvml_events_create(scratch.address()), "");
    return scratch.bytes().getLong(0);
  }

  static void metrale_nvml_events_free(long set) {
    check("nvmlEventSetFree", nvml.metrale_nvml_events_free(set), "");
  }

  static void metrale_nvml_events_register(long device, long types, long set) {
    check(
        "nvmlDeviceRegisterEvents",
        nvml.metrale_nvml_events_register(device, types, set),
        "types=0x" + Long.toHexString(types));
  }

  /** False if the wait is over; else the scratch has an {@code nvmlEventData_t}. */
  static boolean metrale_nvml_events_wait(long set, int timeoutMillis, NvmlScratch into) {
    int code = nvml.metrale_nvml_events_wait(set, timeoutMillis, into.address());
    if (code == NvmlResult.TIMEOUT.code()) {
      return false;
    }
    check("nvmlEventSetWait_v2", code, "");
    return true;
  }

  static long metrale_nvml_gpm_create() {
    NvmlScratch scratch = NvmlScratch.ofThread();
    check("nvmlGpmSampleAlloc", nvml.metrale_nvml_gpm_create(scratch.address()), "");
    return scratch.bytes().getLong(0);
  }

  static void metrale_nvml_gpm_free(long sample) {
    check("nvmlGpmSampleFree", nvml.metrale_nvml_gpm_free(sample), "");
  }

  static void metrale_nvml_gpm_take(long device, int gpuInstance, long sample) {
    check(
        gpuInstance < 0 ? "nvmlGpmSampleGet" : "nvmlGpmMigSampleGet",
        nvml.metrale_nvml_gpm_take(device, gpuInstance, sample),
        gpuInstance < 0 ? "" : "gpuInstance=" + gpuInstance);
  }

  static void metrale_nvml_gpm_metrics(long first, long second, NvmlScratch metrics, int count) {
    check(
        "nvmlGpmMetricsGet",
        nvml.metrale_nvml_gpm_metrics(first, second, metrics.address(), count),
        "metrics=" + count);
  }

  static NvmlException failure(String call, NvmlResult result, String detail) {
    String text = metrale_nvml_text(0, NvmlTextQuery.ERROR, result.code()).toOptional().orElse("");
    return new NvmlException(call, result, text, detail);
  }

  private static void check(String call, int code, String detail) {
    if (code != 0) {
      throw failure(call, new NvmlResult(code), detail);
    }
  }

  private static long byText(String call, int key, String text, String detail) {
    byte[] ascii = text.getBytes(StandardCharsets.UTF_8);
    int textOffset = Long.BYTES;
    NvmlScratch scratch = NvmlScratch.ofThread().atLeast(textOffset + ascii.length + 1);
    scratch.bytes().put(textOffset, ascii).put(textOffset + ascii.length, (byte) 0);
    int code = nvml.metrale_nvml_device(key, scratch.address() + textOffset, 0, scratch.address());
    check(call, code, detail + text);
    return scratch.bytes().getLong(0);
  }

  private static String text(ByteBuffer in) {
    int length = 0;
    while (length < TEXT_BYTES && in.get(length) != 0) {
      length++;
    }
    byte[] out = new byte[length];
    in.get(0, out);
    return new String(out, StandardCharsets.UTF_8);
  }
}
