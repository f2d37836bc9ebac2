#include "nccl/group.h"

#include <chrono>
#include <cuda.h>

using namespace metrale::emulator;
using namespace metrale::emulator::nccl;

namespace
{

constexpr uint64_t kBufferBytes = 4ULL * 1024 * 1024; /* claimed per peer */
constexpr uint64_t kFixedBytes = 6ULL * 1024 * 1024;

/* Background work polls for the abort, so this ends soon; an end all the same. */
void await_jobs(const Comm &comm)
{
    for (int waited = 0; comm.jobs.load() > 0 && waited < 10000; ++waited)
        sleep_ms(1);
}

/* Work that runs on a stream looks for the abort as well. */
void await_work(Comm &comm)
{
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (;;) {
        {
            std::lock_guard<std::mutex> lock(comm.mutex);
            if (comm.running == 0)
                return;
        }
        if (std::chrono::steady_clock::now() > limit)
            return;
        sleep_ms(1);
    }
}

void leave(Comm &comm, Presence how)
{
    if (!comm.board)
        return;
    Presence joined = Presence::Joined;
    comm.board->slot(comm.rank).presence.compare_exchange_strong(joined, how);
    for (WindowEntry &window : comm.board->slot(comm.rank).windows)
        window.valid.store(0, std::memory_order_release);
    comm.board->announce();
    std::lock_guard<std::mutex> lock(comm.mutex);
    comm.windows.clear();
}

ncclResult_t wait_for_work(const std::shared_ptr<Comm> &comm)
{
    if (!comm->await_all())
        return refuse(ncclInternalError, "aborted while waiting for its operations");
    if (Configuration::instance().choice("nccl.finalize", {"local", "collective"}) !=
            "collective" ||
        !comm->board || comm->revoked)
        return ncclSuccess;
    std::vector<HostMessage> all;
    return comm->exchange(HostMessage{}, &all);
}

} // namespace

ncclResult_t ncclCommFinalize(ncclComm_t handle)
{
    return with_comm(
        __func__, handle,
        [](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
            ncclResult_t result = comm->ready();
            if (result != ncclSuccess)
                return result;
            if (comm->revoked)
                return refuse(ncclInvalidUsage, "CommFinalize : the communicator was revoked");
            if (comm->finalized.exchange(true))
                return refuse(ncclInvalidUsage, "CommFinalize : finalized already");
            return start({comm, nullptr, [comm] { return wait_for_work(comm); }});
        },
        Waiting::InJob);
}

ncclResult_t ncclCommDestroy(ncclComm_t handle)
{
    if (handle == nullptr)
        return ncclSuccess;
    return with_comm(__func__, handle, [](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        if (comm->state() == ncclInProgress && !comm->finalized && !comm->revoked)
            return comm->ready();
        await_jobs(*comm);
        if (!comm->finalized.exchange(true)) {
            ncclResult_t result = wait_for_work(comm);
            if (result != ncclSuccess)
                return result;
        }
        if (comm->retire())
            leave(*comm, Presence::Left);
        return ncclSuccess;
    });
}

ncclResult_t ncclCommAbort(ncclComm_t handle)
{
    if (handle == nullptr)
        return ncclSuccess;
    return with_comm(__func__, handle, [](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        if (!comm->retire())
            return refuse(ncclInvalidArgument, "CommAbort : aborted or destroyed already");
        comm->aborted = true;
        {
            std::lock_guard<std::mutex> lock(comm->mutex);
            comm->changed.notify_all();
        }
        await_jobs(*comm);
        if (comm->board)
            comm->board->announce();
        await_work(*comm);
        leave(*comm, Presence::Aborted);
        return ncclSuccess;
    });
}

