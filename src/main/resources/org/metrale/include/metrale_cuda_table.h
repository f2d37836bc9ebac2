/* The run-time table of libcuda. */
#ifndef METRALE_CUDA_TABLE_H
#define METRALE_CUDA_TABLE_H
#ifndef METRALE_PARSER
#include <cuda.h>
#define METRALE_LIBRARY "cuda"
#define METRALE_FUNCTIONS "metrale_cuda_functions.h"
#define METRALE_BARE                                                                               \
    " cuCtxGetCurrent  cuCtxPushCurrent_v2  cuCtxPopCurrent_v2 "                                   \
    " cuStreamQuery  cuStreamWaitEvent  cuEventRecord  cuEventQuery "
#endif
#include "metrale_table.h"
#ifndef METRALE_PARSER
/* The CUDA version of the driver, or -1. */
static inline int metrale_table_version(void)
{
    int version = -1;

    if (!metrale_table_has("cuDriverGetVersion") || cuDriverGetVersion(&version) != CUDA_SUCCESS) {
        return -1;
    }
    return version;
}
#endif
#endif
