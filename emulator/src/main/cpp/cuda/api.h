#ifndef METRALE_EMULATOR_CUDA_API_H
#define METRALE_EMULATOR_CUDA_API_H

// The vendor's declarations carry no visibility: give them the exported one here, so that the
// rest of the library can stay hidden.
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#endif
