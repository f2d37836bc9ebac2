/*
 * What the glue of one library needs of the CUDA driver, which only the driver's own glue has
 * opened. Both include this file, so the layout is the same on both sides.
 *
 * Slots: streams and events are named by a slot and its generation. Whoever uses one announces the
 * slot in a place of its own before it looks at the generation; closing changes the generation,
 * makes the change visible to all processors and waits for announcements to go. So a use costs two
 * plain stores, and a handle is never destroyed under a running call. Slots and announcements are
 * reused, never freed.
 */
#ifndef METRALE_DRIVER_H
#define METRALE_DRIVER_H
#include <atomic>
#include <cuda.h>
#include <stdint.h>

struct metrale_slot {
    std::atomic<int64_t> generation{1};
    void *handle = nullptr;
    CUcontext context = nullptr;
    metrale_slot *next = nullptr;
};

/* What one thread, or one communicator, is using. */
struct metrale_announcement {
    std::atomic<metrale_slot *> slots[2] = {nullptr, nullptr};
    std::atomic<bool> taken{true};
    /* The thread whose it is, or 0. */
    std::atomic<uintptr_t> owner{0};
    metrale_announcement *next = nullptr;
};

/* What enter did, for leave to undo. */
struct metrale_entered {
    CUstream stream;
    void *place;
    int pushed;
};

struct metrale_driver {
    /* Whether each use needs a fence of its own, since no heavy barrier can be had any more. */
    const std::atomic<bool> *needs_fences;
    /* Makes all processors that run this process see, and show, everything before. */
    void (*heavy_barrier)(void);
    /* An announcement for as long as wanted, or null without memory for one; give it back with
     * `taken` set to false. */
    metrale_announcement *(*announcement)(void);
    int (*enter)(int64_t slot, int64_t generation, metrale_entered *entered);
    void (*leave)(const metrale_entered *entered);
    CUresult (*current)(CUcontext *context);
    CUresult (*push)(CUcontext context);
    CUresult (*pop)(CUcontext *context);
    CUresult (*record)(CUevent event, CUstream stream);
    CUresult (*query)(CUevent event);
};

/* The order of a use: what was announced comes before what is looked at, for who called
 * heavy_barrier. */
static inline void metrale_light_barrier(const std::atomic<bool> *needs_fences)
{
    if (__builtin_expect(needs_fences->load(std::memory_order_relaxed), 0)) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
    } else {
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}
#endif
