#include "cuda/state.h"

#include <fcntl.h>
#include <system_error>
#include <unistd.h>

using namespace metrale::emulator;
using namespace metrale::emulator::cuda;

namespace
{

template <typename T> CUresult store(void *out, T value)
{
    *static_cast<T *>(out) = value;
    return CUDA_SUCCESS;
}

bool on_host(const Allocation &allocation)
{
    return allocation.kind == Kind::Pinned || allocation.kind == Kind::Registered;
}

CUresult attribute_of(void *out, CUpointer_attribute attribute, uintptr_t address)
{
    std::shared_ptr<Allocation> found = State::get().memory.find(address);
    if (!found)
        return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Context> owner = found->context.lock();

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return store<CUcontext>(out, owner ? owner->handle : nullptr);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return store<unsigned>(out, on_host(*found) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return store<CUdeviceptr>(out, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (found->kind == Kind::Device)
            return CUDA_ERROR_INVALID_VALUE;
        return store<void *>(out, reinterpret_cast<void *>(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return store<unsigned>(out, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return store<unsigned long long>(out, found->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return store<unsigned>(out, found->kind == Kind::Managed);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return store<int>(out, found->device->gpu.ordinal);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return store<CUdeviceptr>(out, found->base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return store<size_t>(out, found->bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return store<unsigned>(out, 1);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        return store<unsigned>(out, !on_host(*found) && found->device->gpu.gpudirect_rdma);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

} // namespace

CUresult cuPointerGetAttribute(void *out, CUpointer_attribute attribute, CUdeviceptr address)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        return out == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute_of(out, attribute, address);
    });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **out,
                                CUdeviceptr address)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        if (attributes == nullptr || out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        bool known = State::get().memory.find(address) != nullptr;
        for (unsigned i = 0; i < count; ++i) {
            if (out[i] == nullptr)
                return CUDA_ERROR_INVALID_VALUE;
            // Of an unknown address everything is nothing, and that is no error.
            if (known)
                attribute_of(out[i], attributes[i], address);
            else if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                     attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED)
                store<unsigned>(out[i], 0);
            else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
                store<int>(out[i], -2);
            else if (attributes[i] == CU_POINTER_ATTRIBUTE_CONTEXT)
                store<CUcontext>(out[i], nullptr);
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
            return CUDA_ERROR_INVALID_VALUE;
        return State::get().memory.find(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        std::shared_ptr<Allocation> found = State::get().memory.find(address);
        if (!found)
            return CUDA_ERROR_NOT_FOUND;
        if (base != nullptr)
            *base = found->base;
        if (bytes != nullptr)
            *bytes = found->bytes;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *address, unsigned flags)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        auto number = reinterpret_cast<uintptr_t>(address);
        std::shared_ptr<Allocation> found = State::get().memory.find(number);
        if (out == nullptr || flags != 0 || !found || !on_host(*found))
            return CUDA_ERROR_INVALID_VALUE;
        *out = number;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostGetFlags(unsigned *out, void *address)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        std::shared_ptr<Allocation> found =
            State::get().memory.find(reinterpret_cast<uintptr_t>(address));
        if (out == nullptr || !found || found->kind != Kind::Pinned)
            return CUDA_ERROR_INVALID_VALUE;
        // Under unified addressing all pinned memory is mapped and portable.
        *out = found->flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemGetHandleForAddressRange(void *out, CUdeviceptr address, size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long flags)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        std::shared_ptr<Allocation> found = State::get().memory.find(address);
        auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        if (out == nullptr || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || (flags & ~1ULL) != 0 ||
            !found || address % page != 0 || bytes % page != 0 || bytes == 0 ||
            address - found->base > found->mapped - std::min(bytes, found->mapped))
            return CUDA_ERROR_INVALID_VALUE;
        if (!found->device->gpu.dma_buf || found->kind != Kind::Device || found->fd < 0)
            return CUDA_ERROR_NOT_SUPPORTED;
        int fd = fcntl(found->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return CUDA_ERROR_OPERATING_SYSTEM;
        *static_cast<int *>(out) = fd;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise, CUmemLocation)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        std::shared_ptr<Allocation> found = State::get().memory.find(address);
        bool good = found && found->kind == Kind::Managed && found->contains(address, bytes);
        return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned flags,
                            CUstream handle)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        std::shared_ptr<Stream> stream;
        CUresult result = find_own_stream(context, handle, &stream);
        if (result != CUDA_SUCCESS)
            return result;
        std::shared_ptr<Allocation> found = State::get().memory.find(address);
        bool good =
            flags == 0 && found && found->kind == Kind::Managed && found->contains(address, bytes);
        return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}
