package org.metrale.gpu.cuda;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.List;
import org.bytedeco.cuda.cudart.CUctx_st;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.metrale.global.cuda;

/**
 * The one class that calls the generated code of the driver: a method a C function, under its name.
 *
 * <p>Answers that are not errors come back as they are: not ready (600), and {@link #CLOSED} for a
 * stream or event that was closed.
 */
final class CudaCalls {
  static final int SUCCESS = 0;
  static final int CLOSED = -1;
  static final int NOT_READY = 600;

  /** What {@link #driverFunctions()} hands out. */
  static final List<String> DRIVER_FUNCTIONS =
      List.of(
          "cuCtxGetCurrent",
          "cuCtxPushCurrent_v2",
          "cuCtxPopCurrent_v2",
          "cuEventRecord",
          "cuEventQuery");

  static final int STREAM_NON_BLOCKING = 1;
  static final int EVENT_DISABLE_TIMING = 2;
  static final int ATTRIBUTE_INTEGRATED = cuda.CU_DEVICE_ATTRIBUTE_INTEGRATED;
  static final int ATTRIBUTE_MAJOR = cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
  static final int ATTRIBUTE_MINOR = cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
  static final int ATTRIBUTE_GPU_DIRECT_RDMA = cuda.CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED;
  static final int ATTRIBUTE_DMA_BUF = cuda.CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;

  private static final int INVALID_DEVICE = 101;
  private static final int TEXT_BYTES = 256;
  private static final int UUID_BYTES = 16;
  private static final int NO_DEVICE = -1;

  private CudaCalls() {}

  /** Turns a code into an exception unless it is success. */
  static void check(String call, int code, int device, String detail) {
    if (code != SUCCESS) {
      throw failed(call, code, device, detail);
    }
  }

  static CudaException failed(String call, int code, int device, String detail) {
    return new CudaException(call, new CudaResult(code), text(code), device, detail);
  }

  /** What was made, unless its number says that it was not. */
  private static long made(String call, long value, int device, String detail) {
    if (value < 0) {
      throw failed(call, (int) -value, device, detail);
    }
    return value;
  }

  private static String text(int code) {
    byte[] text = new byte[TEXT_BYTES];
    return new String(text, 0, cuda.metrale_cuErrorText(code, text, text.length), UTF_8);
  }

  private static String text(byte[] zeroEnded) {
    int length = 0;
    while (length < zeroEnded.length && zeroEnded[length] != 0) {
      length++;
    }
    return new String(zeroEnded, 0, length, UTF_8);
  }

  static void cuInit() {
    check("cuInit", cuda.cuInit(0), NO_DEVICE, "");
  }

  static int cuDriverGetVersion() {
    int[] version = new int[1];
    check("cuDriverGetVersion", cuda.cuDriverGetVersion(version), NO_DEVICE, "");
    return version[0];
  }

  static int cuDeviceGetCount() {
    int[] count = new int[1];
    check("cuDeviceGetCount", cuda.cuDeviceGetCount(count), NO_DEVICE, "");
    return count[0];
  }

  static int cuDeviceGet(int ordinal) {
    int[] device = new int[1];
    check("cuDeviceGet", cuda.cuDeviceGet(device, ordinal), ordinal, "");
    return device[0];
  }

  static String cuDeviceGetName(int device) {
    byte[] name = new byte[TEXT_BYTES];
    check("cuDeviceGetName", cuda.cuDeviceGetName(name, name.length, device), device, "");
    return text(name);
  }

  static byte[] cuDeviceGetUuid(int device) {
    byte[] uuid = new byte[UUID_BYTES];
    check("cuDeviceGetUuid", cuda.cuDeviceGetUuid(uuid, device), device, "");
    return uuid;
  }

  static String cuDeviceGetPCIBusId(int device) {
    byte[] address = new byte[TEXT_BYTES];
    check(
        "cuDeviceGetPCIBusId",
        cuda.cuDeviceGetPCIBusId(address, address.length, device),
        device,
        "");
    return text(address);
  }

  /** The device at a PCI address, or -1 if CUDA has none there. */
  static int cuDeviceGetByPCIBusId(String address) {
    int[] device = new int[1];
    int code = cuda.cuDeviceGetByPCIBusId(device, address);
    if (code == CudaResult.INVALID_VALUE.code() || code == INVALID_DEVICE) {
      return -1;
    }
    check("cuDeviceGetByPCIBusId", code, NO_DEVICE, "address=" + address);
    return device[0];
  }

