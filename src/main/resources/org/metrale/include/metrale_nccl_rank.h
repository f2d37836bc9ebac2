/* How a communicator's owner uses it without a lock; a part of metrale_nccl.h. */
#ifndef METRALE_NCCL_RANK_H
#define METRALE_NCCL_RANK_H
#ifndef METRALE_PARSER
/*
 * What a communicator has in native memory for the one thread that may issue operations without
 * taking the communicator first: its owner, as long as the epoch is the one that it was given.
 *
 * Whoever wants the communicator for himself raises the epoch, calls the heavy barrier and then
 * looks whether the owner is inside. The owner says that it is inside, and with which memory,
 * before the call in which it compares the epoch. So one of the two always notices, and the owner
 * pays no fence.
 *
 * Reused, never freed: a thread that was an owner once may still look at the epoch, which only
 * grows.
 */
struct metrale_nccl_rank {
    std::atomic<int64_t> epoch{1};
    const metrale_driver *driver = nullptr;
    metrale_announcement *announcement = nullptr;
    ncclComm_t comm = nullptr;
    /* The events of operations, a power of two of them; the next operation's is next modulo that.
     */
    const int64_t *events = nullptr;
    int64_t event_mask = 0;
    int64_t next = 0;
    /* The stream that the owner named last. */
    int64_t slot = 0;
    int64_t generation = 0;
    metrale_nccl_rank *unused = nullptr;
};

static std::mutex metrale_nccl_rank_mutex;
static metrale_nccl_rank *metrale_nccl_unused_ranks;

/* Apart, and without the object that calls it, which can so live in registers. */
__attribute__((noinline, cold)) static CUresult
metrale_nccl_record_there(const metrale_driver *driver, CUcontext context, CUevent event,
                          CUstream stream)
{
    CUcontext old;
    CUresult result = driver->push(context);

    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = driver->record(event, stream);
    driver->pop(&old);
    return result;
}

/*
 * A stream that an operation of a communicator uses. It is announced by the communicator, not by
 * the thread, so that it can be kept beyond the call: a virtual thread may go on elsewhere.
 */
class metrale_nccl_announced
{
  public:
    /*
     * Whether a fence is needed is looked up after the store, whatever was seen before: who learns
     * that fences are needed from now on waits for stores that came before a look, and no longer.
     */
    metrale_nccl_announced(const metrale_nccl_rank *rank, int64_t slot, int64_t generation)
        : driver(rank->driver), place_(rank->announcement->slots)
    {
        metrale_slot *wanted = METRALE_NCCL_POINTER(metrale_slot *, slot);

        place_->store(wanted, std::memory_order_relaxed);
        metrale_light_barrier(driver->needs_fences);
        open =
            __builtin_expect(wanted->generation.load(std::memory_order_acquire) == generation, 1);
        stream = static_cast<CUstream>(wanted->handle);
    }
    ~metrale_nccl_announced()
    {
        place_->store(nullptr, std::memory_order_release);
    }
    metrale_nccl_announced(const metrale_nccl_announced &) = delete;
    metrale_nccl_announced &operator=(const metrale_nccl_announced &) = delete;

    /*
     * NCCL goes on with the stream after the call: it stays announced until
     * metrale_nccl_rank_settled. The second place is looked at after the first, so there is no time
     * without.
     */
    void keep()
    {
        place_[1].store(announced(), std::memory_order_release);
    }

    /* Puts an event behind what was issued. Who said that the context was current may be wrong. */
    CUresult record(CUevent event) const
    {
        CUresult result = driver->record(event, stream);

        if (__builtin_expect(result == CUDA_SUCCESS, 1)) {
            return result;
        }
        return result == CUDA_ERROR_INVALID_CONTEXT
                   ? metrale_nccl_record_there(driver, announced()->context, event, stream)
                   : result;
    }

    metrale_slot *announced() const
    {
        return place_->load(std::memory_order_relaxed);
    }

    const metrale_driver *const driver;
    /* Whether the stream is; else it must not be used. */
    bool open;
    CUstream stream;

  private:
    std::atomic<metrale_slot *> *const place_;
};

/* The same with the stream's context current, which costs calls of the driver. */
class metrale_nccl_use : public metrale_nccl_announced
{
  public:
    metrale_nccl_use(const metrale_nccl_rank *rank, int64_t slot, int64_t generation)
        : metrale_nccl_announced(rank, slot, generation)
    {
        CUcontext now = nullptr;

        if (!open) {
            code = METRALE_NCCL_CLOSED;
            return;
        }
        if (__builtin_expect(driver->current(&now) == CUDA_SUCCESS && now == announced()->context,
                             1)) {
            return;
        }
        CUresult result = driver->push(announced()->context);
        pushed_ = result == CUDA_SUCCESS;
        code = pushed_ ? 0 : METRALE_NCCL_CUDA - static_cast<int>(result);
    }
    ~metrale_nccl_use()
    {
        if (__builtin_expect(pushed_, 0)) {
            CUcontext old;
            driver->pop(&old);
        }
    }
    metrale_nccl_use(const metrale_nccl_use &) = delete;
    metrale_nccl_use &operator=(const metrale_nccl_use &) = delete;

    int code = 0;

  private:
    bool pushed_ = false;
};
#endif
#endif
