/*
 * Flat calls of NCCL for the checked layer: handles and addresses as 64-bit integers, so that a
 * call from Java neither unboxes nor allocates. The caller has checked every argument.
 *
 * Answers: an ncclResult_t; METRALE_NCCL_CLOSED for a stream that was closed; METRALE_NCCL_AGAIN
 * for a thread that does not own the communicator any more; METRALE_NCCL_CUDA less a CUresult where
 * the driver refused. Functions that make something write it to a cell that outlives the call, so
 * that another thread can abort what is being made.
 */
#ifndef METRALE_NCCL_H
#define METRALE_NCCL_H
#ifndef METRALE_PARSER
#include "metrale_driver.h"
#include "metrale_nccl_older.h"
#include <atomic>
#include <cstring>
#include <mutex>

#define METRALE_NCCL_POINTER(type, value) (reinterpret_cast<type>(static_cast<uintptr_t>(value)))

static const int METRALE_NCCL_CLOSED = -1;
static const int METRALE_NCCL_AGAIN = -2;
static const int METRALE_NCCL_CUDA = -1000;

/* The driver, as the glue of CUDA opened it; set once before anything else here is called. */
static std::atomic<const metrale_driver *> metrale_nccl_driver{nullptr};

#include "metrale_nccl_operations.h"
#include "metrale_nccl_rank.h"

/* The context of one call: current when it begins, and what was current before when it ends. */
class metrale_nccl_current
{
  public:
    explicit metrale_nccl_current(int64_t context)
        : driver_(metrale_nccl_driver.load(std::memory_order_acquire))
    {
        CUcontext wanted = METRALE_NCCL_POINTER(CUcontext, context);
        CUcontext now = nullptr;
        if (driver_->current(&now) == CUDA_SUCCESS && now == wanted) {
            return;
        }
        CUresult result = driver_->push(wanted);
        pushed_ = result == CUDA_SUCCESS;
        code = pushed_ ? 0 : METRALE_NCCL_CUDA - static_cast<int>(result);
    }
    ~metrale_nccl_current()
    {
        if (pushed_) {
            CUcontext old;
            driver_->pop(&old);
        }
    }
    metrale_nccl_current(const metrale_nccl_current &) = delete;
    metrale_nccl_current &operator=(const metrale_nccl_current &) = delete;

    int code = 0;

  private:
    const metrale_driver *driver_;
    bool pushed_ = false;
};

/* A stream in use, with its context current. */
class metrale_nccl_entered
{
  public:
    metrale_nccl_entered(int64_t slot, int64_t generation)
        : driver(metrale_nccl_driver.load(std::memory_order_acquire))
    {
        int result = driver->enter(slot, generation, &entered_);
        code = result > 0 ? METRALE_NCCL_CUDA - result : result;
    }
    ~metrale_nccl_entered()
    {
        driver->leave(&entered_);
    }
    metrale_nccl_entered(const metrale_nccl_entered &) = delete;
    metrale_nccl_entered &operator=(const metrale_nccl_entered &) = delete;

    cudaStream_t stream() const
    {
        return reinterpret_cast<cudaStream_t>(entered_.stream);
    }

    const metrale_driver *driver;
    int code;

  private:
    metrale_entered entered_;
};

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

static inline int metrale_nccl_copy(const char *from, char *text, int capacity)
{
    if (from == nullptr) {
        return 0;
    }
    strncpy(text, from, static_cast<size_t>(capacity));
    return static_cast<int>(strnlen(text, static_cast<size_t>(capacity)));
}
#endif

static inline void metrale_nccl_use_driver(int64_t functions)
{
    metrale_nccl_driver.store(METRALE_NCCL_POINTER(const metrale_driver *, functions),
                              std::memory_order_release);
}

