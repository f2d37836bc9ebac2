/*
 * Flat calls of the CUDA driver for memory: made, freed, pinned, located, copied and filled. As those of
 * metrale_cuda.h, which says what they take and answer.
 */
#ifndef METRALE_CUDA_MEMORY_H
#define METRALE_CUDA_MEMORY_H
#ifndef METRALE_PARSER
#include "metrale_cuda.h"
#endif

/* [out] two: free and total bytes. */
static inline int metrale_cuMemGetInfo(int64_t context, int64_t *two)
{
    metrale_current current(context);
    size_t free_bytes = 0, total = 0;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result = cuMemGetInfo(&free_bytes, &total);
    }
    two[0] = static_cast<int64_t>(free_bytes);
    two[1] = static_cast<int64_t>(total);
    return result;
}

static inline int64_t metrale_cuMemAlloc(int64_t context, int64_t bytes)
{
    metrale_current current(context);
    CUdeviceptr address = 0;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result = cuMemAlloc(&address, static_cast<size_t>(bytes));
    }
    return metrale_made(result, address);
}

static inline int64_t metrale_cuMemAllocManaged(int64_t context, int64_t bytes)
{
    metrale_current current(context);
    CUdeviceptr address = 0;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result = cuMemAllocManaged(&address, static_cast<size_t>(bytes), CU_MEM_ATTACH_GLOBAL);
    }
    return metrale_made(result, address);
}

static inline int metrale_cuMemFree(int64_t context, int64_t address)
{
    metrale_current current(context);

    return current.result != CUDA_SUCCESS ? current.result
                                          : cuMemFree(static_cast<CUdeviceptr>(address));
}

static inline int64_t metrale_cuMemHostAlloc(int64_t context, int64_t bytes, int flags)
{
    metrale_current current(context);
    void *address = nullptr;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result =
            cuMemHostAlloc(&address, static_cast<size_t>(bytes), static_cast<unsigned int>(flags));
    }
    return metrale_made(result, reinterpret_cast<uintptr_t>(address));
}

static inline int metrale_cuMemFreeHost(int64_t context, int64_t address)
{
    metrale_current current(context);

    return current.result != CUDA_SUCCESS ? current.result
                                          : cuMemFreeHost(METRALE_POINTER(void *, address));
}

static inline int metrale_cuMemHostRegister(int64_t context, int64_t address, int64_t bytes,
                                            int flags)
{
    metrale_current current(context);

    return current.result != CUDA_SUCCESS
               ? current.result
               : cuMemHostRegister(METRALE_POINTER(void *, address), static_cast<size_t>(bytes),
                                   static_cast<unsigned int>(flags));
}

static inline int metrale_cuMemHostUnregister(int64_t context, int64_t address)
{
    metrale_current current(context);

    return current.result != CUDA_SUCCESS ? current.result
                                          : cuMemHostUnregister(METRALE_POINTER(void *, address));
}

/* The address by which a device reaches pinned host memory. */
static inline int64_t metrale_cuMemHostGetDevicePointer(int64_t context, int64_t address)
{
    metrale_current current(context);
    CUdeviceptr device = 0;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result = cuMemHostGetDevicePointer(&device, METRALE_POINTER(void *, address), 0);
    }
    return metrale_made(result, device);
}

/* [out] two: CUmemorytype (0: unknown to the driver) and the device's ordinal (-1: none). */
static inline int metrale_cuPointerLocate(int64_t context, int64_t address, int *two)
{
    metrale_current current(context);
    unsigned int type = 0;
    int ordinal = -1;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       static_cast<CUdeviceptr>(address));
    }
    two[0] = result == CUDA_SUCCESS ? static_cast<int>(type) : 0;
    two[1] = -1;
    if (result == CUDA_SUCCESS &&
        cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                              static_cast<CUdeviceptr>(address)) == CUDA_SUCCESS) {
        two[1] = ordinal;
    }
    /* Pageable memory is an invalid value to the driver: an answer, not an error. */
    return result == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : result;
}

static inline int metrale_cuMemcpyAsync(int64_t slot, int64_t generation, int64_t target,
                                        int64_t source, int64_t bytes)
{
    metrale_use stream(slot, generation);

    if (!stream.open) {
        return METRALE_CLOSED;
    }
    metrale_current current(stream.context());
    return current.result != CUDA_SUCCESS
               ? current.result
               : cuMemcpyAsync(static_cast<CUdeviceptr>(target), static_cast<CUdeviceptr>(source),
                               static_cast<size_t>(bytes), stream.stream());
}

/* Copies between the memories of two contexts, on a stream of either. */
static inline int metrale_cuMemcpyPeerAsync(int64_t slot, int64_t generation, int64_t target,
                                            int64_t target_context, int64_t source,
                                            int64_t source_context, int64_t bytes)
{
    metrale_use stream(slot, generation);

    if (!stream.open) {
        return METRALE_CLOSED;
    }
    metrale_current current(stream.context());
    return current.result != CUDA_SUCCESS
               ? current.result
               : cuMemcpyPeerAsync(
                     static_cast<CUdeviceptr>(target), METRALE_POINTER(CUcontext, target_context),
                     static_cast<CUdeviceptr>(source), METRALE_POINTER(CUcontext, source_context),
                     static_cast<size_t>(bytes), stream.stream());
}

/* Fills `count` elements of 1, 2 or 4 bytes. */
static inline int metrale_cuMemsetAsync(int64_t slot, int64_t generation, int64_t target, int value,
                                        int element_bytes, int64_t count)
{
    metrale_use stream(slot, generation);

    if (!stream.open) {
        return METRALE_CLOSED;
    }
    metrale_current current(stream.context());
    if (current.result != CUDA_SUCCESS) {
        return current.result;
    }
    const CUdeviceptr address = static_cast<CUdeviceptr>(target);
    const size_t elements = static_cast<size_t>(count);
    switch (element_bytes) {
    case 1:
        return cuMemsetD8Async(address, static_cast<unsigned char>(value), elements,
                               stream.stream());
    case 2:
        return cuMemsetD16Async(address, static_cast<unsigned short>(value), elements,
                                stream.stream());
    default:
        return cuMemsetD32Async(address, static_cast<unsigned int>(value), elements,
                                stream.stream());
    }
}

/* The file descriptor of device memory as a dma-buf, or the CUresult as a negative number. */
static inline int metrale_cuMemGetHandleForAddressRange(int64_t context, int64_t address,
                                                        int64_t bytes)
{
    metrale_current current(context);
    int descriptor = -1;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result = cuMemGetHandleForAddressRange(&descriptor, static_cast<CUdeviceptr>(address),
                                               static_cast<size_t>(bytes),
                                               CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    }
    return result == CUDA_SUCCESS ? descriptor : -static_cast<int>(result);
}
#endif
