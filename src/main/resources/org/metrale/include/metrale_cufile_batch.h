/*
 * Flat calls of cuFile's batches for the checked layer, in the conventions of metrale_cufile.h.
 */
#ifndef METRALE_CUFILE_BATCH_H
#define METRALE_CUFILE_BATCH_H
#include <stdint.h>

#ifndef METRALE_PARSER
#include "metrale_cufile.h"
#endif

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
    return metrale_cufile_within(context, 1, [=] {
        return metrale_cufile_pack(cuFileBatchIOSubmit(
            metrale_cufile_as<CUfileBatchHandle_t>(batch), static_cast<unsigned int>(count),
            metrale_cufile_as<CUfileIOParams_t *>(requests), 0));
    });
}
#endif
;

/*
 * Waits until `min` transfers ended or the time is over. Answers the packed error, or minus one
 * less than the number of events written.
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
    return metrale_cufile_pack(cuFileBatchIOCancel(metrale_cufile_as<CUfileBatchHandle_t>(batch)));
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

#endif