/* Native memory of a communicator, from which it issues operations. */
static inline int64_t metrale_nccl_rank_open(int64_t comm)
{
    std::lock_guard<std::mutex> lock(metrale_nccl_rank_mutex);
    metrale_nccl_rank *rank = metrale_nccl_unused_ranks;

    if (rank != nullptr) {
        metrale_nccl_unused_ranks = rank->unused;
    } else {
        rank = new metrale_nccl_rank;
        rank->driver = metrale_nccl_driver.load(std::memory_order_acquire);
        rank->announcement = rank->driver->announcement();
    }
    rank->comm = METRALE_NCCL_POINTER(ncclComm_t, comm);
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(rank));
}

/*
 * Says what an owner needs, and answers the epoch of its ownership. Only for who has the
 * communicator. [in] events: `capacity` handles, a power of two. next: the number of the next
 * operation.
 */
static inline int64_t metrale_nccl_rank_own(int64_t rank, int64_t events, int capacity,
                                            int64_t next)
{
    metrale_nccl_rank *owned = METRALE_NCCL_POINTER(metrale_nccl_rank *, rank);

    owned->events = METRALE_NCCL_POINTER(const int64_t *, events);
    owned->event_mask = capacity - 1;
    owned->next = next;
    return owned->epoch.fetch_add(1) + 1;
}

/* Records an event on the stream that is still announced after "in progress", closed meanwhile or
 * not. */
static inline int metrale_nccl_rank_record(int64_t rank, int64_t event)
{
    const metrale_nccl_rank *mine = METRALE_NCCL_POINTER(const metrale_nccl_rank *, rank);
    const metrale_slot *kept = mine->announcement->slots[1].load(std::memory_order_relaxed);
    metrale_nccl_current current(static_cast<int64_t>(reinterpret_cast<uintptr_t>(kept->context)));

    if (current.code != 0) {
        return current.code;
    }
    CUresult result = mine->driver->record(METRALE_NCCL_POINTER(CUevent, event),
                                           static_cast<CUstream>(kept->handle));
    return result == CUDA_SUCCESS ? 0 : METRALE_NCCL_CUDA - static_cast<int>(result);
}

/* NCCL has started what it answered "in progress" to: the stream may go. */
static inline void metrale_nccl_rank_settled(int64_t rank)
{
    METRALE_NCCL_POINTER(metrale_nccl_rank *, rank)
        ->announcement->slots[1]
        .store(nullptr, std::memory_order_release);
}

/* Nobody owns it any more, as soon as metrale_nccl_barrier has been called too. */
static inline void metrale_nccl_rank_disown(int64_t rank)
{
    METRALE_NCCL_POINTER(metrale_nccl_rank *, rank)->epoch.fetch_add(1);
}

/* After this no owner is let in any more that was disowned before, and one that is inside is seen.
 */
static inline void metrale_nccl_barrier(void)
{
    metrale_nccl_driver.load(std::memory_order_acquire)->heavy_barrier();
}

/* Gives the memory back. Nobody owns it, and nobody is inside. */
static inline void metrale_nccl_rank_recycle(int64_t rank)
{
    std::lock_guard<std::mutex> lock(metrale_nccl_rank_mutex);
    metrale_nccl_rank *freed = METRALE_NCCL_POINTER(metrale_nccl_rank *, rank);

    freed->unused = metrale_nccl_unused_ranks;
    metrale_nccl_unused_ranks = freed;
}

#ifndef METRALE_PARSER
/*
 * An operation that the checked layer describes with as few arguments as possible, since they cost
 * time. `what` holds the kind in bits 0 to 7, the type in 8 to 15, the reduction in 16 to 46.
 */
static inline metrale_nccl_work metrale_nccl_unpack(int64_t what, const metrale_nccl_rank *rank,
                                                    int64_t send, int64_t recv, int64_t count,
                                                    int peer, CUstream stream)
{
    return {static_cast<int>(what & 0xff),
            rank->comm,
            METRALE_NCCL_POINTER(const void *, send),
            METRALE_NCCL_POINTER(void *, recv),
            static_cast<size_t>(count),
            static_cast<ncclDataType_t>(what >> 8 & 0xff),
            static_cast<ncclRedOp_t>(what >> 16 & 0x7fffffff),
            peer,
            reinterpret_cast<cudaStream_t>(stream)};
}

