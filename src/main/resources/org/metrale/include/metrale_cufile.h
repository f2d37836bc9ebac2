/*
 * Flat calls of cuFile and of the file system for the checked layer: handles and addresses as 64-bit
 * integers, both halves of a CUfileError_t in one, so that a call from Java neither unboxes nor
 * allocates. The caller has checked every argument.
 *
 * A control call answers metrale_cufile_pack: 0, or the CUDA code above the cuFile code. A transfer
 * answers bytes, or minus a code: an errno below 5000, a cuFile code above, whichever way the library
 * chose to say it. errno is read in the statement after the call; an error without one is EIO.
 */
#ifndef METRALE_CUFILE_H
#define METRALE_CUFILE_H
#include <stdint.h>

#ifndef METRALE_PARSER
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>

static inline int64_t metrale_cufile_pack(CUfileError_t error)
{
    return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(error.cu_err)) << 32 |
                                static_cast<uint32_t>(error.err));
}

/* What a transfer answered, in one convention. `reason` is errno right after the call. */
static inline int64_t metrale_cufile_done(ssize_t answer, int reason)
{
    if (answer >= 0) {
        return answer;
    }
    if (answer != -1) {
        return answer;
    }
    return reason > 0 ? -static_cast<int64_t>(reason) : -EIO;
}

#include "metrale_driver.h"

/* The CUDA driver as its own glue has opened it, or null where there is none. */
static const metrale_driver *metrale_cufile_cuda;

/* Makes a context current for one call: cuFile works on the caller's. 0 leaves it as it is. */
class metrale_cufile_current
{
  public:
    explicit metrale_cufile_current(int64_t context)
    {
        CUcontext now = nullptr;
        const CUcontext wanted = reinterpret_cast<CUcontext>(context);

        if (wanted != nullptr && metrale_cufile_cuda != nullptr &&
            metrale_cufile_cuda->current(&now) == CUDA_SUCCESS && now != wanted) {
            pushed_ = metrale_cufile_cuda->push(wanted) == CUDA_SUCCESS;
        }
    }
    ~metrale_cufile_current()
    {
        CUcontext ours = nullptr;
        if (pushed_) {
            metrale_cufile_cuda->pop(&ours);
        }
    }
    metrale_cufile_current(const metrale_cufile_current &) = delete;
    metrale_cufile_current &operator=(const metrale_cufile_current &) = delete;

  private:
    bool pushed_ = false;
};

template <typename T> static inline T metrale_cufile_as(int64_t value)
{
    return reinterpret_cast<T>(value);
}

static volatile int metrale_cufile_process_ends;

static inline void metrale_cufile_note_end(void)
{
    metrale_cufile_process_ends = 1;
}
#endif

/* Takes the table of driver functions, a struct metrale_driver. */
static inline void metrale_cufile_use_driver(int64_t functions)
#ifndef METRALE_PARSER
{
    metrale_cufile_cuda = reinterpret_cast<const metrale_driver *>(functions);
}
#endif
;

/* Sets a variable of the process unless it is set. Not safe beside threads that read variables. */
static inline int metrale_cufile_set_variable(const signed char *name, const signed char *value)
#ifndef METRALE_PARSER
{
    return setenv(reinterpret_cast<const char *>(name), reinterpret_cast<const char *>(value), 0) == 0
               ? 0
               : -errno;
}
#endif
;

static inline int64_t metrale_cufile_driver_open(void)
#ifndef METRALE_PARSER
{
    const int64_t answer = metrale_cufile_pack(cuFileDriverOpen());
    static const int noted = atexit(metrale_cufile_note_end);

    (void)noted;
    return answer;
}
#endif
;

/* Closes the driver, unless the process is ending: CUDA may be gone by then. */
static inline int64_t metrale_cufile_driver_close(void)
#ifndef METRALE_PARSER
{
    if (metrale_cufile_process_ends) {
        return 0;
    }
    if (metrale_table_has("cuFileDriverClose_v2")) {
        return metrale_cufile_pack(cuFileDriverClose());
    }
#pragma push_macro("cuFileDriverClose")
#undef cuFileDriverClose
    return metrale_cufile_pack(cuFileDriverClose());
#pragma pop_macro("cuFileDriverClose")
}
#endif
;

