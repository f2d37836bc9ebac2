/*
 * What metrale_nccl.h needs and an older nccl.h lacks, so that the glue can be made from any header
 * from 2.18 on. Functions that the header does not declare are as unavailable as those that the
 * loaded library does not export; settings of a configuration that it does not have are left out.
 */
#ifndef METRALE_NCCL_OLDER_H
#define METRALE_NCCL_OLDER_H
#ifndef METRALE_PARSER
#include "metrale_table.h"
#include <nccl.h>

/* Writes a field of a configuration where the header's has one of that name. */
#define METRALE_NCCL_SETTING(name)                                                                 \
    template <class Config>                                                                        \
    static inline auto metrale_nccl_set_##name(Config *config, int value, int)                     \
        ->decltype((void)config->name)                                                             \
    {                                                                                              \
        config->name = value;                                                                      \
    }                                                                                              \
    template <class Config> static inline void metrale_nccl_set_##name(Config *, int, long)        \
    {                                                                                              \
    }
METRALE_NCCL_SETTING(trafficClass)
METRALE_NCCL_SETTING(collnetEnable)
METRALE_NCCL_SETTING(CTAPolicy)
METRALE_NCCL_SETTING(shrinkShare)
METRALE_NCCL_SETTING(nvlsCTAs)
METRALE_NCCL_SETTING(nChannelsPerNetPeer)
METRALE_NCCL_SETTING(nvlinkCentricSched)
METRALE_NCCL_SETTING(graphUsageMode)
METRALE_NCCL_SETTING(numRmaCtx)
METRALE_NCCL_SETTING(maxP2pPeers)
METRALE_NCCL_SETTING(graphStreamOrdering)
METRALE_NCCL_SETTING(launchOrderImplicit)
METRALE_NCCL_SETTING(numRmaSig)
METRALE_NCCL_SETTING(rmaEagerInit)
METRALE_NCCL_SETTING(hostCftMode)
METRALE_NCCL_SETTING(nvlsHostMode)
#undef METRALE_NCCL_SETTING

/* Likewise, the one that is a text and younger than 2.18. */
template <class Config>
static inline auto metrale_nccl_set_commName(Config *config, const char *value, int)
    -> decltype((void)config->commName)
{
    config->commName = value;
}
template <class Config> static inline void metrale_nccl_set_commName(Config *, const char *, long)
{
}

/* A function that this header does not declare. */
#define METRALE_NCCL_ABSENT(function)                                                              \
    template <class... Arguments> static inline ncclResult_t function(Arguments...)                \
    {                                                                                              \
        return static_cast<ncclResult_t>(metrale_table_lacks(#function));                          \
    }

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 19, 3)
METRALE_NCCL_ABSENT(ncclMemAlloc)
METRALE_NCCL_ABSENT(ncclMemFree)
METRALE_NCCL_ABSENT(ncclCommRegister)
METRALE_NCCL_ABSENT(ncclCommDeregister)
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 23, 4)
METRALE_NCCL_ABSENT(ncclCommInitRankScalable)
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 27, 3)
typedef struct ncclWindow_vidmem *ncclWindow_t;
METRALE_NCCL_ABSENT(ncclCommWindowRegister)
METRALE_NCCL_ABSENT(ncclCommWindowDeregister)
METRALE_NCCL_ABSENT(ncclCommShrink)
#elif NCCL_VERSION_CODE < NCCL_VERSION(2, 28, 3)
/* The generated glue says it by its later name. */
typedef struct ncclWindow ncclWindow_vidmem;
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 28, 3)
METRALE_NCCL_ABSENT(ncclAlltoAll)
METRALE_NCCL_ABSENT(ncclGather)
METRALE_NCCL_ABSENT(ncclScatter)
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 28, 7)
METRALE_NCCL_ABSENT(ncclCommRevoke)
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 29, 2)
typedef struct {
    int opCnt;
    int peer;
    int sigIdx;
    int ctx;
} ncclWaitSignalDesc_t;
METRALE_NCCL_ABSENT(ncclPutSignal)
METRALE_NCCL_ABSENT(ncclSignal)
METRALE_NCCL_ABSENT(ncclWaitSignal)
METRALE_NCCL_ABSENT(ncclCommGrow)
METRALE_NCCL_ABSENT(ncclCommGetUniqueId)
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 29, 7)
#define NCCL_SUSPEND_MEM 0x01
typedef int ncclCommMemStat_t;
METRALE_NCCL_ABSENT(ncclCommSuspend)
METRALE_NCCL_ABSENT(ncclCommResume)
METRALE_NCCL_ABSENT(ncclCommMemStats)
#endif
#ifdef NCCL_COLLCONFIG_INITIALIZER
static inline ncclCollConfig_t metrale_nccl_call_config(const int64_t *fields)
{
    ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;

    config.version = static_cast<unsigned int>(fields[0]);
    config.minCTAs = static_cast<int>(fields[1]);
    config.maxCTAs = static_cast<int>(fields[2]);
    config.nvlsCTAs = static_cast<int>(fields[3]);
    config.cgaClusterSize = static_cast<int>(fields[4]);
    config.algSelection = reinterpret_cast<const char *>(static_cast<uintptr_t>(fields[5]));
    config.forceAlgSelection = static_cast<int>(fields[6]);
    config.CTAPolicy = static_cast<int>(fields[7]);
    config.userProfilerTag = static_cast<uint64_t>(fields[8]);
    return config;
}
#else
typedef int ncclCollConfig_t;
METRALE_NCCL_ABSENT(ncclAllReduceConfig)
METRALE_NCCL_ABSENT(ncclBroadcastConfig)
METRALE_NCCL_ABSENT(ncclReduceConfig)
METRALE_NCCL_ABSENT(ncclAllGatherConfig)
METRALE_NCCL_ABSENT(ncclReduceScatterConfig)
METRALE_NCCL_ABSENT(ncclAlltoAllConfig)
METRALE_NCCL_ABSENT(ncclGatherConfig)
METRALE_NCCL_ABSENT(ncclScatterConfig)
static inline ncclCollConfig_t metrale_nccl_call_config(const int64_t *)
{
    return 0;
}
#endif
#undef METRALE_NCCL_ABSENT
#endif
#endif
