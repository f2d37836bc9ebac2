/* The calls of an all-reduce, and the lightest call there is. */
#include <cuda.h>
#include <nccl.h>

#include "bench.h"

static ncclComm_t comm;
static CUstream stream;
static CUevent event;
static CUdeviceptr send;
static CUdeviceptr recv;

static void group_start(long times)
{
    while (times-- > 0)
        ncclGroupStart();
}

static void all_reduce(long times)
{
    while (times-- > 0)
        ncclAllReduce((void *)send, (void *)recv, 1024, ncclFloat, ncclSum, comm,
                      (cudaStream_t)stream);
}

static void all_reduce_recorded(long times)
{
    while (times-- > 0) {
        ncclAllReduce((void *)send, (void *)recv, 1024, ncclFloat, ncclSum, comm,
                      (cudaStream_t)stream);
        cuEventRecord(event, stream);
    }
}

int main(int count, char **arguments)
{
    ncclUniqueId id;
    CUcontext context;

    bench_arguments(count, arguments);
    bench_require(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 &&
                      cuCtxSetCurrent(context) == 0 && cuStreamCreate(&stream, 1) == 0 &&
                      cuEventCreate(&event, 2) == 0 && cuMemAlloc(&send, 4096) == 0 &&
                      cuMemAlloc(&recv, 4096) == 0,
                  "CUDA");
    bench_require(ncclGetUniqueId(&id) == 0 && ncclCommInitRank(&comm, 1, id, 0) == 0, "NCCL");
    bench("group-start", group_start);
    bench("all-reduce", all_reduce);
    bench("all-reduce-recorded", all_reduce_recorded);
    return 0;
}
