#include "nccl/collective.h"

using namespace metrale::emulator::nccl;

namespace
{

Operation make(Kind kind, const void *send, void *recv, uint64_t count, int type, int root,
               cudaStream_t stream)
{
    Operation operation;
    operation.kind = kind;
    operation.send = send;
    operation.recv = recv;
    operation.count = count;
    operation.type = type;
    operation.root = root;
    operation.stream = stream;
    return operation;
}

} // namespace

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::AllGather, send, recv, count, type, 0, stream));
}

ncclResult_t ncclAllGatherConfig(const void *send, void *recv, size_t count, ncclDataType_t type,
                                 ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t *config)
{
    return call_operation(__func__, comm, make(Kind::AllGather, send, recv, count, type, 0, stream),
                          config);
}

ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream)
{
    return call_operation(__func__, comm, make(Kind::AlltoAll, send, recv, count, type, 0, stream));
}

ncclResult_t ncclAlltoAllConfig(const void *send, void *recv, size_t count, ncclDataType_t type,
                                ncclComm_t comm, cudaStream_t stream,
                                const ncclCollConfig_t *config)
{
    return call_operation(__func__, comm, make(Kind::AlltoAll, send, recv, count, type, 0, stream),
                          config);
}

ncclResult_t ncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::Gather, send, recv, count, type, root, stream));
}

ncclResult_t ncclGatherConfig(const void *send, void *recv, size_t count, ncclDataType_t type,
                              int root, ncclComm_t comm, cudaStream_t stream,
                              const ncclCollConfig_t *config)
{
    return call_operation(__func__, comm, make(Kind::Gather, send, recv, count, type, root, stream),
                          config);
}

ncclResult_t ncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::Scatter, send, recv, count, type, root, stream));
}

ncclResult_t ncclScatterConfig(const void *send, void *recv, size_t count, ncclDataType_t type,
                               int root, ncclComm_t comm, cudaStream_t stream,
                               const ncclCollConfig_t *config)
{
    return call_operation(__func__, comm,
                          make(Kind::Scatter, send, recv, count, type, root, stream), config);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::Send, send, nullptr, count, type, peer, stream));
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::Recv, nullptr, recv, count, type, peer, stream));
}

METRALE_PROFILED(ncclAllGather);
METRALE_PROFILED(ncclAllGatherConfig);
METRALE_PROFILED(ncclAlltoAll);
METRALE_PROFILED(ncclAlltoAllConfig);
METRALE_PROFILED(ncclGather);
METRALE_PROFILED(ncclGatherConfig);
METRALE_PROFILED(ncclScatter);
METRALE_PROFILED(ncclScatterConfig);
METRALE_PROFILED(ncclSend);
METRALE_PROFILED(ncclRecv);
