/*
 * Flat calls of the CUDA driver for the checked layer: handles and addresses as 64-bit integers, so
 * that a call from Java neither unboxes nor allocates. The caller has checked every argument.
 *
 * Answers: a CUresult, or METRALE_CLOSED for a slot that was closed; functions that make something
 * answer it as a positive number, or the CUresult as a negative one.
 *
 * Context: every function that needs one makes it current on the calling thread and restores what
 * was current, within the one call. So a virtual thread may change its carrier between calls.
 *
 * Slots guard streams and events: metrale_driver.h says how.
 */
#ifndef METRALE_CUDA_H
#define METRALE_CUDA_H
#ifndef METRALE_PARSER
#include "metrale_driver.h"
#include <cstdint>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Addresses and handles cross as numbers. */
#define METRALE_POINTER(type, value) (reinterpret_cast<type>(static_cast<uintptr_t>(value)))

#include "metrale_cuda_slots.h"

#define METRALE_FUNCTION(index, name) metrale_index_##name = index,
enum metrale_cuda_index {
#include METRALE_FUNCTIONS
};
#undef METRALE_FUNCTION

/* Makes a context current, unless the driver lacks the function that restores the one before. */
static CUresult metrale_push(CUcontext context)
{
    if (__builtin_expect(!metrale_table_bound(metrale_index_cuCtxPopCurrent_v2), 0)) {
        return static_cast<CUresult>(metrale_table_missing(metrale_index_cuCtxPopCurrent_v2));
    }
    return cuCtxPushCurrent(context);
}

/* The context of one call: current when it begins, and what was current before when it ends. */
class metrale_current
{
  public:
    explicit metrale_current(CUcontext context)
    {
        CUcontext now = nullptr;
        if (__builtin_expect(cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == context, 1)) {
            return;
        }
        result = metrale_push(context);
        pushed_ = result == CUDA_SUCCESS;
    }
    explicit metrale_current(int64_t context) : metrale_current(METRALE_POINTER(CUcontext, context))
    {
    }
    ~metrale_current()
    {
        if (pushed_) {
            CUcontext old;
            cuCtxPopCurrent(&old);
        }
    }
    metrale_current(const metrale_current &) = delete;
    metrale_current &operator=(const metrale_current &) = delete;

    CUresult result = CUDA_SUCCESS;

  private:
    bool pushed_ = false;
};

/*
 * Streams and events know their context: a call on them works whatever is current, and asking what
 * is current costs more than the call. So it is made at once, and again with the context only if
 * the driver wants it. The default streams are what a context makes of them: those need it in any
 * case.
 */
static inline bool metrale_needs_context(int result)
{
    return __builtin_expect(
        result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_INVALID_HANDLE, 0);
}

static inline bool metrale_is_default(const void *stream)
{
    return __builtin_expect(reinterpret_cast<uintptr_t>(stream) <= 2, 0);
}

/* Apart from the usual way, which needs few registers without it: the slots are announced. */
template <typename Call>
__attribute__((noinline, cold)) static int metrale_with_context(const metrale_announcement *mine,
                                                                Call call)
{
    const metrale_slot *first = mine->slots[0].load(std::memory_order_relaxed);
    metrale_current current(first->context);

    return current.result != CUDA_SUCCESS
               ? current.result
               : call(first, mine->slots[1].load(std::memory_order_relaxed));
}

/* The call gets the slots of a stream or event and, if it uses one, of a second event. */
template <typename Call> static inline int metrale_hot(const metrale_hot_use &use, Call call)
{
    if (!use.open) {
        return METRALE_CLOSED;
    }
    if (!metrale_is_default(use.first->handle)) {
        int result = call(use.first, use.second);
        if (!metrale_needs_context(result)) {
            return result;
        }
    }
    return metrale_with_context(use.mine, call);
}

static inline CUstream metrale_stream_of(const metrale_slot *slot)
{
    return static_cast<CUstream>(slot->handle);
}

static inline CUevent metrale_event_of(const metrale_slot *slot)
{
    return static_cast<CUevent>(slot->handle);
}

static inline int64_t metrale_made(CUresult result, uint64_t value)
{
    return result == CUDA_SUCCESS ? static_cast<int64_t>(value) : -static_cast<int64_t>(result);
}
#endif

/* A slot for a stream or an event. Never fails. */
static inline int64_t metrale_slot_open(int64_t context, int64_t handle)
{
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(
        metrale_new_slot(METRALE_POINTER(void *, handle), METRALE_POINTER(CUcontext, context))));
}

/* The generation that names the slot from now on. */
static inline int64_t metrale_slot_generation(int64_t slot)
{
    return METRALE_POINTER(metrale_slot *, slot)->generation.load();
}

/*
 * Ends the generation of a slot and answers true when no call uses it any more; the handle may be
 * destroyed then, and the slot be recycled. False: calls still run after `limit_ms`; neither may
 * happen.
 */
