#include "nccl/comm.h"

#include "nccl/api.h"
#include "nccl/init.h"

#include <algorithm>
#include <cstring>

using namespace metrale::emulator;
using namespace metrale::emulator::nccl;

namespace
{

/* From the header of NCCL's device side, which needs a CUDA compiler. It only grows at its end. */
struct Properties {
    size_t size;
    unsigned int magic;
    unsigned int version;
    int rank;
    int ranks;
    int cuda_device;
    int nvml_device;
    bool device_api;
    bool multimem;
    int gin_type;
    int lsa_teams;
    bool host_rma;
    int railed_gin_type;
    uint64_t hash;
    int gin_min_stride;
    int gin_connection;
    bool gin_support[64];
    size_t dev_comm_bytes;
    bool cft;
    bool cft_multicast;
    bool cft_counted;
};
static_assert(sizeof(Properties) == 152, "the layout is NCCL's");

const unsigned int kMagic = 0xcafebeef;
const size_t kHead = offsetof(Properties, rank);

} // namespace

/* A communicator without kernels: nothing of the device side, puts and signals by the host. */
extern "C" __attribute__((visibility("default"))) ncclResult_t
ncclCommQueryProperties(ncclComm_t handle, Properties *out)
{
    std::shared_ptr<Comm> comm = Comm::find(handle);
    if (!comm)
        return refuse(ncclInvalidArgument, "CommQueryProperties : comm argument is not valid");
    ncclResult_t result = comm->ready();
    if (result != ncclSuccess)
        return result;
    if (out == nullptr || out->magic != kMagic || out->size < kHead)
        return refuse(ncclInvalidArgument,
                      "CommQueryProperties : properties were not made by their initializer");
    Properties found{};
    int device = 0;
    if (ncclCommCuDevice(handle, &device) != ncclSuccess)
        return ncclInvalidArgument;
    found.rank = comm->rank;
    found.ranks = comm->nranks.load();
    found.cuda_device = device;
    found.nvml_device = device;
    found.lsa_teams = found.ranks;
    found.host_rma = true;
    found.hash = 0x6d657472616c65;
    size_t bytes = std::min(out->size, sizeof(found)) - kHead;
    memcpy(reinterpret_cast<char *>(out) + kHead, reinterpret_cast<char *>(&found) + kHead, bytes);
    return ncclSuccess;
}
METRALE_PROFILED(ncclCommQueryProperties);