ncclResult_t ncclCommRevoke(ncclComm_t handle, int flags)
{
    return with_comm(
        __func__, handle,
        [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
            if (flags != NCCL_REVOKE_DEFAULT)
                return refuse(ncclInvalidArgument, "CommRevoke : flags must be 0");
            if (comm->state() == ncclInProgress)
                return comm->ready();
            if (comm->finalized || comm->revoked.exchange(true))
                return refuse(ncclInvalidUsage, "CommRevoke : revoked or finalized already");
            comm->cancel_issued();
            comm->async = ncclSuccess;
            return start({comm, nullptr, [comm] {
                              await_work(*comm);
                              return ncclSuccess;
                          }});
        },
        Waiting::InJob);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *out)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        if (out == nullptr)
            return refuse(ncclInvalidArgument, "CommGetAsyncError : asyncError argument is NULL");
        *out = comm->state();
        return ncclSuccess;
    });
}

ncclResult_t ncclCommCount(const ncclComm_t handle, int *out)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        ncclResult_t result = comm->ready();
        if (result == ncclSuccess && out == nullptr)
            return refuse(ncclInvalidArgument, "CommCount : count argument is NULL");
        if (result == ncclSuccess)
            *out = comm->nranks;
        return result;
    });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t handle, int *out)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        ncclResult_t result = comm->ready();
        if (result == ncclSuccess && out == nullptr)
            return refuse(ncclInvalidArgument, "CommCuDevice : device argument is NULL");
        if (result == ncclSuccess)
            *out = comm->device;
        return result;
    });
}

ncclResult_t ncclCommUserRank(const ncclComm_t handle, int *out)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        ncclResult_t result = comm->ready();
        if (result == ncclSuccess && out == nullptr)
            return refuse(ncclInvalidArgument, "CommUserRank : rank argument is NULL");
        if (result == ncclSuccess)
            *out = comm->rank;
        return result;
    });
}

ncclResult_t ncclCommSuspend(ncclComm_t handle, int flags)
{
    return with_comm(
        __func__, handle,
        [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
            ncclResult_t result = comm->ready();
            if (result != ncclSuccess)
                return result;
            if (flags != NCCL_SUSPEND_MEM)
                return refuse(ncclInvalidArgument, "CommSuspend : invalid flags");
            if (comm->suspended.exchange(true))
                return refuse(ncclInvalidUsage, "CommSuspend : suspended already");
            return start({comm, nullptr,
                          [comm] { return comm->await_all() ? ncclSuccess : ncclInternalError; }});
        },
        Waiting::InJob);
}

ncclResult_t ncclCommResume(ncclComm_t handle)
{
    return with_comm(__func__, handle, [](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        ncclResult_t result = comm->ready();
        if (result != ncclSuccess)
            return result;
        if (!comm->suspended.exchange(false))
            return refuse(ncclInvalidUsage, "CommResume : not suspended");
        return ncclSuccess;
    });
}

ncclResult_t ncclCommMemStats(ncclComm_t handle, ncclCommMemStat_t stat, uint64_t *out)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        ncclResult_t result = comm->ready();
        if (result != ncclSuccess)
            return result;
        if (out == nullptr)
            return refuse(ncclInvalidArgument, "CommMemStats : value argument is NULL");
        auto buffers = kBufferBytes * static_cast<uint64_t>(comm->nranks.load());
        switch (static_cast<int>(stat)) {
        case ncclStatGpuMemSuspend:
            *out = buffers;
            return ncclSuccess;
        case ncclStatGpuMemSuspended:
            *out = comm->suspended ? 1 : 0;
            return ncclSuccess;
        case ncclStatGpuMemPersist:
            *out = kFixedBytes;
            return ncclSuccess;
        case ncclStatGpuMemTotal:
            *out = buffers + kFixedBytes;
            return ncclSuccess;
        default:
            return refuse(ncclInvalidArgument, "CommMemStats : invalid statistic");
        }
    });
}

METRALE_PROFILED(ncclCommFinalize);
METRALE_PROFILED(ncclCommDestroy);
METRALE_PROFILED(ncclCommAbort);
METRALE_PROFILED(ncclCommRevoke);
METRALE_PROFILED(ncclCommGetAsyncError);
METRALE_PROFILED(ncclCommCount);
METRALE_PROFILED(ncclCommCuDevice);
METRALE_PROFILED(ncclCommUserRank);
METRALE_PROFILED(ncclCommSuspend);
METRALE_PROFILED(ncclCommResume);
METRALE_PROFILED(ncclCommMemStats);
