#include "cuda/copy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>

using namespace metrale::emulator;
using namespace metrale::emulator::cuda;

namespace metrale::emulator::cuda
{

CUresult resolve(uintptr_t address, size_t bytes, Role role, Side *out)
{
    out->address = address;
    out->allocation = State::get().memory.find(address);
    if (!out->allocation)
        return role == Role::Device || address == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    return out->allocation->contains(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_bytes(const Side &to, const Side &from, size_t bytes)
{
    auto *target = reinterpret_cast<char *>(to.address);
    auto *source = reinterpret_cast<char *>(from.address);

    if (!to.pageable() && !from.pageable()) {
        std::memmove(target, source, bytes);
        return CUDA_SUCCESS;
    }
    // The kernel checks the side it is told to reach: the pageable one.
    bool into = to.pageable();
    while (bytes > 0) {
        struct iovec near = {into ? source : target, bytes};
        struct iovec far = {into ? target : source, bytes};
        ssize_t done = into ? process_vm_writev(getpid(), &near, 1, &far, 1, 0)
                            : process_vm_readv(getpid(), &near, 1, &far, 1, 0);
        if (done < 0 && errno == EFAULT)
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        if (done <= 0) {
            // Not to be had here (a sandbox, an emulated CPU): then unchecked.
            std::memmove(target, source, bytes);
            return CUDA_SUCCESS;
        }
        target += done;
        source += done;
        bytes -= static_cast<size_t>(done);
    }
    return CUDA_SUCCESS;
}

} // namespace metrale::emulator::cuda

namespace
{

enum class Wait { No, Yes };

/* Host memory that was copied at the call, for a stream that runs later. */
struct Staged {
    std::vector<char> bytes;
};

CUresult copy(Context &context, uintptr_t to, Role to_role, uintptr_t from, Role from_role,
              size_t bytes, CUstream handle, Wait wait)
{
    Side target;
    Side source;
    std::shared_ptr<Stream> stream;

    CUresult result = find_own_stream(context, handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (bytes == 0)
        return CUDA_SUCCESS;
    result = resolve(to, bytes, to_role, &target);
    if (result == CUDA_SUCCESS)
        result = resolve(from, bytes, from_role, &source);
    if (result != CUDA_SUCCESS)
        return result;

    if (wait == Wait::No && source.pageable() && !target.pageable()) {
        // Pageable sources are read before the call returns, as the driver's staging does.
        auto staged = std::make_shared<Staged>();
        staged->bytes.resize(bytes);
        Side middle;
        middle.address = reinterpret_cast<uintptr_t>(staged->bytes.data());
        middle.allocation = std::make_shared<Allocation>();
        middle.allocation->kind = Kind::Registered;
        result = copy_bytes(middle, source, bytes);
        if (result != CUDA_SUCCESS)
            return CUDA_ERROR_INVALID_VALUE;
        stream->submit(
            [target, middle, staged, bytes] { return copy_bytes(target, middle, bytes); });
        return CUDA_SUCCESS;
    }

    auto outcome = std::make_shared<std::atomic<int>>(CUDA_SUCCESS);
    stream->submit([target, source, bytes, outcome]() -> CUresult {
        *outcome = copy_bytes(target, source, bytes);
        return CUDA_SUCCESS;
    });
    // Pageable targets are complete when the call returns.
    if (wait == Wait::No && !target.pageable())
        return CUDA_SUCCESS;
    stream->drain();
    if (context.error() != CUDA_SUCCESS)
        return context.error();
    return outcome->load() == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_call(const char *function, uintptr_t to, Role to_role, uintptr_t from, Role from_role,
                   size_t bytes, CUstream stream, Wait wait)
{
    return call(function, Needs::Context, [&](Context &context) {
        return copy(context, to, to_role, from, from_role, bytes, stream, wait);
    });
}

CUresult copy_peer(const char *function, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                   CUcontext from_context, size_t bytes, CUstream stream, Wait wait)
{
    return call(function, Needs::Context, [&](Context &context) -> CUresult {
        State &state = State::get();
        if (!state.contexts.find(to_context) || !state.contexts.find(from_context))
            return CUDA_ERROR_INVALID_CONTEXT;
        return copy(context, to, Role::Device, from, Role::Device, bytes, stream, wait);
    });
}

uintptr_t number(const void *address)
{
    return reinterpret_cast<uintptr_t>(address);
}

} // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_call(__func__, to, Role::Any, from, Role::Any, bytes, nullptr, Wait::Yes);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_call(__func__, to, Role::Any, from, Role::Any, bytes, stream, Wait::No);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_call(__func__, to, Role::Device, number(from), Role::Host, bytes, nullptr,
                     Wait::Yes);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy_call(__func__, to, Role::Device, number(from), Role::Host, bytes, stream, Wait::No);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_call(__func__, number(to), Role::Host, from, Role::Device, bytes, nullptr,
                     Wait::Yes);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_call(__func__, number(to), Role::Host, from, Role::Device, bytes, stream, Wait::No);
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_call(__func__, to, Role::Device, from, Role::Device, bytes, nullptr, Wait::Yes);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_call(__func__, to, Role::Device, from, Role::Device, bytes, stream, Wait::No);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t bytes)
{
    return copy_peer(__func__, to, to_context, from, from_context, bytes, nullptr, Wait::Yes);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream)
{
    return copy_peer(__func__, to, to_context, from, from_context, bytes, stream, Wait::No);
}
