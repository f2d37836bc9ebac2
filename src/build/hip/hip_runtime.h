/* What rccl.h takes from HIP, under CUDA's names, as HIP itself gives it on NVIDIA's platform. */
#ifndef METRALE_HIP_RUNTIME_H
#define METRALE_HIP_RUNTIME_H
#include <cuda_runtime.h>
typedef cudaStream_t hipStream_t;
#endif
