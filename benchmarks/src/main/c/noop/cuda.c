#include <cuda.h>
#include <stdio.h>

#include "noop.h"

/* METRALE_NOOP_PENDING: events never pass, so that operations stay open. */
static CUresult event_answer = CUDA_SUCCESS;
static __thread CUcontext current;
static int primary[8];

__attribute__((constructor)) static void read_environment(void)
{
    if (getenv("METRALE_NOOP_PENDING") != NULL)
        event_answer = CUDA_ERROR_NOT_READY;
}

NOOP CUresult cuDriverGetVersion(int *version)
{
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

NOOP CUresult cuDeviceGetCount(int *count)
{
    *count = 8;
    return CUDA_SUCCESS;
}

NOOP CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

NOOP CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    snprintf(name, (size_t)length, "no-op %d", device);
    return CUDA_SUCCESS;
}

NOOP CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    memset(uuid, 1 + device, sizeof(*uuid));
    return CUDA_SUCCESS;
}

NOOP CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
    snprintf(text, (size_t)length, "0000:%02x:00.0", 1 + device);
    return CUDA_SUCCESS;
}

NOOP CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)1 << 36;
    return CUDA_SUCCESS;
}

NOOP CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)attribute, (void)device;
    *value = 1;
    return CUDA_SUCCESS;
}

NOOP CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = (CUcontext)&primary[device];
    return CUDA_SUCCESS;
}

NOOP CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

NOOP CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

NOOP CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

NOOP CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    if (context != NULL)
        *context = current;
    current = NULL;
    return CUDA_SUCCESS;
}

NOOP CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

NOOP CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return CUDA_SUCCESS;
}

NOOP CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    (void)flags, (void)priority;
    *stream = noop_handle();
    return CUDA_SUCCESS;
}

NOOP CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    (void)flags;
    *stream = noop_handle();
    return CUDA_SUCCESS;
}

NOOP CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    (void)flags;
    *event = noop_handle();
    return CUDA_SUCCESS;
}

NOOP CUresult cuEventQuery(CUevent event)
{
    (void)event;
    return event_answer;
}

NOOP CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    *address = (CUdeviceptr)aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    return *address != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

NOOP CUresult cuMemFree_v2(CUdeviceptr address)
{
    free((void *)address);
    return CUDA_SUCCESS;
}

NOOP CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *free_bytes = *total = (size_t)1 << 36;
    return CUDA_SUCCESS;
}

NOOP CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    (void)address;
    if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(CUmemorytype *)data = CU_MEMORYTYPE_DEVICE;
    else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)data = 0;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

NOOP CUresult cuGetErrorName(CUresult code, const char **text)
{
    (void)code;
    *text = "no-op";
    return CUDA_SUCCESS;
}

NOOP CUresult cuGetErrorString(CUresult code, const char **text)
{
    (void)code;
    *text = "no-op";
    return CUDA_SUCCESS;
}