/* A handle, or minus the packed error. */
static inline int64_t metrale_cufile_handle_register(int fd)
#ifndef METRALE_PARSER
{
    CUfileDescr_t descriptor = {};
    CUfileHandle_t handle = nullptr;

    descriptor.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
    descriptor.handle.fd = fd;
    const int64_t error = metrale_cufile_pack(cuFileHandleRegister(&handle, &descriptor));
    return (error & 0xffffffff) == 0 ? reinterpret_cast<int64_t>(handle) : -error;
}
#endif
;

static inline void metrale_cufile_handle_deregister(int64_t handle)
#ifndef METRALE_PARSER
{
    cuFileHandleDeregister(metrale_cufile_as<CUfileHandle_t>(handle));
}
#endif
;

static inline int64_t metrale_cufile_buffer_register(int64_t context, int64_t address,
                                                     int64_t bytes, int flags)
#ifndef METRALE_PARSER
{
    const metrale_cufile_current current(context);
    return metrale_cufile_pack(cuFileBufRegister(metrale_cufile_as<const void *>(address),
                                                 static_cast<size_t>(bytes), flags));
}
#endif
;

static inline int64_t metrale_cufile_buffer_deregister(int64_t context, int64_t address)
#ifndef METRALE_PARSER
{
    const metrale_cufile_current current(context);
    return metrale_cufile_pack(cuFileBufDeregister(metrale_cufile_as<const void *>(address)));
}
#endif
;

static inline int64_t metrale_cufile_read(int64_t context, int64_t handle, int64_t base,
                                          int64_t bytes, int64_t file_offset, int64_t base_offset)
#ifndef METRALE_PARSER
{
    const metrale_cufile_current current(context);
    errno = 0;
    const ssize_t answer =
        cuFileRead(metrale_cufile_as<CUfileHandle_t>(handle), metrale_cufile_as<void *>(base),
                   static_cast<size_t>(bytes), file_offset, base_offset);
    const int reason = errno;
    return metrale_cufile_done(answer, reason);
}
#endif
;

static inline int64_t metrale_cufile_write(int64_t context, int64_t handle, int64_t base,
                                           int64_t bytes, int64_t file_offset, int64_t base_offset)
#ifndef METRALE_PARSER
{
    const metrale_cufile_current current(context);
    errno = 0;
    const ssize_t answer =
        cuFileWrite(metrale_cufile_as<CUfileHandle_t>(handle), metrale_cufile_as<const void *>(base),
                    static_cast<size_t>(bytes), file_offset, base_offset);
    const int reason = errno;
    return metrale_cufile_done(answer, reason);
}
#endif
;

/*
 * The arguments of one stream-ordered transfer, which the library reads when the stream gets there:
 * bytes, file offset, buffer offset, answer. `arguments` points to four 64-bit integers.
 */
static inline int64_t metrale_cufile_read_async(int64_t context, int64_t handle, int64_t base,
                                                int64_t arguments, int64_t stream)
#ifndef METRALE_PARSER
{
    const metrale_cufile_current current(context);
    int64_t *four = metrale_cufile_as<int64_t *>(arguments);

    return metrale_cufile_pack(cuFileReadAsync(
        metrale_cufile_as<CUfileHandle_t>(handle), metrale_cufile_as<void *>(base),
        reinterpret_cast<size_t *>(&four[0]), reinterpret_cast<off_t *>(&four[1]),
        reinterpret_cast<off_t *>(&four[2]), reinterpret_cast<ssize_t *>(&four[3]),
        metrale_cufile_as<CUstream>(stream)));
}
#endif
;

static inline int64_t metrale_cufile_write_async(int64_t context, int64_t handle, int64_t base,
                                                 int64_t arguments, int64_t stream)
#ifndef METRALE_PARSER
{
    const metrale_cufile_current current(context);
    int64_t *four = metrale_cufile_as<int64_t *>(arguments);

    return metrale_cufile_pack(cuFileWriteAsync(
        metrale_cufile_as<CUfileHandle_t>(handle), metrale_cufile_as<void *>(base),
        reinterpret_cast<size_t *>(&four[0]), reinterpret_cast<off_t *>(&four[1]),
        reinterpret_cast<off_t *>(&four[2]), reinterpret_cast<ssize_t *>(&four[3]),
        metrale_cufile_as<CUstream>(stream)));
}
#endif
;

