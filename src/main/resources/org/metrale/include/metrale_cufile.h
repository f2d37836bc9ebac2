/*
 * Flat calls of cuFile and of the file system for the checked layer: handles and addresses as
 * 64-bit integers, both halves of a CUfileError_t in one, so that a call from Java neither unboxes
 * nor allocates. The caller has checked every argument.
 *
 * A control call answers metrale_cufile_pack: 0, or the CUDA code above the cuFile code. A transfer
 * answers bytes, or minus a code: an errno below 5000, a cuFile code above, whichever way the
 * library chose to say it, or minus metrale_cufile_pack where the context could not be made
 * current. errno is read in the statement after the call; an error without one is EIO.
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

/*
 * Makes a context current for one call: cuFile works on the caller's. Where that fails the call is
 * not made: it would work on another device.
 */
class metrale_cufile_current
{
  public:
    explicit metrale_cufile_current(int64_t context)
    {
        CUcontext now = nullptr;
        const CUcontext wanted = reinterpret_cast<CUcontext>(context);

        error_ = metrale_cufile_cuda != nullptr ? metrale_cufile_cuda->current(&now)
                                                : CUDA_ERROR_NOT_INITIALIZED;
        if (error_ == CUDA_SUCCESS && now != wanted) {
            error_ = metrale_cufile_cuda->push(wanted);
            pushed_ = error_ == CUDA_SUCCESS;
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

    bool failed() const
    {
        return error_ != CUDA_SUCCESS;
    }
    int64_t packed() const
    {
        CUfileError_t error = {};

        error.err = CU_FILE_CUDA_DRIVER_ERROR;
        error.cu_err = error_;
        return metrale_cufile_pack(error);
    }

  private:
    CUresult error_ = CUDA_SUCCESS;
    bool pushed_ = false;
};

/* What a call answers with a context current, or `sign` times the reason why that could not be. */
template <typename Call>
__attribute__((noinline)) static int64_t metrale_cufile_in(int64_t context, int sign,
                                                           const Call &call)
{
    const metrale_cufile_current current(context);

    return current.failed() ? sign * current.packed() : call();
}

/*
 * The same; context 0 leaves it as it is. That way is apart, so that nothing of it has to be on the
 * stack.
 */
template <typename Call>
static inline int64_t metrale_cufile_within(int64_t context, int sign, const Call &call)
{
    return context == 0 ? call() : metrale_cufile_in(context, sign, call);
}

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
    return setenv(reinterpret_cast<const char *>(name), reinterpret_cast<const char *>(value), 0) ==
                   0
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
    return metrale_cufile_within(context, 1, [=] {
        return metrale_cufile_pack(cuFileBufRegister(metrale_cufile_as<const void *>(address),
                                                     static_cast<size_t>(bytes), flags));
    });
}
#endif
;

static inline int64_t metrale_cufile_buffer_deregister(int64_t context, int64_t address)
#ifndef METRALE_PARSER
{
    return metrale_cufile_within(context, 1, [=] {
        return metrale_cufile_pack(cuFileBufDeregister(metrale_cufile_as<const void *>(address)));
    });
}
#endif
;

static inline int64_t metrale_cufile_read(int64_t context, int64_t handle, int64_t base,
                                          int64_t bytes, int64_t file_offset, int64_t base_offset)
#ifndef METRALE_PARSER
{
    return metrale_cufile_within(context, -1, [=] {
        errno = 0;
        const ssize_t answer =
            cuFileRead(metrale_cufile_as<CUfileHandle_t>(handle), metrale_cufile_as<void *>(base),
                       static_cast<size_t>(bytes), file_offset, base_offset);
        const int reason = errno;
        return metrale_cufile_done(answer, reason);
    });
}
#endif
;

static inline int64_t metrale_cufile_write(int64_t context, int64_t handle, int64_t base,
                                           int64_t bytes, int64_t file_offset, int64_t base_offset)
#ifndef METRALE_PARSER
{
    return metrale_cufile_within(context, -1, [=] {
        errno = 0;
        const ssize_t answer = cuFileWrite(metrale_cufile_as<CUfileHandle_t>(handle),
                                           metrale_cufile_as<const void *>(base),
                                           static_cast<size_t>(bytes), file_offset, base_offset);
        const int reason = errno;
        return metrale_cufile_done(answer, reason);
    });
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
    return metrale_cufile_within(context, 1, [=] {
        int64_t *four = metrale_cufile_as<int64_t *>(arguments);

        return metrale_cufile_pack(cuFileReadAsync(
            metrale_cufile_as<CUfileHandle_t>(handle), metrale_cufile_as<void *>(base),
            reinterpret_cast<size_t *>(&four[0]), reinterpret_cast<off_t *>(&four[1]),
            reinterpret_cast<off_t *>(&four[2]), reinterpret_cast<ssize_t *>(&four[3]),
            metrale_cufile_as<CUstream>(stream)));
    });
}
#endif
;

static inline int64_t metrale_cufile_write_async(int64_t context, int64_t handle, int64_t base,
                                                 int64_t arguments, int64_t stream)
#ifndef METRALE_PARSER
{
    return metrale_cufile_within(context, 1, [=] {
        int64_t *four = metrale_cufile_as<int64_t *>(arguments);

        return metrale_cufile_pack(cuFileWriteAsync(
            metrale_cufile_as<CUfileHandle_t>(handle), metrale_cufile_as<void *>(base),
            reinterpret_cast<size_t *>(&four[0]), reinterpret_cast<off_t *>(&four[1]),
            reinterpret_cast<off_t *>(&four[2]), reinterpret_cast<ssize_t *>(&four[3]),
            metrale_cufile_as<CUstream>(stream)));
    });
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

#endif
