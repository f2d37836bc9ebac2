#ifndef METRALE_EMULATOR_CUDA_COPY_H
#define METRALE_EMULATOR_CUDA_COPY_H

#include "cuda/state.h"

namespace metrale::emulator::cuda
{

/* One side of a copy: known memory, kept mapped meanwhile, or the caller's pageable memory. */
struct Side {
    uintptr_t address = 0;
    std::shared_ptr<Allocation> allocation;

    bool pageable() const
    {
        return allocation == nullptr;
    }
};

enum class Role { Device, Host, Any };

/* CUDA_ERROR_INVALID_VALUE for what lies outside, CUDA_SUCCESS else. */
CUresult resolve(uintptr_t address, size_t bytes, Role role, Side *out);

/*
 * Copies; a pageable side that is not mapped gives an error instead of a signal where the
 * kernel lets a process read itself that way.
 */
CUresult copy_bytes(const Side &to, const Side &from, size_t bytes);

} // namespace metrale::emulator::cuda

#endif