  static long cuDeviceTotalMem(int device) {
    return made("cuDeviceTotalMem", cuda.metrale_cuDeviceTotalMem(device), device, "");
  }

  static int cuDeviceGetAttribute(int attribute, int device) {
    int[] value = new int[1];
    check(
        "cuDeviceGetAttribute",
        cuda.cuDeviceGetAttribute(value, attribute, device),
        device,
        "attribute=" + attribute);
    return value[0];
  }

  static boolean cuDeviceCanAccessPeer(int device, int peer) {
    int[] can = new int[1];
    check(
        "cuDeviceCanAccessPeer",
        cuda.cuDeviceCanAccessPeer(can, device, peer),
        device,
        "peer=" + peer);
    return can[0] != 0;
  }

  static long cuDevicePrimaryCtxRetain(int device) {
    return made(
        "cuDevicePrimaryCtxRetain", cuda.metrale_cuDevicePrimaryCtxRetain(device), device, "");
  }

  static void cuDevicePrimaryCtxRelease(int device) {
    check("cuDevicePrimaryCtxRelease", cuda.metrale_cuDevicePrimaryCtxRelease(device), device, "");
  }

  /** The context that is current on this thread, or 0. */
  static long cuCtxGetCurrent() {
    return made("cuCtxGetCurrent", cuda.metrale_cuCtxGetCurrent(), NO_DEVICE, "");
  }

  static void cuCtxPushCurrent(long context, int device) {
    check("cuCtxPushCurrent", cuda.cuCtxPushCurrent(context(context)), device, "");
  }

  static void cuCtxPopCurrent(int device) {
    try (PointerPointer<CUctx_st> popped = new PointerPointer<>(1)) {
      check("cuCtxPopCurrent", cuda.cuCtxPopCurrent(popped), device, "");
    }
  }

  static int cuCtxGetDevice(long context) {
    return (int) made("cuCtxGetDevice", cuda.metrale_cuCtxGetDevice(context), NO_DEVICE, "");
  }

  static int[] cuCtxGetStreamPriorityRange(long context, int device) {
    int[] two = new int[2];
    check(
        "cuCtxGetStreamPriorityRange",
        cuda.metrale_cuCtxGetStreamPriorityRange(context, two),
        device,
        "");
    return two;
  }

  static long[] cuMemGetInfo(long context, int device) {
    long[] two = new long[2];
    check("cuMemGetInfo", cuda.metrale_cuMemGetInfo(context, two), device, "");
    return two;
  }

  static long cuStreamCreateWithPriority(long context, int device, int flags, int priority) {
    return made(
        "cuStreamCreateWithPriority",
        cuda.metrale_cuStreamCreateWithPriority(context, flags, priority),
        device,
        "flags=" + flags + " priority=" + priority);
  }

  static void cuStreamDestroy(long context, int device, long stream) {
    check("cuStreamDestroy", cuda.metrale_cuStreamDestroy(context, stream), device, "");
  }

  static long cuStreamGetFlags(long slot, long generation) {
    return cuda.metrale_cuStreamGetFlags(slot, generation);
  }

  static long cuStreamGetPriority(long slot, long generation) {
    return cuda.metrale_cuStreamGetPriority(slot, generation);
  }

  static int cuStreamQuery(long slot, long generation) {
    return cuda.metrale_cuStreamQuery(slot, generation);
  }

  static int cuStreamWaitEvent(long slot, long generation, long eventSlot, long eventGeneration) {
    return cuda.metrale_cuStreamWaitEvent(slot, generation, eventSlot, eventGeneration);
  }

  static long cuEventCreate(long context, int device, int flags) {
    return made(
        "cuEventCreate", cuda.metrale_cuEventCreate(context, flags), device, "flags=" + flags);
  }

  static void cuEventDestroy(long context, int device, long event) {
    check("cuEventDestroy", cuda.metrale_cuEventDestroy(context, event), device, "");
  }

  static int cuEventRecord(long eventSlot, long eventGeneration, long slot, long generation) {
    return cuda.metrale_cuEventRecord(eventSlot, eventGeneration, slot, generation);
  }

  static int cuEventQuery(long slot, long generation) {
    return cuda.metrale_cuEventQuery(slot, generation);
  }

  /** The code in the upper half, the bits of a float (milliseconds) in the lower. */
  static long cuEventElapsedTime(long slot, long generation, long startSlot, long startGeneration) {
    return cuda.metrale_cuEventElapsedTime(slot, generation, startSlot, startGeneration);
  }

