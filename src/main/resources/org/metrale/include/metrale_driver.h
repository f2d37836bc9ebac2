/*
 * What the glue of one library needs of the CUDA driver, which only the driver's own glue has opened.
 * Both include this file, so the layout is the same on both sides.
 */
#ifndef METRALE_DRIVER_H
#define METRALE_DRIVER_H
#include <cuda.h>
#include <stdint.h>

/* What enter did, for leave to undo. */
struct metrale_entered {
    CUstream stream;
    void *place;
    int pushed;
};

struct metrale_driver {
    int (*enter)(int64_t slot, int64_t generation, metrale_entered *entered);
    void (*leave)(const metrale_entered *entered);
    CUresult (*current)(CUcontext *context);
    CUresult (*push)(CUcontext context);
    CUresult (*pop)(CUcontext *context);
    CUresult (*record)(CUevent event, CUstream stream);
    CUresult (*query)(CUevent event);
};
#endif
