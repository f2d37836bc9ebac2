#include <nvml.h>

#include "noop.h"

static int device;

NOOP nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = 1;
    return NVML_SUCCESS;
}

NOOP nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *found)
{
    (void)index;
    *found = (nvmlDevice_t)&device;
    return NVML_SUCCESS;
}

NOOP nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned int length)
{
    strncpy(text, "580.82.07", length);
    return NVML_SUCCESS;
}

NOOP nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = 13030;
    return NVML_SUCCESS;
}

NOOP const char *nvmlErrorString(nvmlReturn_t result)
{
    (void)result;
    return "no-op";
}
