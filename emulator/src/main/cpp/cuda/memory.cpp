#include "cuda/state.h"

#include "common/config.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

using namespace metrale::emulator;
using namespace metrale::emulator::cuda;

namespace metrale::emulator::cuda
{

namespace
{

/* What a driver keeps for itself, and what a context costs: free memory is never all of it. */
constexpr uint64_t kReservedBytes = 256ULL * 1024 * 1024;

uint64_t usable(const Device &device)
{
    uint64_t total = device.gpu.memory_bytes;
    return total > 4 * kReservedBytes ? total - kReservedBytes : total;
}

/* False when the device has not that much left. */
bool take(Device &device, uint64_t bytes)
{
    uint64_t used = device.used.load();
    do {
        if (bytes > usable(device) || used > usable(device) - bytes)
            return false;
    } while (!device.used.compare_exchange_weak(used, used + bytes));
    return true;
}

bool counted(Kind kind)
{
    return kind == Kind::Device || kind == Kind::Managed;
}

/*
 * Memory is a file without a name, mapped shared: pages come when they are touched, and
 * another process can map it. Without descriptors left it becomes private memory.
 */
void *map(size_t bytes, int *fd)
{
    *fd = memfd_create("metrale-emulator", MFD_CLOEXEC);
    if (*fd >= 0 && ftruncate(*fd, static_cast<off_t>(bytes)) != 0) {
        close(*fd);
        *fd = -1;
    }
    int flags = *fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, *fd, 0);
    if (address == MAP_FAILED && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return address;
}

} // namespace

Allocation::~Allocation()
{
    if (kind == Kind::Registered)
        return;
    munmap(data(base), mapped);
    if (fd >= 0)
        close(fd);
    if (counted(kind))
        device->used -= bytes;
}

CUresult Memory::allocate(Context &context, Kind kind, size_t bytes, unsigned flags, uintptr_t *out)
{
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > (1ULL << 46))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (counted(kind) && !take(context.device(), bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;

    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    auto allocation = std::make_shared<Allocation>();
    allocation->bytes = bytes;
    allocation->mapped = (bytes + page - 1) / page * page;
    allocation->device = &context.device();
    void *address = map(allocation->mapped, &allocation->fd);
    if (address == MAP_FAILED) {
        if (counted(kind))
            context.device().used -= bytes;
        // Its destructor must not undo what was not done.
        allocation->kind = Kind::Registered;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    allocation->base = reinterpret_cast<uintptr_t>(address);
    allocation->kind = kind;
    allocation->flags = flags;
    allocation->context = context.weak_from_this();
    *out = allocation->base;
    std::unique_lock<std::shared_mutex> lock(mutex_);
    allocation->id = next_id_++;
    by_base_[allocation->base] = std::move(allocation);
    return CUDA_SUCCESS;
}

CUresult Memory::adopt(Context &context, uintptr_t address, size_t bytes, unsigned flags)
{
    auto allocation = std::make_shared<Allocation>();
    allocation->kind = Kind::Registered;
    allocation->base = address;
    allocation->bytes = bytes;
    allocation->flags = flags;
    allocation->device = &context.device();
    allocation->context = context.weak_from_this();

    std::unique_lock<std::shared_mutex> lock(mutex_);
    auto next = by_base_.upper_bound(address);
    if (next != by_base_.end() && next->first < address + bytes)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (next != by_base_.begin()) {
        const Allocation &before = *std::prev(next)->second;
        if (before.base + before.bytes > address)
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    allocation->id = next_id_++;
    by_base_[address] = std::move(allocation);
    return CUDA_SUCCESS;
}

std::shared_ptr<Allocation> Memory::find(uintptr_t address) const
{
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto next = by_base_.upper_bound(address);
    if (next == by_base_.begin())
        return nullptr;
    const std::shared_ptr<Allocation> &candidate = std::prev(next)->second;
    return address - candidate->base < candidate->bytes ? candidate : nullptr;
}

std::shared_ptr<Allocation> Memory::remove(uintptr_t address, bool host)
{
    std::unique_lock<std::shared_mutex> lock(mutex_);
    auto found = by_base_.find(address);
    if (found == by_base_.end() || found->second->kind == Kind::Registered ||
        (found->second->kind == Kind::Pinned) != host)
        return nullptr;
    std::shared_ptr<Allocation> allocation = std::move(found->second);
    by_base_.erase(found);
    return allocation;
}

bool Memory::unregister(uintptr_t address)
{
    std::unique_lock<std::shared_mutex> lock(mutex_);
    auto found = by_base_.find(address);
    if (found == by_base_.end() || found->second->kind != Kind::Registered)
        return false;
    by_base_.erase(found);
    return true;
}

void Memory::remove_of(const Context &context)
{
    std::unique_lock<std::shared_mutex> lock(mutex_);
    std::erase_if(by_base_, [&](const auto &entry) {
        std::shared_ptr<Context> owner = entry.second->context.lock();
        return !owner || owner.get() == &context;
    });
}

uint64_t Memory::bytes() const
{
    std::shared_lock<std::shared_mutex> lock(mutex_);
    uint64_t sum = 0;
    for (const auto &entry : by_base_) {
        if (entry.second->kind != Kind::Registered)
            sum += entry.second->bytes;
    }
    return sum;
}

uint64_t Memory::count() const
{
    std::shared_lock<std::shared_mutex> lock(mutex_);
    return by_base_.size();
}

} // namespace metrale::emulator::cuda

namespace
{

constexpr unsigned kHostFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

CUresult allocate_device(Context &context, Kind kind, CUdeviceptr *out, size_t bytes)
{
    uintptr_t address = 0;
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = State::get().memory.allocate(context, kind, bytes, 0, &address);
    if (result == CUDA_SUCCESS)
        *out = address;
    return result;
}

CUresult allocate_host(Context &context, void **out, size_t bytes, unsigned flags)
{
    uintptr_t address = 0;
    if (out == nullptr || (flags & ~kHostFlags) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = State::get().memory.allocate(context, Kind::Pinned, bytes, flags, &address);
    if (result == CUDA_SUCCESS)
        *out = reinterpret_cast<void *>(address);
    return result;
}

/* Pages that are not there cannot be pinned; asking costs no fault. */
bool mapped(uintptr_t address, size_t bytes)
{
    auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    uintptr_t start = address & ~(page - 1);
    auto *from = reinterpret_cast<void *>(start);
    return msync(from, address + bytes - start, MS_ASYNC) == 0 || errno != ENOMEM;
}

CUresult free_device(CUdeviceptr address, bool synchronize)
{
    State &state = State::get();
    if (address == 0)
        return CUDA_SUCCESS;
    std::shared_ptr<Allocation> found = state.memory.find(address);
    if (!found || found->base != address || found->kind == Kind::Pinned ||
        found->kind == Kind::Registered)
        return CUDA_ERROR_INVALID_VALUE;
    // As on hardware, freeing waits for the work that may still use it.
    std::shared_ptr<Context> owner = found->context.lock();
    if (synchronize && owner && Configuration::instance().flag("cuda.free_synchronizes", true))
        owner->synchronize();
    found.reset();
    return state.memory.remove(address, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

} // namespace

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        if (free_bytes == nullptr || total == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        const Device &device = context.device();
        *total = device.gpu.memory_bytes;
        *free_bytes = usable(device) - std::min(usable(device), device.used.load());
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
    return call(__func__, Needs::Context, [&](Context &context) {
        return allocate_device(context, Kind::Device, out, bytes);
    });
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
            return CUDA_ERROR_INVALID_VALUE;
        return allocate_device(context, Kind::Managed, out, bytes);
    });
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream handle)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        std::shared_ptr<Stream> stream;
        CUresult result = find_own_stream(context, handle, &stream);
        if (result != CUDA_SUCCESS)
            return result;
        return allocate_device(context, Kind::Device, out, bytes);
    });
}

CUresult cuMemFree(CUdeviceptr address)
{
    return call(__func__, Needs::Context, [&] { return free_device(address, true); });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        std::shared_ptr<Stream> stream;
        CUresult result = find_own_stream(context, handle, &stream);
        if (result != CUDA_SUCCESS)
            return result;
        std::shared_ptr<Allocation> found = State::get().memory.find(address);
        if (!found || found->base != address || found->kind != Kind::Device)
            return CUDA_ERROR_INVALID_VALUE;
        stream->submit([address] { return free_device(address, false); }, true);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAllocHost(void **out, size_t bytes)
{
    return call(__func__, Needs::Context,
                [&](Context &context) { return allocate_host(context, out, bytes, 0); });
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    return call(__func__, Needs::Context,
                [&](Context &context) { return allocate_host(context, out, bytes, flags); });
}

CUresult cuMemFreeHost(void *address)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        if (address == nullptr)
            return CUDA_SUCCESS;
        State &state = State::get();
        auto number = reinterpret_cast<uintptr_t>(address);
        std::shared_ptr<Allocation> found = state.memory.find(number);
        std::shared_ptr<Context> owner = found ? found->context.lock() : nullptr;
        found.reset();
        if (owner && Configuration::instance().flag("cuda.free_synchronizes", true))
            owner->synchronize();
        return state.memory.remove(number, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuMemHostRegister(void *address, size_t bytes, unsigned flags)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        auto number = reinterpret_cast<uintptr_t>(address);
        if (number == 0 || bytes == 0 || (flags & ~kRegisterFlags) != 0 ||
            number + bytes < number || !mapped(number, bytes))
            return CUDA_ERROR_INVALID_VALUE;
        return State::get().memory.adopt(context, number, bytes, flags);
    });
}

CUresult cuMemHostUnregister(void *address)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        if (address == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        return State::get().memory.unregister(reinterpret_cast<uintptr_t>(address))
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    });
}
