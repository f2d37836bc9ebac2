#include "nccl/collective.h"

#include "nccl/engine.h"
#include "nccl/reduce.h"

#include <cstdlib>
#include <cstring>

namespace metrale::emulator::nccl
{

namespace
{

bool reduces(Kind kind)
{
    return kind == Kind::AllReduce || kind == Kind::Reduce || kind == Kind::ReduceScatter;
}

bool has_peer(Kind kind)
{
    return kind != Kind::AllReduce && kind != Kind::AllGather && kind != Kind::ReduceScatter &&
           kind != Kind::AlltoAll && kind != Kind::WaitSignal;
}

ncclResult_t check_op(Comm &comm, const Operation &operation)
{
    std::lock_guard<std::mutex> lock(comm.mutex);
    if (operation.op >= 0 && operation.op < ncclNumOps)
        return ncclSuccess;
    auto index = static_cast<size_t>(operation.op - ncclNumOps);
    if (operation.op < 0 || index >= comm.user_ops.size() || !comm.user_ops[index].live)
        return refuse(ncclInvalidArgument, std::string(operation.name) +
                                               " : invalid reduction "
                                               "operation " +
                                               std::to_string(operation.op));
    if (comm.user_ops[index].type != operation.type)
        return refuse(ncclInvalidArgument,
                      std::string(operation.name) +
                          " : the user operation was made for another data type");
    return ncclSuccess;
}

bool check_pointers()
{
    const char *value = std::getenv("NCCL_CHECK_POINTERS");
    return (value != nullptr && std::strcmp(value, "1") == 0) ||
           Configuration::instance().flag("nccl.check_pointers", false);
}

ncclResult_t check_buffer(const Comm &comm, const Operation &operation, const void *buffer,
                          uint64_t bytes, const char *which)
{
    struct metrale_emulator_range range;
    if (bytes == 0)
        return ncclSuccess;
    if (buffer == nullptr)
        return refuse(ncclInvalidArgument,
                      std::string(operation.name) + " : " + which + " is NULL");
    if (!check_pointers())
        return ncclSuccess;
    auto address = reinterpret_cast<uint64_t>(buffer);
    bool good = metrale_emulator_cuda_range(address, bytes, 0, &range) == 0 &&
                (range.kind != METRALE_EMULATOR_DEVICE || range.device == comm.device);
    return good ? ncclSuccess
                : refuse(ncclInvalidArgument,
                         std::string(operation.name) + " : " + which + " is not a valid pointer");
}

ncclResult_t check(Comm &comm, const Operation &operation)
{
    uint64_t send = 0;
    uint64_t recv = 0;

    if (element_bytes(operation.type) == 0)
        return refuse(ncclInvalidArgument, std::string(operation.name) + " : invalid type " +
                                               std::to_string(operation.type));
    if (has_peer(operation.kind) && (operation.root < 0 || operation.root >= comm.nranks))
        return refuse(ncclInvalidArgument, std::string(operation.name) + " : invalid root " +
                                               std::to_string(operation.root) +
                                               " (root should be in the 0.." +
                                               std::to_string(comm.nranks) + " range)");
    if (reduces(operation.kind)) {
        ncclResult_t result = check_op(comm, operation);
        if (result != ncclSuccess)
            return result;
    }
    if (!extent(operation, comm.rank, comm.nranks, &send, &recv))
        return refuse(ncclInvalidArgument, std::string(operation.name) + " : count is too large");
    ncclResult_t result = check_buffer(comm, operation, operation.send, send, "sendbuff");
    if (result == ncclSuccess)
        result = check_buffer(comm, operation, operation.recv, recv, "recvbuff");
    return result;
}

} // namespace

ncclResult_t call_operation(const char *function, ncclComm_t handle, Operation operation,
                            const ncclCollConfig_t *config)
{
    return guarded([&]() -> ncclResult_t {
        std::shared_ptr<Comm> comm = Comm::find(handle);
        Fault fault = Faults::instance().hit("nccl", function, comm ? comm->rank.load() : -1,
                                             comm ? comm->device : -1);
        if (fault.block_ms > 0)
            sleep_ms(fault.block_ms);
        if (fault.lost && comm)
            metrale_emulator_cuda_lose(comm->device, fault.lost_code);
        if (fault.code)
            return refuse(static_cast<ncclResult_t>(*fault.code), "fault asked for");
        operation.name = function;
        if (!comm)
            return refuse(ncclInvalidArgument,
                          std::string(function + 4) +
                              (handle == nullptr ? " : comm argument is NULL"
                                                 : " : comm argument is not a communicator"));
        ncclResult_t result = comm->ready();
        if (result != ncclSuccess)
            return result;
        if (comm->revoked || comm->finalized || comm->suspended)
            return refuse(ncclInvalidUsage, std::string(function + 4) +
                                                " : communicator is revoked, finalized or "
                                                "suspended");
        result = check(*comm, operation);
        if (result == ncclSuccess)
            result = check_collective_config(config);
        if (result != ncclSuccess)
            return result;
        if (config != nullptr)
            operation.launched = config->launchCompletionEvent;
        // Nothing to move: nothing is launched, as in the real library.
        bool moves = is_collective(operation.kind);
        if ((moves && operation.count == 0) || fault.skip)
            return ncclSuccess;
        operation.fault = fault;
        return enqueue(comm, std::move(operation));
    });
}

namespace
{

Operation make(Kind kind, const void *send, void *recv, uint64_t count, int type, int op, int root,
               cudaStream_t stream)
{
    Operation operation;
    operation.kind = kind;
    operation.send = send;
    operation.recv = recv;
    operation.count = count;
    operation.type = type;
    operation.op = op;
    operation.root = root;
    operation.stream = stream;
    return operation;
}

} // namespace

} // namespace metrale::emulator::nccl

