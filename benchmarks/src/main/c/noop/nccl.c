#include <nccl.h>

#include "noop.h"

NOOP ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

NOOP ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    memset(id, 7, sizeof(*id));
    return ncclSuccess;
}

NOOP ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                         ncclConfig_t *config)
{
    (void)ranks, (void)id, (void)rank, (void)config;
    *comm = noop_handle();
    return ncclSuccess;
}

NOOP ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    (void)ranks, (void)id, (void)rank;
    *comm = noop_handle();
    return ncclSuccess;
}

NOOP ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    (void)comm;
    *error = ncclSuccess;
    return ncclSuccess;
}

NOOP ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    (void)comm;
    *count = 1;
    return ncclSuccess;
}

NOOP ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    (void)comm;
    *rank = 0;
    return ncclSuccess;
}

NOOP const char *ncclGetErrorString(ncclResult_t result)
{
    (void)result;
    return "no-op";
}

NOOP const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return "";
}
