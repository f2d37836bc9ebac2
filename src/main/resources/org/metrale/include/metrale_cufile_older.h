/*
 * What the flat calls of cuFile need and an older cufile.h lacks, so that the glue can be made from
 * any header from CUDA 11.8 on. A function that the header does not declare is as unavailable as
 * one that the loaded library does not export; the types are there for the code around it. Not for
 * the parser.
 */
#ifndef METRALE_CUFILE_OLDER_H
#define METRALE_CUFILE_OLDER_H
#include "metrale_cufile_declares.h"

/* A function that this header does not declare. */
#define METRALE_CUFILE_ABSENT(function)                                                            \
    template <class... Arguments> [[noreturn]] static inline CUfileError_t function(Arguments...)  \
    {                                                                                              \
        throw metrale_unavailable(#function);                                                      \
    }

/* Since CUDA 12.2 */
#ifndef METRALE_DECLARES_cuFileGetVersion
METRALE_CUFILE_ABSENT(cuFileGetVersion)
#endif
#ifndef METRALE_DECLARES_cuFileReadAsync
METRALE_CUFILE_ABSENT(cuFileReadAsync)
METRALE_CUFILE_ABSENT(cuFileWriteAsync)
METRALE_CUFILE_ABSENT(cuFileStreamRegister)
METRALE_CUFILE_ABSENT(cuFileStreamDeregister)
#endif

/* Since CUDA 12.9 */
#ifndef METRALE_DECLARES_cuFileGetParameterSizeT
typedef int CUFileSizeTConfigParameter_t;
typedef int CUFileBoolConfigParameter_t;
typedef int CUFileStringConfigParameter_t;
METRALE_CUFILE_ABSENT(cuFileGetParameterSizeT)
METRALE_CUFILE_ABSENT(cuFileGetParameterBool)
METRALE_CUFILE_ABSENT(cuFileGetParameterString)
METRALE_CUFILE_ABSENT(cuFileSetParameterSizeT)
METRALE_CUFILE_ABSENT(cuFileSetParameterBool)
METRALE_CUFILE_ABSENT(cuFileSetParameterString)
#endif

/* Since CUDA 13.0 */
#ifndef METRALE_DECLARES_cuFileGetStatsL1
static const int CU_FILE_NOMEM_ERROR = 5043;
typedef struct {
    uint64_t unknown;
} CUfileStatsLevel1_t;
typedef CUfileStatsLevel1_t CUfileStatsLevel2_t;
typedef CUfileStatsLevel1_t CUfileStatsLevel3_t;
METRALE_CUFILE_ABSENT(cuFileGetStatsL1)
METRALE_CUFILE_ABSENT(cuFileGetStatsL2)
METRALE_CUFILE_ABSENT(cuFileGetStatsL3)
METRALE_CUFILE_ABSENT(cuFileGetStatsLevel)
METRALE_CUFILE_ABSENT(cuFileSetStatsLevel)
METRALE_CUFILE_ABSENT(cuFileStatsStart)
METRALE_CUFILE_ABSENT(cuFileStatsStop)
METRALE_CUFILE_ABSENT(cuFileStatsReset)
#endif

/* Since CUDA 13.1 */
#ifndef METRALE_DECLARES_cuFileDriverGetP2PFlags
typedef int CUfileP2PFlags_t;
METRALE_CUFILE_ABSENT(cuFileDriverGetP2PFlags)
#endif
#undef METRALE_CUFILE_ABSENT

/*
 * How long the basic statistics are that the loaded library writes: since cuFileReadv two counters
 * and ten words more.
 */
template <class Basic>
static inline auto metrale_cufile_basic_bytes(bool with_vectors, int)
    -> decltype((void)sizeof(Basic::readv_ops), size_t())
{
    return with_vectors ? sizeof(Basic) : offsetof(Basic, readv_ops);
}
template <class Basic> static inline size_t metrale_cufile_basic_bytes(bool with_vectors, long)
{
    return sizeof(Basic) + (with_vectors ? 14 * sizeof(uint64_t) : 0);
}
#endif
