#include "nccl/group.h"

#include "nccl/reduce.h"

#include <cstring>

using namespace metrale::emulator::nccl;

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *out, void *scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t handle)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        ncclResult_t result = comm->ready();
        if (result != ncclSuccess)
            return result;
        size_t bytes = element_bytes(type);
        int where = static_cast<int>(residence);
        if (out == nullptr || scalar == nullptr || bytes == 0 ||
            (where != ncclScalarDevice && where != ncclScalarHostImmediate))
            return refuse(ncclInvalidArgument, "RedOpCreatePreMulSum : invalid arguments");
        UserOp op;
        op.live = true;
        op.type = type;
        if (where == ncclScalarHostImmediate)
            std::memcpy(&op.scalar, scalar, bytes);
        else
            op.device = scalar;

        std::lock_guard<std::mutex> lock(comm->mutex);
        size_t index = 0;
        while (index < comm->user_ops.size() && comm->user_ops[index].live)
            ++index;
        if (index == comm->user_ops.size())
            comm->user_ops.emplace_back();
        comm->user_ops[index] = op;
        *out = static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(index));
        return ncclSuccess;
    });
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t handle)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        int number = static_cast<int>(op);
        if (number >= 0 && number < ncclNumOps)
            return refuse(ncclInvalidArgument, "RedOpDestroy : operator is a NCCL builtin");
        std::lock_guard<std::mutex> lock(comm->mutex);
        auto index = static_cast<size_t>(number - ncclNumOps);
        if (number < 0 || index >= comm->user_ops.size() || !comm->user_ops[index].live)
            return refuse(ncclInvalidArgument, "RedOpDestroy : operator unknown to this "
                                               "communicator");
        // Its values stay for operations that are queued; only the place becomes free.
        comm->user_ops[index].live = false;
        return ncclSuccess;
    });
}

METRALE_PROFILED(ncclRedOpCreatePreMulSum);
METRALE_PROFILED(ncclRedOpDestroy);
