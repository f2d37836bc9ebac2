#include "state.hpp"

#include "cuda.hpp"
#include "stats.hpp"

/* Registered memory. */

namespace metrale::gds
{
namespace
{

CUfileError_t register_buffer(const void *base, std::size_t bytes, int flags, int *device)
{
    constexpr int kKnownFlags = CU_FILE_RDMA_REGISTER | CU_FILE_RDMA_RELAXED_ORDERING;
    if (base == nullptr || bytes == 0 || (flags & ~kKnownFlags) != 0)
        return error(CU_FILE_INVALID_VALUE);
    const CUfileError_t opened = open_implicitly();
    if (opened.err != CU_FILE_SUCCESS)
        return opened;
    const Memory memory(base, bytes);
    if (memory.out_of_range())
        return error(CU_FILE_CUDA_POINTER_RANGE_ERROR);
    if (memory.kind() == MemoryKind::pageable &&
        !telemetry::setting_flag("cufile.register_pageable", true))
        return error(CU_FILE_CUDA_MEMORY_TYPE_INVALID);
    *device = memory.device();

    const auto start = reinterpret_cast<std::uintptr_t>(base);
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    for (const auto &[other, buffer] : target.buffers)
        if (start < other + buffer.bytes && other < start + bytes)
            return error(CU_FILE_MEMORY_ALREADY_REGISTERED);
    const std::uint64_t limit =
        static_cast<std::uint64_t>(
            target.parameters.sizes[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB])
        << 10U;
    if (bytes > limit || target.registered_bytes > limit - bytes)
        return error(CU_FILE_GPU_MEMORY_PINNING_FAILED);
    target.buffers[start] = {bytes, memory.device()};
    target.registered_bytes += bytes;
    return kSuccess;
}

CUfileError_t deregister_buffer(const void *base, int *device)
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    if (target.uses == 0)
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    const auto found = target.buffers.find(reinterpret_cast<std::uintptr_t>(base));
    if (found == target.buffers.end())
        return error(CU_FILE_INVALID_VALUE);
    target.registered_bytes -= found->second.bytes;
    *device = found->second.device;
    target.buffers.erase(found);
    return kSuccess;
}

} // namespace

bool leaves_registered(std::uintptr_t base, off_t offset, std::size_t bytes)
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    const auto found = target.buffers.find(base);
    if (found == target.buffers.end())
        return false;
    const auto start = static_cast<std::size_t>(offset);
    return start > found->second.bytes || bytes > found->second.bytes - start;
}

} // namespace metrale::gds

using metrale::gds::Operation;

CUfileError_t cuFileBufRegister(const void *base, size_t bytes, int flags)
{
    METRALE_GDS_FAULT();
    int device = 0;
    const CUfileError_t answer = metrale::gds::register_buffer(base, bytes, flags, &device);
    metrale::gds::count(Operation::buffer_register, answer.err == CU_FILE_SUCCESS);
    metrale::gds::count_registered(device, bytes, answer.err == CU_FILE_SUCCESS);
    return answer;
}

CUfileError_t cuFileBufDeregister(const void *base)
{
    METRALE_GDS_FAULT();
    int device = 0;
    const CUfileError_t answer = metrale::gds::deregister_buffer(base, &device);
    metrale::gds::count(Operation::buffer_deregister, answer.err == CU_FILE_SUCCESS);
    if (answer.err == CU_FILE_SUCCESS)
        metrale::gds::count_deregistered(device);
    return answer;
}
