#include "nccl/init.h"

#include <cstring>
#include <cuda.h>

using namespace metrale::emulator;
using namespace metrale::emulator::nccl;

namespace
{

ncclResult_t current_device(int *device)
{
    int code = metrale_emulator_cuda_current(device);
    return code == 0 ? ncclSuccess : cuda_failure(code, "cudaGetDevice");
}

} // namespace

namespace metrale::emulator::nccl
{

BoardId board_id(const ncclUniqueId &id)
{
    BoardId result;
    std::memcpy(&result, &id, sizeof(result));
    return result;
}

ncclResult_t settle_new(const std::shared_ptr<Comm> &comm, ncclComm_t *out, ncclResult_t result)
{
    if (result != ncclSuccess && comm->blocking() && comm->retire())
        __atomic_store_n(out, nullptr, __ATOMIC_RELEASE);
    return result;
}

ncclResult_t init_rank(const char *function, ncclComm_t *out, int nranks, const ncclUniqueId &id,
                       int rank, const ncclConfig_t *user)
{
    int device = 0;
    ncclConfig_t config;

    ncclResult_t result = current_device(&device);
    if (result != ncclSuccess)
        return result;
    Fault fault = Faults::instance().hit("nccl", function, rank, device);
    if (fault.block_ms > 0)
        sleep_ms(fault.block_ms);
    if (fault.lost)
        metrale_emulator_cuda_lose(device, fault.lost_code);
    if (fault.code)
        return refuse(static_cast<ncclResult_t>(*fault.code), "fault asked for");
    if (out == nullptr)
        return refuse(ncclInvalidArgument, "CommInitRank : newcomm argument is NULL");
    if (nranks < 1 || rank < 0 || rank >= nranks || nranks > kMaxRanks)
        return refuse(ncclInvalidArgument, "Invalid rank requested : " + std::to_string(rank) +
                                               "/" + std::to_string(nranks));
    result = parse_config(user, nullptr, &config);
    if (result != ncclSuccess)
        return result;

    std::shared_ptr<Comm> comm = Comm::create(config);
    comm->device = device;
    comm->rank = rank;
    comm->nranks = nranks;
    // Known before it is ready: another thread may want to abort it.
    __atomic_store_n(out, static_cast<ncclComm_t>(comm->handle), __ATOMIC_RELEASE);
    leave_to_job(fault);
    return start({comm, nullptr, [comm, out, id, fault] {
                      if (fault.async)
                          return settle_new(
                              comm, out,
                              refuse(static_cast<ncclResult_t>(*fault.async), "fault asked for"));
                      return settle_new(comm, out, comm->join(board_id(id)));
                  }});
}

} // namespace metrale::emulator::nccl

ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
    return guarded([&]() -> ncclResult_t {
        Fault fault = host_fault("nccl", "ncclGetUniqueId");
        if (fault.code)
            return refuse(static_cast<ncclResult_t>(*fault.code), "fault asked for");
        if (out == nullptr)
            return refuse(ncclInvalidArgument, "GetUniqueId : uniqueId argument is NULL");
        BoardId id;
        Board::sweep();
        if (!Board::create(&id))
            return refuse(ncclSystemError, "no shared memory for a new communicator");
        std::memcpy(out, &id, sizeof(id));
        return ncclSuccess;
    });
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int nranks, ncclUniqueId id, int rank)
{
    const char *function = __func__;
    return guarded([&] { return init_rank(function, out, nranks, id, rank, nullptr); });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    const char *function = __func__;
    return guarded([&] { return init_rank(function, out, nranks, id, rank, config); });
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *out, int nranks, int rank, int count,
                                      ncclUniqueId *ids, ncclConfig_t *config)
{
    const char *function = __func__;
    return guarded([&]() -> ncclResult_t {
        if (ids == nullptr || count < 1 || count > nranks)
            return refuse(ncclInvalidArgument, "CommInitRankScalable : wrong number of ids");
        // All ranks give the same list: its first id is enough to meet.
        return init_rank(function, out, nranks, ids[0], rank, config);
    });
}

ncclResult_t ncclCommInitAll(ncclComm_t *out, int count, const int *devices)
{
    const char *function = __func__;
    return guarded([&]() -> ncclResult_t {
        int present = 0;
        int device = 0;
        ncclUniqueId id;
        CUcontext before = nullptr;
        ncclResult_t result = current_device(&device);
        if (result != ncclSuccess)
            return result;
        cuDeviceGetCount(&present);
        if (out == nullptr || count < 0)
            return refuse(ncclInvalidArgument, "CommInitAll : comms argument is NULL");
        for (int i = 0; i < count; ++i) {
            int wanted = devices == nullptr ? i : devices[i];
            if (wanted < 0 || wanted >= present)
                return refuse(ncclInvalidArgument,
                              "CommInitAll : invalid device " + std::to_string(wanted));
            for (int j = 0; j < i && devices != nullptr; ++j) {
                if (devices[j] == wanted)
                    return refuse(ncclInvalidUsage, "CommInitAll : device " +
                                                        std::to_string(wanted) + " given twice");
            }
        }
        result = ncclGetUniqueId(&id);
        if (result != ncclSuccess)
            return result;
        cuCtxGetCurrent(&before);
        ncclGroupStart();
        for (int i = 0; i < count; ++i) {
            // Primary contexts stay retained, as the runtime library keeps them.
            CUcontext primary = nullptr;
            cuDevicePrimaryCtxRetain(&primary, devices == nullptr ? i : devices[i]);
            cuCtxSetCurrent(primary);
            note(init_rank(function, &out[i], count, id, i, nullptr));
        }
        cuCtxSetCurrent(before);
        return ncclGroupEnd();
    });
}

METRALE_PROFILED(ncclGetUniqueId);
METRALE_PROFILED(ncclCommInitRank);
METRALE_PROFILED(ncclCommInitRankConfig);
METRALE_PROFILED(ncclCommInitRankScalable);
METRALE_PROFILED(ncclCommInitAll);