static inline int64_t metrale_cufile_stream_register(int64_t stream, int flags)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(cuFileStreamRegister(metrale_cufile_as<CUstream>(stream),
                                                    static_cast<unsigned int>(flags)));
}
#endif
;

static inline int64_t metrale_cufile_stream_deregister(int64_t stream)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(cuFileStreamDeregister(metrale_cufile_as<CUstream>(stream)));
}
#endif
;

/* Allocates what the library or the kernel touches later; free with metrale_cufile_free. */
static inline int64_t metrale_cufile_allocate(int64_t bytes, int64_t alignment)
#ifndef METRALE_PARSER
{
    void *memory = nullptr;

    if (posix_memalign(&memory, static_cast<size_t>(alignment), static_cast<size_t>(bytes)) != 0) {
        return 0;
    }
    memset(memory, 0, static_cast<size_t>(bytes));
    return reinterpret_cast<int64_t>(memory);
}
#endif
;

static inline void metrale_cufile_free(int64_t memory)
#ifndef METRALE_PARSER
{
    free(metrale_cufile_as<void *>(memory));
}
#endif
;

/* The 64-bit integer at an address that another thread may be writing. */
static inline int64_t metrale_cufile_load(int64_t address)
#ifndef METRALE_PARSER
{
    return __atomic_load_n(metrale_cufile_as<const int64_t *>(address), __ATOMIC_ACQUIRE);
}
#endif
;

static inline void metrale_cufile_store(int64_t address, int64_t value)
#ifndef METRALE_PARSER
{
    __atomic_store_n(metrale_cufile_as<int64_t *>(address), value, __ATOMIC_RELEASE);
}
#endif
;

/* A batch handle, or minus the packed error. */
static inline int64_t metrale_cufile_batch_setup(int entries)
#ifndef METRALE_PARSER
{
    CUfileBatchHandle_t batch = nullptr;
    const int64_t error =
        metrale_cufile_pack(cuFileBatchIOSetUp(&batch, static_cast<unsigned int>(entries)));

    return (error & 0xffffffff) == 0 ? reinterpret_cast<int64_t>(batch) : -error;
}
#endif
;

/* The bytes of one request as the library wants it, and of one event. */
static inline int metrale_cufile_batch_request_bytes(void)
#ifndef METRALE_PARSER
{
    return static_cast<int>(sizeof(CUfileIOParams_t));
}
#endif
;

static inline int metrale_cufile_batch_event_bytes(void)
#ifndef METRALE_PARSER
{
    return static_cast<int>(sizeof(CUfileIOEvents_t));
}
#endif
;

/* Writes one request into the array at `requests`. */
static inline void metrale_cufile_batch_request(int64_t requests, int index, int64_t handle,
                                                int write, int64_t base, int64_t bytes,
                                                int64_t file_offset, int64_t base_offset,
                                                int64_t cookie)
#ifndef METRALE_PARSER
{
    CUfileIOParams_t &request = metrale_cufile_as<CUfileIOParams_t *>(requests)[index];

    request = {};
    request.mode = CUFILE_BATCH;
    request.u.batch.devPtr_base = metrale_cufile_as<void *>(base);
    request.u.batch.file_offset = file_offset;
    request.u.batch.devPtr_offset = base_offset;
    request.u.batch.size = static_cast<size_t>(bytes);
    request.fh = metrale_cufile_as<CUfileHandle_t>(handle);
    request.opcode = write != 0 ? CUFILE_WRITE : CUFILE_READ;
    request.cookie = metrale_cufile_as<void *>(cookie);
}
#endif
;

static inline int64_t metrale_cufile_batch_submit(int64_t context, int64_t batch, int count,
                                                  int64_t requests)
#ifndef METRALE_PARSER
{
    const metrale_cufile_current current(context);
    return metrale_cufile_pack(cuFileBatchIOSubmit(metrale_cufile_as<CUfileBatchHandle_t>(batch),
                                                   static_cast<unsigned int>(count),
                                                   metrale_cufile_as<CUfileIOParams_t *>(requests),
                                                   0));
}
#endif
;

