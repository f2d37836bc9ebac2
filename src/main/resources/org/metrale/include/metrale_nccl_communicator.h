/*
 * Flat calls of NCCL that make communicators, end them and ask them, and for what belongs to one.
 * As those of metrale_nccl.h, which says what they take and answer.
 */
#ifndef METRALE_NCCL_COMMUNICATOR_H
#define METRALE_NCCL_COMMUNICATOR_H
#ifndef METRALE_PARSER
#include "metrale_nccl.h"

/* The properties of a communicator; in the header of NCCL's device side, which the glue does not
 * need. */
struct metrale_nccl_properties {
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
static_assert(sizeof(metrale_nccl_properties) == 152, "layout is NCCL's");

/* Fills a config of the header's version, then cuts it down to what the loaded library knows. */
static inline ncclConfig_t metrale_nccl_config(const int64_t *fields)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

    config.size = static_cast<size_t>(fields[0]);
    config.version = static_cast<unsigned int>(fields[1]);
    config.blocking = static_cast<int>(fields[2]);
    config.cgaClusterSize = static_cast<int>(fields[3]);
    config.minCTAs = static_cast<int>(fields[4]);
    config.maxCTAs = static_cast<int>(fields[5]);
    config.netName = METRALE_NCCL_POINTER(const char *, fields[6]);
    config.splitShare = static_cast<int>(fields[7]);
    metrale_nccl_set_trafficClass(&config, static_cast<int>(fields[8]), 0);
    metrale_nccl_set_commName(&config, METRALE_NCCL_POINTER(const char *, fields[9]), 0);
    metrale_nccl_set_collnetEnable(&config, static_cast<int>(fields[10]), 0);
    metrale_nccl_set_CTAPolicy(&config, static_cast<int>(fields[11]), 0);
    metrale_nccl_set_shrinkShare(&config, static_cast<int>(fields[12]), 0);
    metrale_nccl_set_nvlsCTAs(&config, static_cast<int>(fields[13]), 0);
    metrale_nccl_set_nChannelsPerNetPeer(&config, static_cast<int>(fields[14]), 0);
    metrale_nccl_set_nvlinkCentricSched(&config, static_cast<int>(fields[15]), 0);
    metrale_nccl_set_graphUsageMode(&config, static_cast<int>(fields[16]), 0);
    metrale_nccl_set_numRmaCtx(&config, static_cast<int>(fields[17]), 0);
    metrale_nccl_set_maxP2pPeers(&config, static_cast<int>(fields[18]), 0);
    metrale_nccl_set_graphStreamOrdering(&config, static_cast<int>(fields[19]), 0);
    metrale_nccl_set_launchOrderImplicit(&config, static_cast<int>(fields[20]), 0);
    metrale_nccl_set_numRmaSig(&config, static_cast<int>(fields[21]), 0);
    metrale_nccl_set_rmaEagerInit(&config, static_cast<int>(fields[22]), 0);
    metrale_nccl_set_hostCftMode(&config, static_cast<int>(fields[23]), 0);
    metrale_nccl_set_nvlsHostMode(&config, static_cast<int>(fields[24]), 0);
    return config;
}
#endif

/* [out] id: 128 bytes. */
static inline int metrale_ncclGetUniqueId(char *id)
{
    ncclUniqueId made;
    ncclResult_t result = ncclGetUniqueId(&made);

    memcpy(id, made.internal, sizeof(made.internal));
    return result;
}

/* [in] ids: 128 bytes each. [out] cell: where the handle appears, possibly before the call ends. */
static inline int metrale_ncclCommInitRank(int64_t context, int ranks, int rank, char *ids,
                                           int id_count, const int64_t *config, int64_t cell)
{
    metrale_nccl_current current(context);
    ncclComm_t *comm = METRALE_NCCL_POINTER(ncclComm_t *, cell);

    if (current.code != 0) {
        return current.code;
    }
    ncclConfig_t filled = metrale_nccl_config(config);
    if (id_count == 1) {
        ncclUniqueId id;
        memcpy(id.internal, ids, sizeof(id.internal));
        return ncclCommInitRankConfig(comm, ranks, id, rank, &filled);
    }
    return ncclCommInitRankScalable(comm, ranks, rank, id_count,
                                    reinterpret_cast<ncclUniqueId *>(ids), &filled);
}

static inline int metrale_ncclCommSplit(int64_t context, int64_t comm, int color, int key,
                                        const int64_t *config, int64_t cell)
{
    metrale_nccl_current current(context);
    ncclConfig_t filled = metrale_nccl_config(config);

    return current.code != 0 ? current.code
                             : ncclCommSplit(METRALE_NCCL_POINTER(ncclComm_t, comm), color, key,
                                             METRALE_NCCL_POINTER(ncclComm_t *, cell), &filled);
}

