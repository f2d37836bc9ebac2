/* The three calls that a program makes for every piece of work. */
#include <cuda.h>

#include "bench.h"

static CUstream stream;
static CUevent event;

static void query(long times)
{
    while (times-- > 0)
        cuStreamQuery(stream);
}

static void record(long times)
{
    while (times-- > 0)
        cuEventRecord(event, stream);
}

static void wait_for(long times)
{
    while (times-- > 0)
        cuStreamWaitEvent(stream, event, 0);
}

int main(int count, char **arguments)
{
    CUcontext context;

    bench_arguments(count, arguments);
    bench_require(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 &&
                      cuCtxSetCurrent(context) == 0 && cuStreamCreate(&stream, 1) == 0 &&
                      cuEventCreate(&event, 2) == 0,
                  "CUDA");
    bench("stream-query", query);
    bench("event-record", record);
    bench("stream-wait", wait_for);
    return 0;
}