static inline bool metrale_slot_close(int64_t slot, int limit_ms)
{
    metrale_slot *closed = METRALE_POINTER(metrale_slot *, slot);

    closed->generation.fetch_add(1);
    metrale_publish_to_all();
    return metrale_drained(closed, limit_ms);
}

static inline void metrale_slot_recycle(int64_t slot)
{
    std::lock_guard<std::mutex> lock(metrale_slot_mutex);
    metrale_slot *freed = METRALE_POINTER(metrale_slot *, slot);

    freed->next = metrale_free_slots;
    metrale_free_slots = freed;
}

static inline int metrale_cuErrorName(int code, char *text, int capacity)
{
    const char *found = nullptr;

    if (cuGetErrorName(static_cast<CUresult>(code), &found) != CUDA_SUCCESS || found == nullptr) {
        return 0;
    }
    strncpy(text, found, static_cast<size_t>(capacity));
    return static_cast<int>(strnlen(text, static_cast<size_t>(capacity)));
}

static inline int metrale_cuErrorText(int code, char *text, int capacity)
{
    const char *found = nullptr;

    if (cuGetErrorString(static_cast<CUresult>(code), &found) != CUDA_SUCCESS || found == nullptr) {
        return 0;
    }
    strncpy(text, found, static_cast<size_t>(capacity));
    return static_cast<int>(strnlen(text, static_cast<size_t>(capacity)));
}

static inline int64_t metrale_cuDeviceTotalMem(int device)
{
    size_t bytes = 0;
    CUresult result = cuDeviceTotalMem(&bytes, device);

    return metrale_made(result, bytes);
}

static inline int64_t metrale_cuDevicePrimaryCtxRetain(int device)
{
    CUcontext context = nullptr;
    CUresult result = cuDevicePrimaryCtxRetain(&context, device);

    return metrale_made(result, reinterpret_cast<uintptr_t>(context));
}

static inline int metrale_cuDevicePrimaryCtxRelease(int device)
{
    return cuDevicePrimaryCtxRelease(device);
}

static inline int64_t metrale_cuCtxGetCurrent(void)
{
    CUcontext context = nullptr;
    CUresult result = cuCtxGetCurrent(&context);

    return metrale_made(result, reinterpret_cast<uintptr_t>(context));
}

/* The device of a context. */
static inline int metrale_cuCtxGetDevice(int64_t context)
{
    metrale_current current(context);
    CUdevice device = 0;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result = cuCtxGetDevice(&device);
    }
    return result == CUDA_SUCCESS ? device : -static_cast<int>(result);
}

/* [out] two: lowest priority number (greatest urgency is the smaller one), then the greatest. */
static inline int metrale_cuCtxGetStreamPriorityRange(int64_t context, int *two)
{
    metrale_current current(context);

    return current.result != CUDA_SUCCESS ? current.result
                                          : cuCtxGetStreamPriorityRange(&two[0], &two[1]);
}

static inline int64_t metrale_cuStreamCreateWithPriority(int64_t context, int flags, int priority)
{
    metrale_current current(context);
    CUstream stream = nullptr;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result = cuStreamCreateWithPriority(&stream, static_cast<unsigned int>(flags), priority);
    }
    return metrale_made(result, reinterpret_cast<uintptr_t>(stream));
}

static inline int metrale_cuStreamDestroy(int64_t context, int64_t stream)
{
    metrale_current current(context);

    return current.result != CUDA_SUCCESS ? current.result
                                          : cuStreamDestroy(METRALE_POINTER(CUstream, stream));
}

static inline int64_t metrale_cuStreamGetFlags(int64_t slot, int64_t generation)
{
    metrale_use stream(slot, generation);
    unsigned int flags = 0;

    if (!stream.open) {
        return METRALE_CLOSED;
    }
    metrale_current current(stream.context());
    CUresult result = current.result;
    if (result == CUDA_SUCCESS) {
        result = cuStreamGetFlags(stream.stream(), &flags);
    }
    return result == CUDA_SUCCESS ? static_cast<int64_t>(flags) : -1000 - result;
}

/* The priority plus 2^31, or -1000 less the CUresult: a priority may be negative. */
static inline int64_t metrale_cuStreamGetPriority(int64_t slot, int64_t generation)
{
    metrale_use stream(slot, generation);
    int priority = 0;

    if (!stream.open) {
        return METRALE_CLOSED;
    }
    metrale_current current(stream.context());
    CUresult result = current.result;
    if (result == CUDA_SUCCESS) {
        result = cuStreamGetPriority(stream.stream(), &priority);
    }
    return result == CUDA_SUCCESS ? priority + (INT64_C(1) << 31) : -1000 - result;
}

static inline int metrale_cuStreamQuery(int64_t slot, int64_t generation)
{
    return metrale_hot({slot, generation}, [](const metrale_slot *stream, const metrale_slot *) {
        return cuStreamQuery(metrale_stream_of(stream));
    });
}