static inline int metrale_ncclCommShrink(int64_t context, int64_t comm, int *excluded, int count,
                                         const int64_t *config, int flags, int64_t cell)
{
    metrale_nccl_current current(context);
    ncclConfig_t filled = metrale_nccl_config(config);

    return current.code != 0
               ? current.code
               : ncclCommShrink(METRALE_NCCL_POINTER(ncclComm_t, comm), excluded, count,
                                METRALE_NCCL_POINTER(ncclComm_t *, cell), &filled, flags);
}

/* [in] id: 128 bytes, used if has_id. */
static inline int metrale_ncclCommGrow(int64_t context, int64_t comm, int ranks, char *id,
                                       bool has_id, int rank, const int64_t *config, int64_t cell)
{
    metrale_nccl_current current(context);
    ncclConfig_t filled = metrale_nccl_config(config);
    ncclUniqueId copy;

    memcpy(copy.internal, id, sizeof(copy.internal));
    return current.code != 0 ? current.code
                             : ncclCommGrow(METRALE_NCCL_POINTER(ncclComm_t, comm), ranks,
                                            has_id ? &copy : nullptr, rank,
                                            METRALE_NCCL_POINTER(ncclComm_t *, cell), &filled);
}

static inline int metrale_ncclCommGetUniqueId(int64_t comm, char *id)
{
    ncclUniqueId made;
    ncclResult_t result = ncclCommGetUniqueId(METRALE_NCCL_POINTER(ncclComm_t, comm), &made);

    memcpy(id, made.internal, sizeof(made.internal));
    return result;
}

static inline int metrale_ncclCommFinalize(int64_t context, int64_t comm)
{
    metrale_nccl_current current(context);

    return current.code != 0 ? current.code
                             : ncclCommFinalize(METRALE_NCCL_POINTER(ncclComm_t, comm));
}

static inline int metrale_ncclCommDestroy(int64_t context, int64_t comm)
{
    metrale_nccl_current current(context);

    return current.code != 0 ? current.code
                             : ncclCommDestroy(METRALE_NCCL_POINTER(ncclComm_t, comm));
}

static inline int metrale_ncclCommAbort(int64_t context, int64_t comm)
{
    metrale_nccl_current current(context);

    /* A lost context must not keep the communicator from being aborted. */
    return ncclCommAbort(METRALE_NCCL_POINTER(ncclComm_t, comm));
}

static inline int metrale_ncclCommRevoke(int64_t comm)
{
    return ncclCommRevoke(METRALE_NCCL_POINTER(ncclComm_t, comm), 0);
}

static inline int metrale_ncclCommSuspend(int64_t context, int64_t comm)
{
    metrale_nccl_current current(context);

    return current.code != 0
               ? current.code
               : ncclCommSuspend(METRALE_NCCL_POINTER(ncclComm_t, comm), NCCL_SUSPEND_MEM);
}

static inline int metrale_ncclCommResume(int64_t context, int64_t comm)
{
    metrale_nccl_current current(context);

    return current.code != 0 ? current.code
                             : ncclCommResume(METRALE_NCCL_POINTER(ncclComm_t, comm));
}

/* [out] four: the statistics in the header's order. */
static inline int metrale_ncclCommMemStats(int64_t comm, int64_t *four)
{
    for (int stat = 0; stat < 4; stat++) {
        uint64_t value = 0;
        ncclResult_t result = ncclCommMemStats(METRALE_NCCL_POINTER(ncclComm_t, comm),
                                               static_cast<ncclCommMemStat_t>(stat), &value);
        if (result != ncclSuccess) {
            return result;
        }
        four[stat] = static_cast<int64_t>(value);
    }
    return ncclSuccess;
}

/*
 * [out] thirteen: rank, ranks, CUDA device, NVML device, device side, multimem, kind of GIN, LSA
 * teams, RMA by the host, kind of railed GIN, hash, CFT, multicast by CFT. Only for a library that
 * has the structure as it is here.
 */
