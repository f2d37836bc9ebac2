#include "nccl/collective.h"
#include "nccl/reduce.h"

#include <cuda.h>

using namespace metrale::emulator;
using namespace metrale::emulator::nccl;

namespace
{

constexpr int kKnownFlags =
    NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING | NCCL_WIN_GIN_ONLY | NCCL_WIN_CFT_COUNTED;

std::atomic<uintptr_t> next_handle{0x7c4000001000};

/* Windows are the same on all ranks: the n-th registered here is the n-th registered there. */
ncclResult_t register_window(Comm &comm, void *buffer, size_t bytes, ncclWindow_t *out)
{
    auto window = std::make_unique<Window>();
    std::vector<HostMessage> all;
    {
        std::lock_guard<std::mutex> lock(comm.mutex);
        while (comm.window_indices.count(window->index) != 0)
            ++window->index;
        if (window->index >= kWindows)
            return refuse(ncclInternalError, "CommWindowRegister : too many windows");
        comm.window_indices.insert(window->index);
    }
    window->user = buffer;
    window->bytes = bytes;
    window->memory = std::make_unique<Local>();
    int code = window->memory->open(buffer, bytes, true);
    WindowEntry &entry = comm.board->slot(comm.rank).windows[window->index];
    if (code == 0) {
        entry.ref = window->memory->ref;
        entry.bytes = bytes;
        entry.valid.store(1, std::memory_order_release);
    }
    // Also told to the others when it failed here: they must not wait for ever.
    ncclResult_t result = comm.exchange(HostMessage{{code, 0, 0, 0}, BoardId{}}, &all);
    for (const HostMessage &message : all) {
        if (message.numbers[0] != 0 && result == ncclSuccess)
            result = refuse(ncclInvalidArgument,
                            "CommWindowRegister : a rank's buffer is not device memory");
    }
    std::lock_guard<std::mutex> lock(comm.mutex);
    if (result != ncclSuccess) {
        entry.valid.store(0, std::memory_order_release);
        comm.window_indices.erase(window->index);
        return result;
    }
    auto handle = reinterpret_cast<ncclWindow_t>(next_handle.fetch_add(16));
    comm.windows[handle] = std::move(window);
    *out = handle;
    return ncclSuccess;
}

int index_of(Comm &comm, ncclWindow_t handle)
{
    std::lock_guard<std::mutex> lock(comm.mutex);
    auto found = comm.windows.find(handle);
    return found == comm.windows.end() ? -1 : found->second->index;
}

bool valid_signal(const Comm &comm, int index, int context)
{
    return index >= 0 && index < comm.config.numRmaSig && context >= 0 &&
           context < comm.config.numRmaCtx;
}

ncclResult_t call_signal(const char *function, ncclComm_t handle, Operation operation,
                         ncclWindow_t window, int index, int context, unsigned flags)
{
    std::shared_ptr<Comm> comm = Comm::find(handle);
    if (comm && operation.kind == Kind::Put) {
        operation.window = index_of(*comm, window);
        if (operation.window < 0)
            return note(refuse(ncclInvalidArgument, "PutSignal : unknown window"));
    }
    if (comm && (!valid_signal(*comm, index, context) || flags != 0))
        return note(refuse(ncclInvalidArgument, "invalid signal index, context or flags"));
    operation.waits.push_back({1, operation.root, index, context});
    return call_operation(function, handle, std::move(operation));
}

} // namespace

ncclResult_t ncclMemAlloc(void **out, size_t bytes)
{
    return guarded([&]() -> ncclResult_t {
        Fault fault = host_fault("nccl", "ncclMemAlloc");
        if (fault.code)
            return refuse(static_cast<ncclResult_t>(*fault.code), "fault asked for");
        if (out == nullptr || bytes == 0)
            return refuse(ncclInvalidArgument, "MemAlloc : invalid arguments");
        int device = 0;
        CUdeviceptr address = 0;
        int code = metrale_emulator_cuda_current(&device);
        if (code == 0)
            code = cuMemAlloc(&address, bytes);
        if (code != 0)
            return cuda_failure(code, "ncclMemAlloc");
        *out = reinterpret_cast<void *>(address);
        return ncclSuccess;
    });
}

ncclResult_t ncclMemFree(void *address)
{
    return guarded([&]() -> ncclResult_t {
        Fault fault = host_fault("nccl", "ncclMemFree");
        if (fault.code)
            return refuse(static_cast<ncclResult_t>(*fault.code), "fault asked for");
        int device = 0;
        int code = metrale_emulator_cuda_current(&device);
        if (code == 0 && address != nullptr)
            code = cuMemFree(reinterpret_cast<CUdeviceptr>(address));
        return code == 0 ? ncclSuccess : cuda_failure(code, "ncclMemFree");
    });
}