/* Makes a call of NCCL for one operation and, if that is done, records the event behind it. */
template <typename Call>
static inline int metrale_nccl_issue(int64_t rank, int64_t slot, int64_t generation, int64_t event,
                                     Call call)
{
    const metrale_nccl_rank *mine = METRALE_NCCL_POINTER(const metrale_nccl_rank *, rank);
    metrale_nccl_use use(mine, slot, generation);

    if (use.code != 0) {
        return use.code;
    }
    ncclResult_t result = call(mine, use.stream);
    if (result == ncclInProgress) {
        use.keep();
    }
    if (result != ncclSuccess) {
        return result;
    }
    CUresult recorded = mine->driver->record(METRALE_NCCL_POINTER(CUevent, event), use.stream);
    return recorded == CUDA_SUCCESS ? 0 : METRALE_NCCL_CUDA - static_cast<int>(recorded);
}
#endif

/*
 * The owner's way to queue one two-sided operation and to record its event behind it;
 * METRALE_NCCL_AGAIN if it does not own the communicator any more. `what` has the peer in bits 48
 * to 63.
 */
static inline int metrale_nccl_submit_owned(int64_t what, int64_t rank, int64_t epoch, int64_t send,
                                            int64_t recv, int64_t count, int64_t slot,
                                            int64_t generation)
{
    metrale_nccl_rank *mine = METRALE_NCCL_POINTER(metrale_nccl_rank *, rank);

    metrale_light_barrier(mine->driver->needs_fences);
    if (__builtin_expect(mine->epoch.load(std::memory_order_acquire) != epoch, 0)) {
        return METRALE_NCCL_AGAIN;
    }
    metrale_nccl_use use(mine, slot, generation);
    if (__builtin_expect(use.code != 0, 0)) {
        return use.code;
    }
    ncclResult_t result = metrale_nccl_call(metrale_nccl_unpack(
        what, mine, send, recv, count, static_cast<int>(what >> 48 & 0xffff), use.stream));
    if (__builtin_expect(result != ncclSuccess, 0)) {
        if (result == ncclInProgress) {
            use.keep();
        }
        return result;
    }
    CUevent event = METRALE_NCCL_POINTER(CUevent, mine->events[mine->next & mine->event_mask]);
    CUresult recorded = mine->driver->record(event, use.stream);
    mine->next++;
    return recorded == CUDA_SUCCESS ? 0 : METRALE_NCCL_CUDA - static_cast<int>(recorded);
}

/*
 * Queues one two-sided operation and records its event behind it. Where NCCL answers "in progress"
 * the stream stays announced until metrale_nccl_rank_settled. Only for who has the communicator.
 */
static inline int metrale_nccl_submit(int64_t what, int64_t rank, int64_t send, int64_t recv,
                                      int64_t count, int peer, int64_t slot, int64_t generation,
                                      int64_t event)
{
    return metrale_nccl_issue(
        rank, slot, generation, event, [&](const metrale_nccl_rank *mine, CUstream stream) {
            return metrale_nccl_call(
                metrale_nccl_unpack(what, mine, send, recv, count, peer, stream));
        });
}

/*
 * The same with settings of this call alone. [in] nine: version, minCTAs, maxCTAs, nvlsCTAs,
 * cgaClusterSize, algSelection, forceAlgSelection, CTAPolicy, userProfilerTag.
 */
static inline int metrale_nccl_submit_configured(int64_t what, int64_t rank, int64_t send,
                                                 int64_t recv, int64_t count, int peer,
                                                 int64_t slot, int64_t generation, int64_t event,
                                                 const int64_t *nine)
{
    return metrale_nccl_issue(
        rank, slot, generation, event, [&](const metrale_nccl_rank *mine, CUstream stream) {
            const ncclCollConfig_t config = metrale_nccl_call_config(nine);
            return metrale_nccl_call_configured(
                metrale_nccl_unpack(what, mine, send, recv, count, peer, stream), &config);
        });
}