static inline int metrale_ncclCommQueryProperties(int64_t comm, int64_t *thirteen)
{
    typedef ncclResult_t (*query)(ncclComm_t, metrale_nccl_properties *);
    void *handle = __atomic_load_n(&metrale_table_handle, __ATOMIC_ACQUIRE);
    query function = handle == nullptr
                         ? nullptr
                         : reinterpret_cast<query>(dlsym(handle, "ncclCommQueryProperties"));
    metrale_nccl_properties found = {};
    const ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;

    if (function == nullptr) {
        return metrale_table_lacks("ncclCommQueryProperties");
    }
    found.size = sizeof(found);
    found.magic = initial.magic;
    found.version = initial.version;
    ncclResult_t result = function(METRALE_NCCL_POINTER(ncclComm_t, comm), &found);
    const int64_t all[] = {found.rank,
                           found.ranks,
                           found.cuda_device,
                           found.nvml_device,
                           found.device_api,
                           found.multimem,
                           found.gin_type,
                           found.lsa_teams,
                           found.host_rma,
                           found.railed_gin_type,
                           static_cast<int64_t>(found.hash),
                           found.cft,
                           found.cft_multicast};
    memcpy(thirteen, all, sizeof(all));
    return result;
}

/* [out] three: ranks, this rank, the device. */
static inline int metrale_ncclCommDescribe(int64_t comm, int *three)
{
    ncclComm_t wanted = METRALE_NCCL_POINTER(ncclComm_t, comm);
    ncclResult_t result = ncclCommCount(wanted, &three[0]);

    if (result == ncclSuccess) {
        result = ncclCommUserRank(wanted, &three[1]);
    }
    return result == ncclSuccess ? ncclCommCuDevice(wanted, &three[2]) : result;
}

static inline int metrale_ncclCommRegister(int64_t context, int64_t comm, int64_t address,
                                           int64_t bytes, int64_t cell)
{
    metrale_nccl_current current(context);

    return current.code != 0
               ? current.code
               : ncclCommRegister(METRALE_NCCL_POINTER(ncclComm_t, comm),
                                  METRALE_NCCL_POINTER(void *, address), static_cast<size_t>(bytes),
                                  METRALE_NCCL_POINTER(void **, cell));
}

static inline int metrale_ncclCommDeregister(int64_t context, int64_t comm, int64_t handle)
{
    metrale_nccl_current current(context);

    return current.code != 0 ? current.code
                             : ncclCommDeregister(METRALE_NCCL_POINTER(ncclComm_t, comm),
                                                  METRALE_NCCL_POINTER(void *, handle));
}

static inline int metrale_ncclCommWindowRegister(int64_t context, int64_t comm, int64_t address,
                                                 int64_t bytes, int flags, int64_t cell)
{
    metrale_nccl_current current(context);

    return current.code != 0
               ? current.code
               : ncclCommWindowRegister(
                     METRALE_NCCL_POINTER(ncclComm_t, comm), METRALE_NCCL_POINTER(void *, address),
                     static_cast<size_t>(bytes), METRALE_NCCL_POINTER(ncclWindow_t *, cell), flags);
}

static inline int metrale_ncclCommWindowDeregister(int64_t context, int64_t comm, int64_t window)
{
    metrale_nccl_current current(context);

    return current.code != 0 ? current.code
                             : ncclCommWindowDeregister(METRALE_NCCL_POINTER(ncclComm_t, comm),
                                                        METRALE_NCCL_POINTER(ncclWindow_t, window));
}

static inline int metrale_ncclMemAlloc(int64_t context, int64_t bytes, int64_t cell)
{
    metrale_nccl_current current(context);

    return current.code != 0
               ? current.code
               : ncclMemAlloc(METRALE_NCCL_POINTER(void **, cell), static_cast<size_t>(bytes));
}

static inline int metrale_ncclMemFree(int64_t context, int64_t address)
{
    metrale_nccl_current current(context);

    return current.code != 0 ? current.code : ncclMemFree(METRALE_NCCL_POINTER(void *, address));
}

/* [in] scalar: the address of one element. [out] op. */
static inline int metrale_ncclRedOpCreatePreMulSum(int64_t comm, int64_t scalar, int type,
                                                   bool on_device, int *op)
{
    ncclRedOp_t made = ncclNumOps;
    ncclResult_t result = ncclRedOpCreatePreMulSum(
        &made, METRALE_NCCL_POINTER(void *, scalar), static_cast<ncclDataType_t>(type),
        on_device ? ncclScalarDevice : ncclScalarHostImmediate,
        METRALE_NCCL_POINTER(ncclComm_t, comm));

    op[0] = static_cast<int>(made);
    return result;
}

static inline int metrale_ncclRedOpDestroy(int64_t comm, int op)
{
    return ncclRedOpDestroy(static_cast<ncclRedOp_t>(op), METRALE_NCCL_POINTER(ncclComm_t, comm));
}
#endif