static inline int metrale_cuStreamWaitEvent(int64_t slot, int64_t generation, int64_t event_slot,
                                            int64_t event_generation)
{
    return metrale_hot({slot, generation, event_slot, event_generation},
                       [](const metrale_slot *stream, const metrale_slot *event) {
                           return cuStreamWaitEvent(metrale_stream_of(stream),
                                                    metrale_event_of(event), 0);
                       });
}

static inline int64_t metrale_cuEventCreate(int64_t context, int flags)
{
    metrale_current current(context);
    CUevent event = nullptr;
    CUresult result = current.result;

    if (result == CUDA_SUCCESS) {
        result = cuEventCreate(&event, static_cast<unsigned int>(flags));
    }
    return metrale_made(result, reinterpret_cast<uintptr_t>(event));
}

static inline int metrale_cuEventDestroy(int64_t context, int64_t event)
{
    metrale_current current(context);

    return current.result != CUDA_SUCCESS ? current.result
                                          : cuEventDestroy(METRALE_POINTER(CUevent, event));
}

static inline int metrale_cuEventRecord(int64_t event_slot, int64_t event_generation, int64_t slot,
                                        int64_t generation)
{
    return metrale_hot({slot, generation, event_slot, event_generation},
                       [](const metrale_slot *stream, const metrale_slot *event) {
                           return cuEventRecord(metrale_event_of(event), metrale_stream_of(stream));
                       });
}

static inline int metrale_cuEventQuery(int64_t slot, int64_t generation)
{
    return metrale_hot({slot, generation}, [](const metrale_slot *event, const metrale_slot *) {
        return cuEventQuery(metrale_event_of(event));
    });
}

/* The CUresult (or METRALE_CLOSED) in the upper half, the milliseconds as a float in the lower. */
static inline int64_t metrale_cuEventElapsedTime(int64_t slot, int64_t generation,
                                                 int64_t start_slot, int64_t start_generation)
{
    metrale_announcement *mine = metrale_own_announcement();
    metrale_use event(mine, slot, generation, 0);
    metrale_use start(mine, start_slot, start_generation, 1);
    float milliseconds = 0;
    uint32_t bits = 0;
    int result = METRALE_CLOSED;

    if (event.open && start.open) {
        metrale_current current(event.context());
        result = current.result != CUDA_SUCCESS
                     ? current.result
                     : cuEventElapsedTime(&milliseconds, start.event(), event.event());
    }
    memcpy(&bits, &milliseconds, sizeof(bits));
    return static_cast<int64_t>((static_cast<uint64_t>(static_cast<uint32_t>(result)) << 32) |
                                bits);
}

#ifndef METRALE_PARSER
/* Announces a stream's slot and makes its context current; a CUresult or METRALE_CLOSED. Never
 * throws. */
static int metrale_driver_enter(int64_t slot, int64_t generation, metrale_entered *entered)
{
    entered->place = nullptr;
    entered->pushed = 0;
    metrale_announcement *mine = metrale_own_announcement();
    if (mine == nullptr) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    metrale_slot *wanted = METRALE_POINTER(metrale_slot *, slot);
    std::atomic<metrale_slot *> *place = &mine->slots[0];
    CUcontext now = nullptr;

    entered->place = place;
    place->store(wanted, std::memory_order_relaxed);
    metrale_light_barrier(&metrale_needs_fences);
    if (wanted->generation.load(std::memory_order_acquire) != generation) {
        return METRALE_CLOSED;
    }
    entered->stream = static_cast<CUstream>(wanted->handle);
    if (__builtin_expect(cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == wanted->context, 1)) {
        return CUDA_SUCCESS;
    }
    CUresult result = metrale_push(wanted->context);
    entered->pushed = result == CUDA_SUCCESS;
    return result;
}

/* Undoes enter, whatever it answered. */
static void metrale_driver_leave(const metrale_entered *entered)
{
    if (entered->pushed) {
        CUcontext old;
        cuCtxPopCurrent(&old);
    }
    if (entered->place != nullptr) {
        static_cast<std::atomic<metrale_slot *> *>(entered->place)
            ->store(nullptr, std::memory_order_release);
    }
}
#endif

/* Where that is. The functions are the library's own: whoever asks has made sure that it has them.
 */
static inline int64_t metrale_driver_functions(void)
{
    static const metrale_driver driver = {&metrale_needs_fences,
                                          metrale_publish_to_all,
                                          metrale_take_announcement,
                                          metrale_driver_enter,
                                          metrale_driver_leave,
                                          METRALE_OPENED(cuCtxGetCurrent),
                                          metrale_push,
                                          METRALE_OPENED(cuCtxPopCurrent_v2),
                                          METRALE_OPENED(cuEventRecord),
                                          METRALE_OPENED(cuEventQuery)};

    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(&driver));
}
#endif