/*
 * Runs a whole group in one call, so on one OS thread: start, every operation, end. Each
 * operation's result is written into it; the answer is the first that is neither success nor in
 * progress, else that of the end.
 */
static inline int metrale_nccl_group_run(int64_t operations, int count)
{
    metrale_nccl_operation *all = METRALE_NCCL_POINTER(metrale_nccl_operation *, operations);
    metrale_nccl_group group;
    int first = 0;

    if (group.code != ncclSuccess) {
        return group.code;
    }
    for (int i = 0; i < count && first == 0; i++) {
        metrale_nccl_entered entered(all[i].slot, all[i].generation);
        all[i].result = entered.code;
        if (entered.code == 0) {
            all[i].result = metrale_nccl_grouped(&all[i], entered.stream());
        }
        if (all[i].result != ncclSuccess && all[i].result != ncclInProgress) {
            first = all[i].result;
        }
    }
    int ended = group.end();
    return first != 0 ? first : ended;
}

/* Records an event behind what was queued on a stream. */
static inline int metrale_nccl_record(int64_t slot, int64_t generation, int64_t event)
{
    metrale_nccl_entered entered(slot, generation);

    if (entered.code != 0) {
        return entered.code;
    }
    CUresult result = entered.driver->record(METRALE_NCCL_POINTER(CUevent, event),
                                             reinterpret_cast<CUstream>(entered.stream()));
    return result == CUDA_SUCCESS ? 0 : METRALE_NCCL_CUDA - static_cast<int>(result);
}

/*
 * How many of the events first, first+1, ... (modulo capacity) have passed, counted up to the first
 * that has not; or METRALE_NCCL_CUDA less the CUresult of one that failed.
 */
static inline int metrale_nccl_passed(int64_t context, int64_t events, int capacity, int first,
                                      int count)
{
    metrale_nccl_current current(context);
    const metrale_driver *driver = metrale_nccl_driver.load(std::memory_order_acquire);
    const int64_t *handles = METRALE_NCCL_POINTER(const int64_t *, events);
    int passed = 0;

    if (current.code != 0) {
        return current.code;
    }
    /* They pass in their order, and often all have. */
    if (count > 1 && driver->query(METRALE_NCCL_POINTER(
                         CUevent, handles[(first + count - 1) % capacity])) == CUDA_SUCCESS) {
        return count;
    }
    while (passed < count) {
        CUresult result =
            driver->query(METRALE_NCCL_POINTER(CUevent, handles[(first + passed) % capacity]));
        if (result == CUDA_ERROR_NOT_READY) {
            return passed;
        }
        if (result != CUDA_SUCCESS) {
            return METRALE_NCCL_CUDA - static_cast<int>(result);
        }
        passed++;
    }
    return passed;
}

/* The communicator's state in the lower half, the call's own result in the upper. */
static inline int64_t metrale_ncclCommGetAsyncError(int64_t comm)
{
    ncclResult_t state = ncclSuccess;
    ncclResult_t result = ncclCommGetAsyncError(METRALE_NCCL_POINTER(ncclComm_t, comm), &state);

    return static_cast<int64_t>((static_cast<uint64_t>(static_cast<uint32_t>(result)) << 32) |
                                static_cast<uint32_t>(state));
}

static inline int metrale_ncclGetErrorString(int code, char *text, int capacity)
{
    return metrale_nccl_copy(ncclGetErrorString(static_cast<ncclResult_t>(code)), text, capacity);
}

/* The last error of a communicator, or of the process for 0. */
static inline int metrale_ncclGetLastError(int64_t comm, char *text, int capacity)
{
    return metrale_nccl_copy(ncclGetLastError(METRALE_NCCL_POINTER(ncclComm_t, comm)), text,
                             capacity);
}

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
        throw metrale_unavailable("ncclCommQueryProperties");
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
