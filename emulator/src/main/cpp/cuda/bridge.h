#ifndef METRALE_EMULATOR_CUDA_BRIDGE_H
#define METRALE_EMULATOR_CUDA_BRIDGE_H

/*
 * What the other emulator libraries need of the CUDA one beyond the vendor's API. C functions,
 * exported; results are CUresult values as int.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kind of memory an address belongs to. */
enum metrale_emulator_memory {
    METRALE_EMULATOR_PAGEABLE = 0, /* not known to the driver */
    METRALE_EMULATOR_DEVICE = 1,
    METRALE_EMULATOR_MANAGED = 2,
    METRALE_EMULATOR_PINNED = 3,
    METRALE_EMULATOR_REGISTERED = 4
};

struct metrale_emulator_range {
    uint64_t base;  /* start of the allocation */
    uint64_t bytes; /* its length */
    uint64_t id;    /* never used twice in a process, unlike base */
    int kind;       /* enum metrale_emulator_memory */
    int device;     /* ordinal */
    int fd;         /* descriptor behind it, offset 0 is base; -1 when it has none */
    void *pin;      /* keeps it mapped until metrale_emulator_cuda_unpin */
};

/*
 * Looks an address range up. 0: known and inside one allocation, `out` is filled and pinned
 * (unless pin is 0). 1: it begins in an allocation and leaves it. 500: not known.
 */
int metrale_emulator_cuda_range(uint64_t address, uint64_t bytes, int pin,
                                struct metrale_emulator_range *out);
void metrale_emulator_cuda_unpin(void *pin);

/*
 * Pinned memory for work that runs on a stream, which could not wait for itself as the API's
 * functions do. Only for threads that run such work. 0 or a CUresult.
 */
int metrale_emulator_cuda_scratch(uint64_t bytes, uint64_t *address);
void metrale_emulator_cuda_drop(uint64_t address);

/* Ordinal of the calling thread's device; makes device 0 current where there is none. */
int metrale_emulator_cuda_current(int *device);
/* Makes a device's primary context current and retains it until the matching leave. */
int metrale_emulator_cuda_enter(int device);
void metrale_emulator_cuda_leave(int device);

/*
 * Puts work on a stream (0: the default one) of the given device. `work` runs on the stream's
 * thread and may block; what it returns becomes the context's error when it is not 0. `release`
 * is always called, also when the work was dropped.
 */
int metrale_emulator_cuda_submit(void *stream, int device, int (*work)(void *), void *argument,
                                 void (*release)(void *));
/* Device of a stream; a default stream handle belongs to the current device. */
int metrale_emulator_cuda_stream_device(void *stream, int *device);
/* For blocking work: non-zero when its context is gone or its device lost. */
int metrale_emulator_cuda_cancelled(void);

/* 0, or the code all calls on this device now fail with. */
int metrale_emulator_cuda_device_error(int device);
/* Loses a device; code 0 chooses the usual one. */
void metrale_emulator_cuda_lose(int device, int code);

/* Leak counters. Bytes of device and pinned memory, and live objects of the user's. */
uint64_t metrale_emulator_live_bytes(void);
uint64_t metrale_emulator_live_allocations(void);
uint64_t metrale_emulator_live_streams(void);
uint64_t metrale_emulator_live_events(void);
uint64_t metrale_emulator_live_contexts(void);

#ifdef __cplusplus
}
#endif

#endif
