#ifndef METRALE_EMULATOR_NCCL_API_H
#define METRALE_EMULATOR_NCCL_API_H

#pragma GCC visibility push(default)
#include "cuda/bridge.h"
#include <nccl.h>
#pragma GCC visibility pop

/* The profiling name of a function is a second name of the same code. */
#define METRALE_PROFILED(name)                                                                     \
    extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) p##name

#endif