ncclResult_t ncclCommRegister(const ncclComm_t handle, void *buffer, size_t bytes, void **out)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        struct metrale_emulator_range range;
        ncclResult_t result = comm->ready();
        if (result != ncclSuccess)
            return result;
        auto address = reinterpret_cast<uint64_t>(buffer);
        if (out == nullptr || buffer == nullptr || bytes == 0 ||
            metrale_emulator_cuda_range(address, bytes, 0, &range) != 0)
            return refuse(ncclInvalidArgument, "CommRegister : not a buffer of the GPU");
        auto *registered = reinterpret_cast<void *>(next_handle.fetch_add(16));
        std::lock_guard<std::mutex> lock(comm->mutex);
        comm->registrations[registered] = {buffer, bytes};
        *out = registered;
        return ncclSuccess;
    });
}

ncclResult_t ncclCommDeregister(const ncclComm_t handle, void *registered)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        std::lock_guard<std::mutex> lock(comm->mutex);
        if (comm->registrations.erase(registered) == 0)
            return refuse(ncclInvalidArgument, "CommDeregister : unknown handle");
        return ncclSuccess;
    });
}

ncclResult_t ncclCommWindowRegister(ncclComm_t handle, void *buffer, size_t bytes,
                                    ncclWindow_t *out, int flags)
{
    return with_comm(
        __func__, handle,
        [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
            ncclResult_t result = comm->ready();
            if (result != ncclSuccess)
                return result;
            bool aligned = reinterpret_cast<uintptr_t>(buffer) % NCCL_WIN_REQUIRED_ALIGNMENT == 0;
            if (out == nullptr || buffer == nullptr || bytes == 0 || (flags & ~kKnownFlags) != 0 ||
                ((flags & NCCL_WIN_COLL_SYMMETRIC) != 0 && !aligned))
                return refuse(ncclInvalidArgument, "CommWindowRegister : invalid arguments");
            *out = nullptr;
            return start({comm, nullptr, [comm, buffer, bytes, out] {
                              return register_window(*comm, buffer, bytes, out);
                          }});
        },
        Waiting::InJob);
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t handle, ncclWindow_t window)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        if (window == nullptr)
            return ncclSuccess;
        std::lock_guard<std::mutex> lock(comm->mutex);
        auto found = comm->windows.find(window);
        if (found == comm->windows.end())
            return refuse(ncclInvalidArgument, "CommWindowDeregister : unknown window");
        int index = found->second->index;
        comm->board->slot(comm->rank).windows[index].valid.store(0, std::memory_order_release);
        comm->windows.erase(found);
        comm->window_indices.erase(index);
        return ncclSuccess;
    });
}

ncclResult_t ncclWinGetUserPtr(ncclComm_t handle, ncclWindow_t window, void **out)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        std::lock_guard<std::mutex> lock(comm->mutex);
        auto found = comm->windows.find(window);
        if (out == nullptr || found == comm->windows.end())
            return refuse(ncclInvalidArgument, "WinGetUserPtr : unknown window");
        *out = found->second->user;
        return ncclSuccess;
    });
}

ncclResult_t ncclPutSignal(const void *buffer, size_t count, ncclDataType_t type, int peer,
                           ncclWindow_t window, size_t offset, int index, int context,
                           unsigned flags, ncclComm_t comm, cudaStream_t stream)
{
    Operation operation;
    operation.kind = Kind::Put;
    operation.send = buffer;
    operation.count = count;
    operation.type = type;
    operation.root = peer;
    operation.stream = stream;
    operation.offset = offset;
    return call_signal(__func__, comm, std::move(operation), window, index, context, flags);
}

ncclResult_t ncclSignal(int peer, int index, int context, unsigned flags, ncclComm_t comm,
                        cudaStream_t stream)
{
    Operation operation;
    operation.kind = Kind::Signal;
    operation.root = peer;
    operation.stream = stream;
    return call_signal(__func__, comm, std::move(operation), nullptr, index, context, flags);
}

ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t *waits, ncclComm_t handle,
                            cudaStream_t stream)
{
    Operation operation;
    operation.kind = Kind::WaitSignal;
    operation.root = -1; // the descriptors name the peers
    operation.stream = stream;
    std::shared_ptr<Comm> comm = Comm::find(handle);
    if (count < 0 || (count > 0 && waits == nullptr))
        return note(refuse(ncclInvalidArgument, "WaitSignal : invalid descriptors"));
    for (int i = 0; i < count && comm; ++i) {
        const ncclWaitSignalDesc_t &wait = waits[i];
        if (wait.opCnt < 0 || wait.peer < 0 || wait.peer >= comm->nranks ||
            !valid_signal(*comm, wait.sigIdx, wait.ctx))
            return note(refuse(ncclInvalidArgument, "WaitSignal : invalid descriptor"));
        operation.waits.push_back(wait);
    }
    return call_operation(__func__, handle, std::move(operation));
}

METRALE_PROFILED(ncclMemAlloc);
METRALE_PROFILED(ncclMemFree);
METRALE_PROFILED(ncclCommRegister);
METRALE_PROFILED(ncclCommDeregister);
METRALE_PROFILED(ncclCommWindowRegister);
METRALE_PROFILED(ncclCommWindowDeregister);
METRALE_PROFILED(ncclWinGetUserPtr);
METRALE_PROFILED(ncclPutSignal);
METRALE_PROFILED(ncclSignal);
METRALE_PROFILED(ncclWaitSignal);
