/* The slots that guard streams and events, see metrale_driver.h; a part of metrale_cuda.h. */
#ifndef METRALE_CUDA_SLOTS_H
#define METRALE_CUDA_SLOTS_H
#ifndef METRALE_PARSER
static const int METRALE_CLOSED = -1;

static std::mutex metrale_slot_mutex;
static metrale_slot *metrale_free_slots;
static std::atomic<metrale_announcement *> metrale_announcements{nullptr};

/*
 * Where a thread finds its announcement sooner than in its thread-local storage, which costs a call
 * from a library that was loaded late. What is found is one's own if it names oneself: a thread
 * writes only its own number into a record, and takes it out before it ends. Two threads may want
 * one place: the second has the call.
 */
static std::atomic<metrale_announcement *> metrale_known[256];

/* A number that no other living thread has. */
static inline uintptr_t metrale_thread(void)
{
    uintptr_t self;
#if defined(__x86_64__)
    asm("movq %%fs:0, %0" : "=r"(self));
#else
    asm("mrs %0, tpidr_el0" : "=r"(self));
#endif
    return self;
}

static inline std::atomic<metrale_announcement *> *metrale_known_place(uintptr_t thread)
{
    return &metrale_known[thread * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

/* Gives the record of an ending thread to the next one. */
struct metrale_announcement_owner {
    metrale_announcement *mine = nullptr;
    ~metrale_announcement_owner()
    {
        if (mine != nullptr) {
            metrale_announcement *known = mine;
            metrale_known_place(mine->owner.load(std::memory_order_relaxed))
                ->compare_exchange_strong(known, nullptr);
            mine->owner.store(0, std::memory_order_relaxed);
            mine->taken.store(false, std::memory_order_release);
            mine = nullptr;
        }
    }
};

/* The kernel's barrier on all processors (membarrier(2), private expedited), or false. */
static inline bool metrale_membarrier(bool registers)
{
#ifdef __NR_membarrier
    return syscall(__NR_membarrier, registers ? 1 << 4 : 1 << 3, 0, 0) == 0;
#else
    return false;
#endif
}

static inline int64_t metrale_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* By when what a processor stored before it learnt that it needs fences is seen by all: long
 * enough. */
static const int64_t METRALE_SETTLING_NANOS = 5000000;

static std::atomic<bool> metrale_needs_fences{!metrale_membarrier(true)};
static std::atomic<int64_t> metrale_settled{0};

/*
 * Waits until uses that begun without a fence are seen. A processor shows what it has stored within
 * far less than this time, and a thread that was interrupted had its stores shown then.
 */
__attribute__((noinline, cold)) static void metrale_settle(void)
{
    for (int64_t now = metrale_now(); now < metrale_settled.load(); now = metrale_now()) {
        struct timespec left = {0, static_cast<long>(metrale_settled.load() - now)};
        if (left.tv_nsec > 0) {
            nanosleep(&left, nullptr);
        }
    }
}

/*
 * A kernel that had the barrier may refuse it later: a process that was restored from an image is
 * not registered any more, and a filter of system calls may have come. Then it is registered again,
 * and if that is no use either, each use pays for a fence from now on.
 */
static void metrale_publish_to_all(void)
{
    if (!metrale_needs_fences.load()) {
        if (metrale_membarrier(false) || (metrale_membarrier(true) && metrale_membarrier(false))) {
            return;
        }
        /* In this order: whoever sees that fences are needed sees until when to wait, too. */
        metrale_settled.store(metrale_now() + METRALE_SETTLING_NANOS);
        metrale_needs_fences.store(true);
        metrale_settled.store(metrale_now() + METRALE_SETTLING_NANOS);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (metrale_settled.load() != 0) {
        metrale_settle();
    }
}

/* An announcement that nobody uses, or null without memory for one. */
static metrale_announcement *metrale_take_announcement(void)
{
    metrale_announcement *found = metrale_announcements.load(std::memory_order_acquire);

    for (; found != nullptr; found = found->next) {
        bool taken = false;
        if (found->taken.compare_exchange_strong(taken, true)) {
            return found;
        }
    }
    found = new (std::nothrow) metrale_announcement;
    if (found == nullptr) {
        return nullptr;
    }
    found->next = metrale_announcements.load(std::memory_order_relaxed);
    while (!metrale_announcements.compare_exchange_weak(found->next, found)) {
    }
    return found;
}

/* Saves what its caller would have to save on the way that is usual. */
#if defined(__clang__) && __has_attribute(preserve_most)
#define METRALE_SAVES_REGISTERS preserve_most,
#else
#define METRALE_SAVES_REGISTERS
#endif
__attribute__((METRALE_SAVES_REGISTERS noinline, cold)) static metrale_announcement *
metrale_announce_otherwise(void)
{
    static thread_local metrale_announcement_owner owner;

    if (owner.mine == nullptr) {
        owner.mine = metrale_take_announcement();
        if (owner.mine == nullptr) {
            metrale_table_raise("java/lang/OutOfMemoryError", "native memory of a thread's calls");
            return nullptr;
        }
        const uintptr_t self = metrale_thread();
        metrale_announcement *nobody = nullptr;
        owner.mine->owner.store(self, std::memory_order_relaxed);
        metrale_known_place(self)->compare_exchange_strong(nobody, owner.mine);
    }
    return owner.mine;
}

/* The calling thread's announcement; null, with an exception left, without memory for one. */
static inline metrale_announcement *metrale_own_announcement(void)
{
    const uintptr_t self = metrale_thread();
    metrale_announcement *mine = metrale_known_place(self)->load(std::memory_order_relaxed);

    return __builtin_expect(mine != nullptr && mine->owner.load(std::memory_order_relaxed) == self,
                            1)
               ? mine
               : metrale_announce_otherwise();
}

/* Written by uses that nobody waits for. */
static std::atomic<metrale_slot *> metrale_nowhere{nullptr};

/* The use of a slot during one call; not open without an announcement to make it in. */
class metrale_use
{
  public:
    metrale_use(metrale_announcement *mine, int64_t slot, int64_t generation, int index)
        : slot_(METRALE_POINTER(metrale_slot *, slot))
    {
        if (__builtin_expect(mine == nullptr, 0)) {
            place_ = &metrale_nowhere;
            open = false;
            return;
        }
        place_ = &mine->slots[index];
        place_->store(slot_, std::memory_order_relaxed);
        metrale_light_barrier(&metrale_needs_fences);
        open = slot_->generation.load(std::memory_order_acquire) == generation;
    }
    metrale_use(int64_t slot, int64_t generation)
        : metrale_use(metrale_own_announcement(), slot, generation, 0)
    {
    }
    ~metrale_use()
    {
        place_->store(nullptr, std::memory_order_release);
    }
    metrale_use(const metrale_use &) = delete;
    metrale_use &operator=(const metrale_use &) = delete;

    CUstream stream() const
    {
        return static_cast<CUstream>(slot_->handle);
    }
    CUevent event() const
    {
        return static_cast<CUevent>(slot_->handle);
    }
    CUcontext context() const
    {
        return slot_->context;
    }

    bool open;

  private:
    metrale_slot *slot_;
    std::atomic<metrale_slot *> *place_;
};

/* The use of one slot or two during one call, for the hot paths: one barrier, few registers. */
class metrale_hot_use
{
  public:
    metrale_hot_use(int64_t slot, int64_t generation)
        : first(METRALE_POINTER(metrale_slot *, slot)), second(nullptr),
          mine(metrale_own_announcement())
    {
        if (__builtin_expect(mine != nullptr, 1)) {
            mine->slots[0].store(first, std::memory_order_relaxed);
            metrale_light_barrier(&metrale_needs_fences);
            open = first->generation.load(std::memory_order_acquire) == generation;
        }
    }
    metrale_hot_use(int64_t slot, int64_t generation, int64_t second_slot,
                    int64_t second_generation)
        : first(METRALE_POINTER(metrale_slot *, slot)),
          second(METRALE_POINTER(metrale_slot *, second_slot)), mine(metrale_own_announcement())
    {
        if (__builtin_expect(mine != nullptr, 1)) {
            mine->slots[0].store(first, std::memory_order_relaxed);
            mine->slots[1].store(second, std::memory_order_relaxed);
            metrale_light_barrier(&metrale_needs_fences);
            open = first->generation.load(std::memory_order_acquire) == generation &&
                   second->generation.load(std::memory_order_acquire) == second_generation;
        }
    }
    ~metrale_hot_use()
    {
        if (__builtin_expect(mine != nullptr, 1)) {
            mine->slots[0].store(nullptr, std::memory_order_release);
            if (second != nullptr) {
                mine->slots[1].store(nullptr, std::memory_order_release);
            }
        }
    }
    metrale_hot_use(const metrale_hot_use &) = delete;
    metrale_hot_use &operator=(const metrale_hot_use &) = delete;

    metrale_slot *const first;
    metrale_slot *const second;
    metrale_announcement *const mine;
    bool open = false;
};

static inline metrale_slot *metrale_new_slot(void *handle, CUcontext context)
{
    std::lock_guard<std::mutex> lock(metrale_slot_mutex);
    metrale_slot *slot = metrale_free_slots;

    if (slot != nullptr) {
        metrale_free_slots = slot->next;
    } else {
        slot = new metrale_slot;
    }
    slot->handle = handle;
    slot->context = context;
    return slot;
}

/* Whether every thread has left the slot, at the latest after some milliseconds. */
static inline bool metrale_drained(metrale_slot *slot, int limit_ms)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (metrale_announcement *one = metrale_announcements.load(std::memory_order_acquire);
         one != nullptr; one = one->next) {
        for (auto &place : one->slots) {
            while (place.load(std::memory_order_acquire) == slot) {
                sched_yield();
                clock_gettime(CLOCK_MONOTONIC, &now);
                if ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 >
                    limit_ms) {
                    return false;
                }
            }
        }
    }
    return true;
}
#endif
#endif
