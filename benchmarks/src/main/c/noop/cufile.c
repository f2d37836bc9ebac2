#include <sys/types.h>

#include <cufile.h>

#include "noop.h"

NOOP CUfileError_t cuFileBufRegister(const void *base, size_t length, int flags)
{
    (void)base, (void)length, (void)flags;
    return (CUfileError_t){CU_FILE_SUCCESS, CUDA_SUCCESS};
}

NOOP CUfileError_t cuFileBufDeregister(const void *base)
{
    (void)base;
    return (CUfileError_t){CU_FILE_SUCCESS, CUDA_SUCCESS};
}

NOOP CUfileError_t cuFileDriverOpen(void)
{
    return (CUfileError_t){CU_FILE_SUCCESS, CUDA_SUCCESS};
}

NOOP CUfileError_t cuFileHandleRegister(CUfileHandle_t *handle, CUfileDescr_t *description)
{
    (void)description;
    *handle = noop_handle();
    return (CUfileError_t){CU_FILE_SUCCESS, CUDA_SUCCESS};
}

NOOP CUfileError_t cuFileGetVersion(int *version)
{
    *version = 1150;
    return (CUfileError_t){CU_FILE_SUCCESS, CUDA_SUCCESS};
}
