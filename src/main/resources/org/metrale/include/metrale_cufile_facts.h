/*
 * Flat calls of what cuFile tells of itself, for the checked layer: properties, parameters and
 * statistics, in the conventions of metrale_cufile.h.
 */
#ifndef METRALE_CUFILE_FACTS_H
#define METRALE_CUFILE_FACTS_H
#include <stdint.h>

#ifndef METRALE_PARSER
#include "metrale_cufile.h"
#endif

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
    return metrale_cufile_pack(
        cuFileSetParameterBool(static_cast<CUFileBoolConfigParameter_t>(parameter), value != 0));
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
 * level 3 the number of devices and per device its UUID (2 words) and counters. A library from
 * before cuFileReadv has shorter basic ones: the words it lacks are 0. `out` has room for
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
    const size_t known = sizeof(CUfileStatsLevel1_t);
    const size_t basic =
        metrale_cufile_basic_bytes<CUfileStatsLevel1_t>(metrale_table_has("cuFileReadv"), 0);
    const size_t whole = static_cast<size_t>(metrale_cufile_stats_words(level)) * 8;
    char *target = reinterpret_cast<char *>(out);
    memset(target, 0, whole);
    memcpy(target, scratch, basic < known ? basic : known);
    memcpy(target + known, static_cast<char *>(scratch) + basic, whole - known);
    free(scratch);
    return error;
}
#endif
;
#endif
