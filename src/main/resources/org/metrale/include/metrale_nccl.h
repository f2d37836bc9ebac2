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
#include <new>

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
        if (rank->announcement == nullptr) {
            delete rank;
            throw std::bad_alloc();
        }
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
    CUresult recorded = use.record(METRALE_NCCL_POINTER(CUevent, event));
    return recorded == CUDA_SUCCESS ? 0 : METRALE_NCCL_CUDA - static_cast<int>(recorded);
}
#endif

#ifndef METRALE_PARSER
/* In what says which operation: whether the context is attached to this thread. */
static const int64_t METRALE_NCCL_ATTACHED = INT64_C(1) << 47;

/* After a fence, if one is needed: whether nobody has taken a communicator from its owner. */
static inline bool metrale_nccl_is_owned(const metrale_nccl_rank *rank, int64_t epoch)
{
    return __builtin_expect(rank->epoch.load(std::memory_order_acquire) == epoch, 1);
}

/* What the owner's ways have in common: an operation on an announced stream, and its event. */
__attribute__((always_inline)) static inline int
metrale_nccl_submit_mine(int64_t what, metrale_nccl_rank *mine, int64_t send, int64_t recv,
                         int64_t count, metrale_nccl_announced *use)
{
    ncclResult_t result = metrale_nccl_call(metrale_nccl_unpack(
        what, mine, send, recv, count, static_cast<int>(what >> 48 & 0xffff), use->stream));
    if (__builtin_expect(result != ncclSuccess, 0)) {
        if (result == ncclInProgress) {
            use->keep();
        }
        return result;
    }
    CUevent event = METRALE_NCCL_POINTER(CUevent, mine->events[mine->next & mine->event_mask]);
    CUresult recorded = use->record(event);
    mine->next++;
    return recorded == CUDA_SUCCESS ? 0 : METRALE_NCCL_CUDA - static_cast<int>(recorded);
}

/* All of the owner's ways but the usual one; on a stream that was named before with slot 0. */
__attribute__((noinline)) static int
metrale_nccl_submit_otherwise(int64_t what, metrale_nccl_rank *mine, int64_t epoch, int64_t send,
                              int64_t recv, int64_t count, int64_t slot, int64_t generation)
{
    metrale_light_barrier(mine->driver->needs_fences);
    if (!metrale_nccl_is_owned(mine, epoch)) {
        return METRALE_NCCL_AGAIN;
    }
    if (slot != 0) {
        mine->slot = slot;
        mine->generation = generation;
    }
    if ((what & METRALE_NCCL_ATTACHED) != 0) {
        metrale_nccl_announced use(mine, mine->slot, mine->generation);
        return use.open ? metrale_nccl_submit_mine(what, mine, send, recv, count, &use)
                        : METRALE_NCCL_CLOSED;
    }
    metrale_nccl_use use(mine, mine->slot, mine->generation);
    return use.code == 0 ? metrale_nccl_submit_mine(what, mine, send, recv, count, &use) : use.code;
}
#endif

/*
 * The owner's way to queue one two-sided operation and to record its event behind it;
 * METRALE_NCCL_AGAIN if it does not own the communicator any more. `what` has the peer in bits 48
 * to 63, and in bit 47 whether the context is attached to this thread.
 */
static inline int metrale_nccl_submit_owned(int64_t what, int64_t rank, int64_t epoch, int64_t send,
                                            int64_t recv, int64_t count, int64_t slot,
                                            int64_t generation)
{
    return metrale_nccl_submit_otherwise(what, METRALE_NCCL_POINTER(metrale_nccl_rank *, rank),
                                         epoch, send, recv, count, slot, generation);
}

/*
 * The same on the stream that this owner named last. The usual case is attached and needs no fence;
 * it is apart from the others so that it lives in registers.
 */
static inline int metrale_nccl_submit_again(int64_t what, int64_t rank, int64_t epoch, int64_t send,
                                            int64_t recv, int64_t count)
{
    metrale_nccl_rank *mine = METRALE_NCCL_POINTER(metrale_nccl_rank *, rank);

    if (__builtin_expect((what & METRALE_NCCL_ATTACHED) == 0 ||
                             mine->driver->needs_fences->load(std::memory_order_relaxed),
                         0)) {
        return metrale_nccl_submit_otherwise(what, mine, epoch, send, recv, count, 0, 0);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!metrale_nccl_is_owned(mine, epoch)) {
        return METRALE_NCCL_AGAIN;
    }
    metrale_nccl_announced use(mine, mine->slot, mine->generation);
    return use.open ? metrale_nccl_submit_mine(what, mine, send, recv, count, &use)
                    : METRALE_NCCL_CLOSED;
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
#endif