/*
 * Waits until `min` transfers ended or the time is over. Answers the packed error, or minus one less
 * than the number of events written.
 */
static inline int64_t metrale_cufile_batch_status(int64_t batch, int min, int max, int64_t events,
                                                  int64_t timeout_nanos)
#ifndef METRALE_PARSER
{
    unsigned int count = static_cast<unsigned int>(max);
    struct timespec timeout;

    timeout.tv_sec = timeout_nanos / 1000000000;
    timeout.tv_nsec = timeout_nanos % 1000000000;
    const int64_t error = metrale_cufile_pack(cuFileBatchIOGetStatus(
        metrale_cufile_as<CUfileBatchHandle_t>(batch), static_cast<unsigned int>(min), &count,
        metrale_cufile_as<CUfileIOEvents_t *>(events), &timeout));
    return (error & 0xffffffff) == 0 ? -1 - static_cast<int64_t>(count) : error;
}
#endif
;

/* One field of an event: 0 the cookie, 1 the status, 2 the answer. */
static inline int64_t metrale_cufile_batch_event(int64_t events, int index, int field)
#ifndef METRALE_PARSER
{
    const CUfileIOEvents_t &event = metrale_cufile_as<const CUfileIOEvents_t *>(events)[index];

    return field == 0   ? reinterpret_cast<int64_t>(event.cookie)
           : field == 1 ? static_cast<int64_t>(event.status)
                        : static_cast<int64_t>(event.ret);
}
#endif
;

static inline int64_t metrale_cufile_batch_cancel(int64_t batch)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(
        cuFileBatchIOCancel(metrale_cufile_as<CUfileBatchHandle_t>(batch)));
}
#endif
;

static inline void metrale_cufile_batch_destroy(int64_t batch)
#ifndef METRALE_PARSER
{
    cuFileBatchIODestroy(metrale_cufile_as<CUfileBatchHandle_t>(batch));
}
#endif
;

/* The driver's properties in the header's order, twelve of them. */
static inline int64_t metrale_cufile_properties(int64_t *out)
#ifndef METRALE_PARSER
{
    CUfileDrvProps_t props = {};
    const int64_t error = metrale_cufile_pack(cuFileDriverGetProperties(&props));
    const uint64_t values[] = {props.nvfs.major_version,
                               props.nvfs.minor_version,
                               props.nvfs.poll_thresh_size,
                               props.nvfs.max_direct_io_size,
                               props.nvfs.dstatusflags,
                               props.nvfs.dcontrolflags,
                               props.fflags,
                               props.max_device_cache_size,
                               props.per_buffer_cache_size,
                               props.max_device_pinned_mem_size,
                               props.max_batch_io_size,
                               props.max_batch_io_timeout_msecs};

    for (int i = 0; i < 12; i++) {
        out[i] = static_cast<int64_t>(values[i]);
    }
    return error;
}
#endif
;

/* Which ways the library has to the device for a kind of storage, as bits of CUfileP2PFlags. */
static inline int64_t metrale_cufile_p2p_flags(int storage, int *out)
#ifndef METRALE_PARSER
{
    CUfileP2PFlags_t flags = static_cast<CUfileP2PFlags_t>(0);
    const int64_t error = metrale_cufile_pack(
        cuFileDriverGetP2PFlags(static_cast<CUfileDriverStatusFlags_t>(storage), &flags));

    *out = static_cast<int>(flags);
    return error;
}
#endif
;

static inline int64_t metrale_cufile_size_parameter(int parameter, int64_t *out)
#ifndef METRALE_PARSER
{
    size_t value = 0;
    const int64_t error = metrale_cufile_pack(
        cuFileGetParameterSizeT(static_cast<CUFileSizeTConfigParameter_t>(parameter), &value));

    *out = static_cast<int64_t>(value);
    return error;
}
#endif
;

static inline int64_t metrale_cufile_set_size_parameter(int parameter, int64_t value)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(cuFileSetParameterSizeT(
        static_cast<CUFileSizeTConfigParameter_t>(parameter), static_cast<size_t>(value)));
}
#endif
;

