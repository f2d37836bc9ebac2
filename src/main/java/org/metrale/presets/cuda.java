package org.metrale.presets;

import java.util.List;
import org.bytedeco.cuda.presets.cudart;
import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.LoadEnabled;
import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;
import org.bytedeco.javacpp.tools.Info;
import org.bytedeco.javacpp.tools.InfoMap;
import org.bytedeco.javacpp.tools.InfoMapper;

/**
 * Recipe for the part of {@code cuda.h} that is needed here: everything around a kernel but
 * kernels.
 */
@Properties(
    inherit = cudart.class,
    value =
        @Platform(
            value = {"linux-x86_64", "linux-arm64"},
            compiler = "cpp17",
            include = {
              "cuda.h",
              "metrale_cuda_table.h",
              "metrale_table.h",
              "metrale_cuda.h",
              "metrale_cuda_memory.h"
            },
            library = "jnimetralecuda"),
    target = "org.metrale.cuda",
    global = "org.metrale.global.cuda")
public class cuda implements InfoMapper, LoadEnabled {
  /** The driver calls that are bound, by the name that a program writes. */
  public static final List<String> FUNCTIONS =
      List.of(
          "cuGetErrorString",
          "cuGetErrorName",
          "cuInit",
          "cuDriverGetVersion",
          "cuDeviceGet",
          "cuDeviceGetCount",
          "cuDeviceGetName",
          "cuDeviceGetUuid",
          "cuDeviceTotalMem",
          "cuDeviceGetAttribute",
          "cuDeviceGetByPCIBusId",
          "cuDeviceGetPCIBusId",
          "cuDeviceCanAccessPeer",
          "cuDevicePrimaryCtxRetain",
          "cuDevicePrimaryCtxRelease",
          "cuDevicePrimaryCtxSetFlags",
          "cuDevicePrimaryCtxGetState",
          "cuDevicePrimaryCtxReset",
          "cuCtxPushCurrent",
          "cuCtxPopCurrent",
          "cuCtxSetCurrent",
          "cuCtxGetCurrent",
          "cuCtxGetDevice",
          "cuCtxSynchronize",
          "cuCtxGetApiVersion",
          "cuCtxGetStreamPriorityRange",
          "cuStreamCreate",
          "cuStreamCreateWithPriority",
          "cuStreamGetPriority",
          "cuStreamGetFlags",
          "cuStreamGetId",
          "cuStreamWaitEvent",
          "cuStreamQuery",
          "cuStreamSynchronize",
          "cuStreamDestroy",
          "cuEventCreate",
          "cuEventRecord",
          "cuEventRecordWithFlags",
          "cuEventQuery",
          "cuEventSynchronize",
          "cuEventDestroy",
          "cuEventElapsedTime",
          "cuLaunchHostFunc",
          "cuMemGetInfo",
          "cuMemAlloc",
          "cuMemFree",
          "cuMemGetAddressRange",
          "cuMemAllocAsync",
          "cuMemFreeAsync",
          "cuMemAllocManaged",
          "cuMemAllocHost",
          "cuMemFreeHost",
          "cuMemHostAlloc",
          "cuMemHostGetDevicePointer",
          "cuMemHostGetFlags",
          "cuMemHostRegister",
          "cuMemHostUnregister",
          "cuPointerGetAttribute",
          "cuMemGetHandleForAddressRange",
          "cuMemcpy",
          "cuMemcpyPeer",
          "cuMemcpyHtoD",
          "cuMemcpyDtoH",
          "cuMemcpyDtoD",
          "cuMemcpyAsync",
          "cuMemcpyPeerAsync",
          "cuMemcpyHtoDAsync",
          "cuMemcpyDtoHAsync",
          "cuMemcpyDtoDAsync",
          "cuMemsetD8",
          "cuMemsetD16",
          "cuMemsetD32",
          "cuMemsetD8Async",
          "cuMemsetD16Async",
          "cuMemsetD32Async");

  private static final String ENUMERATIONS =
      "CUctx_flags|CUstream_flags|CUevent_flags|CUevent_record_flags|CUevent_wait_flags"
          + "|CUmemorytype|CUdevice_attribute|CUpointer_attribute|CUresult|CUcomputemode"
          + "|CUmemAttach_flags|CUmemRangeHandleType";

  @Override
  public void init(ClassProperties properties) {
    Recipe.detach(
        properties,
        "cuda.h",
        "metrale_cuda_table.h",
        "metrale_table.h",
        "metrale_cuda.h",
        "metrale_cuda_memory.h");
  }

  @Override
  public void map(InfoMap map) {
    Recipe.table(map, "cuda");
    // The rest of the header (graphs, textures, kernels) would triple the glue for nothing.
    map.put(
        new Info("cuda.h")
            .linePatterns(
                "typedef enum (" + ENUMERATIONS + "|cudaError)_enum *\\{?.*",
                "\\} *\\w+;.*",
                "(CUresult CUDAAPI ("
                    + String.join("|", FUNCTIONS)
                    + ")\\(.*\\);.*)"
                    + "|(#define CUDA_VERSION .*)"
                    + "|(#define CU_MEMHOST(ALLOC|REGISTER)_\\w+ .*)"
                    + "|(typedef void \\(CUDA_CB \\*CUhostFn\\).*)"));
    // Macros without a value: taken for types, every declaration with them would be dropped.
    map.put(new Info("CUDAAPI", "CUDA_CB").cppTypes().annotations());
    // Integer types of the driver: as classes they would be objects of bytedeco that need
    // jnicudart.
    map.put(
        new Info("CUresult", "CUdevice", "CUdevice_v1")
            .cast()
            .valueTypes("int")
            .pointerTypes("IntPointer", "IntBuffer", "int[]"));
    map.put(
        new Info("CUdeviceptr", "CUdeviceptr_v2")
            .cast()
            .valueTypes("long")
            .pointerTypes("LongPointer", "LongBuffer", "long[]"));
    // Sixteen bytes; bytedeco's class for it needs jnicudart.
    map.put(new Info("CUuuid").cast().pointerTypes("BytePointer", "ByteBuffer", "byte[]"));
    // Opaque handles are bytedeco's, so that objects can be handed over in both directions.
    Recipe.handle(map, "CUcontext", "CUctx_st");
    Recipe.handle(map, "CUstream", "CUstream_st");
    Recipe.handle(map, "CUevent", "CUevent_st");
    Recipe.throwNothing(map, FUNCTIONS);
    Recipe.throwNothing(
        map,
        List.of(
            "metrale_cuStreamQuery",
            "metrale_cuStreamWaitEvent",
            "metrale_cuEventRecord",
            "metrale_cuEventQuery"));
    // Two packages have a class of this name; ours does not need jnicudart.
    map.put(new Info().javaText("import org.metrale.cuda.CUhostFn;"));
    map.put(new Info("CUhostFn").valueTypes("CUhostFn").pointerTypes("CUhostFn"));
  }
}