  static long cuMemAlloc(long context, int device, long bytes) {
    return made("cuMemAlloc", cuda.metrale_cuMemAlloc(context, bytes), device, "bytes=" + bytes);
  }

  static long cuMemAllocManaged(long context, int device, long bytes) {
    return made(
        "cuMemAllocManaged",
        cuda.metrale_cuMemAllocManaged(context, bytes),
        device,
        "bytes=" + bytes);
  }

  static void cuMemFree(long context, int device, long address) {
    check("cuMemFree", cuda.metrale_cuMemFree(context, address), device, "");
  }

  static long cuMemHostAlloc(long context, int device, long bytes) {
    return made(
        "cuMemHostAlloc", cuda.metrale_cuMemHostAlloc(context, bytes, 0), device, "bytes=" + bytes);
  }

  static void cuMemFreeHost(long context, int device, long address) {
    check("cuMemFreeHost", cuda.metrale_cuMemFreeHost(context, address), device, "");
  }

  static void cuMemHostRegister(long context, int device, long address, long bytes) {
    check(
        "cuMemHostRegister",
        cuda.metrale_cuMemHostRegister(context, address, bytes, 0),
        device,
        "bytes=" + bytes);
  }

  static void cuMemHostUnregister(long context, int device, long address) {
    check("cuMemHostUnregister", cuda.metrale_cuMemHostUnregister(context, address), device, "");
  }

  static long cuMemHostGetDevicePointer(long context, int device, long address) {
    return made(
        "cuMemHostGetDevicePointer",
        cuda.metrale_cuMemHostGetDevicePointer(context, address),
        device,
        "");
  }

  /** The memory type (0 if the driver does not know the address) and the device's ordinal or -1. */
  static int[] cuPointerGetAttribute(long context, int device, long address) {
    int[] two = new int[2];
    check("cuPointerGetAttribute", cuda.metrale_cuPointerLocate(context, address, two), device, "");
    return two;
  }

  static int cuMemcpyAsync(long slot, long generation, long target, long source, long bytes) {
    return cuda.metrale_cuMemcpyAsync(slot, generation, target, source, bytes);
  }

  static int cuMemcpyPeerAsync(
      CudaStream stream, CudaBuffer target, CudaContext to, CudaBuffer source, CudaContext from) {
    return cuda.metrale_cuMemcpyPeerAsync(
        stream.slot(),
        stream.generation(),
        target.address(),
        to.handle(),
        source.address(),
        from.handle(),
        source.lengthBytes());
  }

  static int cuMemsetAsync(
      CudaStream stream, long target, int value, int elementBytes, long count) {
    return cuda.metrale_cuMemsetAsync(
        stream.slot(), stream.generation(), target, value, elementBytes, count);
  }

  static int cuMemGetHandleForAddressRange(long context, int device, long address, long bytes) {
    return (int)
        made(
            "cuMemGetHandleForAddressRange",
            cuda.metrale_cuMemGetHandleForAddressRange(context, address, bytes),
            device,
            "bytes=" + bytes);
  }

  static long openSlot(long context, long handle) {
    return cuda.metrale_slot_open(context, handle);
  }

  static long slotGeneration(long slot) {
    return cuda.metrale_slot_generation(slot);
  }

  static boolean closeSlot(long slot, int limitMillis) {
    return cuda.metrale_slot_close(slot, limitMillis);
  }

  static void recycleSlot(long slot) {
    cuda.metrale_slot_recycle(slot);
  }

  /** What the glue of another library needs of the driver. */
  static long driverFunctions() {
    return cuda.metrale_driver_functions();
  }

  /** The address where a pointer's range begins. */
  static long address(Pointer pointer) {
    return pointer.address() + pointer.position() * pointer.sizeof();
  }

  static long address(ByteBuffer direct) {
    return new BytePointer(direct).address();
  }

  static BytePointer pointer(long address, long lengthBytes) {
    BytePointer out = new BytePointer(new Address(address));
    out.capacity(lengthBytes);
    return out;
  }

  static CUstream_st stream(long handle) {
    return new CUstream_st(new Address(handle));
  }

  static CUevent_st event(long handle) {
    return new CUevent_st(new Address(handle));
  }

  static CUctx_st context(long handle) {
    return new CUctx_st(new Address(handle));
  }

  /** A pointer to a given place, which JavaCPP never frees. */
  private static final class Address extends Pointer {
    Address(long address) {
      this.address = address;
    }
  }
}