static inline int64_t metrale_cufile_flag_parameter(int parameter, int *out)
#ifndef METRALE_PARSER
{
    bool value = false;
    const int64_t error = metrale_cufile_pack(
        cuFileGetParameterBool(static_cast<CUFileBoolConfigParameter_t>(parameter), &value));

    *out = value ? 1 : 0;
    return error;
}
#endif
;

static inline int64_t metrale_cufile_set_flag_parameter(int parameter, int value)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(cuFileSetParameterBool(
        static_cast<CUFileBoolConfigParameter_t>(parameter), value != 0));
}
#endif
;

/* Writes a text that ends in a NUL. */
static inline int64_t metrale_cufile_text_parameter(int parameter, signed char *out, int bytes)
#ifndef METRALE_PARSER
{
    out[0] = 0;
    return metrale_cufile_pack(
        cuFileGetParameterString(static_cast<CUFileStringConfigParameter_t>(parameter),
                                 reinterpret_cast<char *>(out), bytes));
}
#endif
;

static inline int64_t metrale_cufile_set_text_parameter(int parameter, const signed char *value)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(
        cuFileSetParameterString(static_cast<CUFileStringConfigParameter_t>(parameter),
                                 reinterpret_cast<const char *>(value)));
}
#endif
;

static inline int64_t metrale_cufile_set_stats_level(int level)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(cuFileSetStatsLevel(level));
}
#endif
;

static inline int64_t metrale_cufile_stats_level(int *out)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(cuFileGetStatsLevel(out));
}
#endif
;

static inline int64_t metrale_cufile_stats_start(void)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(cuFileStatsStart());
}
#endif
;

static inline int64_t metrale_cufile_stats_stop(void)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(cuFileStatsStop());
}
#endif
;

static inline int64_t metrale_cufile_stats_reset(void)
#ifndef METRALE_PARSER
{
    return metrale_cufile_pack(cuFileStatsReset());
}
#endif
;

/*
 * Statistics of a level as 64-bit words: the basic ones, from level 2 on two histograms of 32, at
 * level 3 the number of devices and per device its UUID (2 words) and counters. A library from before
 * cuFileReadv has shorter basic ones: the words it lacks are 0. `out` has room for
 * metrale_cufile_stats_words(3).
 */
static inline int metrale_cufile_stats_words(int level)
#ifndef METRALE_PARSER
{
    return static_cast<int>(level == 1   ? sizeof(CUfileStatsLevel1_t) / 8
                            : level == 2 ? sizeof(CUfileStatsLevel2_t) / 8
                                         : sizeof(CUfileStatsLevel3_t) / 8);
}
#endif
;

static inline int64_t metrale_cufile_stats(int level, int64_t *out)
#ifndef METRALE_PARSER
{
    /* A newer library writes more than this header knows: leave it room. */
    const size_t room = sizeof(CUfileStatsLevel3_t) * 4;
    void *scratch = calloc(1, room);
    int64_t error = CU_FILE_NOMEM_ERROR;

    if (scratch == nullptr) {
        return error;
    }
    try {
        error = metrale_cufile_pack(
            level == 1   ? cuFileGetStatsL1(static_cast<CUfileStatsLevel1_t *>(scratch))
            : level == 2 ? cuFileGetStatsL2(static_cast<CUfileStatsLevel2_t *>(scratch))
                         : cuFileGetStatsL3(static_cast<CUfileStatsLevel3_t *>(scratch)));
    } catch (...) {
        free(scratch);
        throw;
    }
    const size_t basic = metrale_table_has("cuFileReadv")
                             ? sizeof(CUfileStatsLevel1_t)
                             : offsetof(CUfileStatsLevel1_t, readv_ops);
    const size_t whole = static_cast<size_t>(metrale_cufile_stats_words(level)) * 8;
    char *target = reinterpret_cast<char *>(out);
    memset(target, 0, whole);
    memcpy(target, scratch, basic);
    memcpy(target + sizeof(CUfileStatsLevel1_t), static_cast<char *>(scratch) + basic,
           whole - sizeof(CUfileStatsLevel1_t));
    free(scratch);
    return error;
}
#endif
;
#endif