using namespace metrale::emulator::nccl;

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::AllReduce, send, recv, count, type, op, 0, stream));
}

ncclResult_t ncclAllReduceConfig(const void *send, void *recv, size_t count, ncclDataType_t type,
                                 ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t *config)
{
    return call_operation(__func__, comm,
                          make(Kind::AllReduce, send, recv, count, type, op, 0, stream), config);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::Reduce, send, recv, count, type, op, root, stream));
}

ncclResult_t ncclReduceConfig(const void *send, void *recv, size_t count, ncclDataType_t type,
                              ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
                              const ncclCollConfig_t *config)
{
    return call_operation(__func__, comm,
                          make(Kind::Reduce, send, recv, count, type, op, root, stream), config);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::ReduceScatter, send, recv, count, type, op, 0, stream));
}

ncclResult_t ncclReduceScatterConfig(const void *send, void *recv, size_t count,
                                     ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                     cudaStream_t stream, const ncclCollConfig_t *config)
{
    return call_operation(
        __func__, comm, make(Kind::ReduceScatter, send, recv, count, type, op, 0, stream), config);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::Broadcast, send, recv, count, type, 0, root, stream));
}

ncclResult_t ncclBroadcastConfig(const void *send, void *recv, size_t count, ncclDataType_t type,
                                 int root, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t *config)
{
    return call_operation(__func__, comm,
                          make(Kind::Broadcast, send, recv, count, type, 0, root, stream), config);
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return call_operation(__func__, comm,
                          make(Kind::Broadcast, buffer, buffer, count, type, 0, root, stream));
}

METRALE_PROFILED(ncclAllReduce);
METRALE_PROFILED(ncclAllReduceConfig);
METRALE_PROFILED(ncclReduce);
METRALE_PROFILED(ncclReduceConfig);
METRALE_PROFILED(ncclReduceScatter);
METRALE_PROFILED(ncclReduceScatterConfig);
METRALE_PROFILED(ncclBroadcast);
METRALE_PROFILED(ncclBroadcastConfig);
METRALE_PROFILED(ncclBcast);
