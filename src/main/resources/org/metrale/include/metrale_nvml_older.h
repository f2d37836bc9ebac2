/*
 * What metrale_nvml.h needs and an older nvml.h lacks, so that the glue can be made from any header
 * from CUDA 11.8 on. A function that the header does not declare is as absent as one that the
 * loaded library does not export; the structures are there for the code around it. Not for the
 * parser.
 */
#ifndef METRALE_NVML_OLDER_H
#define METRALE_NVML_OLDER_H
#include "metrale_nvml_declares.h"

/* A function that this header does not declare, and its position, which is in no table. */
#define METRALE_NVML_ABSENT(function)                                                              \
    static const int metrale_nvml_at_##function = -1;                                              \
    template <class... Arguments> static inline nvmlReturn_t function(Arguments...)                \
    {                                                                                              \
        return static_cast<nvmlReturn_t>(metrale_table_lacks(#function));                          \
    }

/* The version word of a structure, as NVML makes it. */
#define METRALE_NVML_WORD(structure, version)                                                      \
    static const unsigned int structure = sizeof(structure##_t) | (version) << 24U;

/* Since CUDA 12.0 */
#ifndef METRALE_DECLARES_nvmlDeviceGetGpuMaxPcieLinkGeneration
METRALE_NVML_ABSENT(nvmlDeviceGetGpuMaxPcieLinkGeneration)
#endif
#ifndef METRALE_DECLARES_nvmlGpmMigSampleGet
METRALE_NVML_ABSENT(nvmlGpmMigSampleGet)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetGpuFabricInfo
typedef struct {
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned int cliqueId;
    unsigned char state;
} nvmlGpuFabricInfo_t;
METRALE_NVML_ABSENT(nvmlDeviceGetGpuFabricInfo)
#endif

/* Since CUDA 12.2 */
#ifndef METRALE_DECLARES_nvmlDeviceGetCurrentClocksEventReasons
METRALE_NVML_ABSENT(nvmlDeviceGetCurrentClocksEventReasons)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetSupportedClocksEventReasons
METRALE_NVML_ABSENT(nvmlDeviceGetSupportedClocksEventReasons)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetModuleId
METRALE_NVML_ABSENT(nvmlDeviceGetModuleId)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetJpgUtilization
METRALE_NVML_ABSENT(nvmlDeviceGetJpgUtilization)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetOfaUtilization
METRALE_NVML_ABSENT(nvmlDeviceGetOfaUtilization)
#endif
#ifndef NVML_FI_DEV_C2C_LINK_COUNT
#define NVML_FI_DEV_C2C_LINK_COUNT 170
#endif

/* Since CUDA 12.3 */
#ifndef METRALE_DECLARES_nvmlDeviceGetC2cModeInfoV
typedef struct {
    unsigned int isC2cEnabled;
} nvmlC2cModeInfo_v1_t;
METRALE_NVML_ABSENT(nvmlDeviceGetC2cModeInfoV)
#endif

/* Since CUDA 12.4 */
#ifndef METRALE_DECLARES_nvmlDeviceGetNumaNodeId
METRALE_NVML_ABSENT(nvmlDeviceGetNumaNodeId)
#endif
#ifndef nvmlGpuFabricInfo_v2
typedef struct {
    unsigned int version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned int cliqueId;
    unsigned char state;
    unsigned int healthMask;
} nvmlGpuFabricInfo_v2_t;
METRALE_NVML_WORD(nvmlGpuFabricInfo_v2, 2)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetGpuFabricInfoV
typedef nvmlGpuFabricInfo_v2_t nvmlGpuFabricInfoV_t;
METRALE_NVML_ABSENT(nvmlDeviceGetGpuFabricInfoV)
#endif

/* Since CUDA 12.8 */
#ifndef nvmlTemperature_v1
typedef struct {
    unsigned int version;
    nvmlTemperatureSensors_t sensorType;
    int temperature;
} nvmlTemperature_v1_t;
METRALE_NVML_WORD(nvmlTemperature_v1, 1)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetTemperatureV
METRALE_NVML_ABSENT(nvmlDeviceGetTemperatureV)
#endif
#ifndef nvmlMarginTemperature_v1
typedef struct {
    unsigned int version;
    int marginTemperature;
} nvmlMarginTemperature_v1_t;
METRALE_NVML_WORD(nvmlMarginTemperature_v1, 1)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetMarginTemperature
METRALE_NVML_ABSENT(nvmlDeviceGetMarginTemperature)
#endif
#ifndef nvmlFanSpeedInfo_v1
typedef struct {
    unsigned int version;
    unsigned int fan;
    unsigned int speed;
} nvmlFanSpeedInfo_v1_t;
METRALE_NVML_WORD(nvmlFanSpeedInfo_v1, 1)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetFanSpeedRPM
METRALE_NVML_ABSENT(nvmlDeviceGetFanSpeedRPM)
#endif

/* Since CUDA 13.0 */
#ifndef nvmlDeviceAddressingMode_v1
typedef struct {
    unsigned int version;
    unsigned int value;
} nvmlDeviceAddressingMode_v1_t;
METRALE_NVML_WORD(nvmlDeviceAddressingMode_v1, 1)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetAddressingMode
METRALE_NVML_ABSENT(nvmlDeviceGetAddressingMode)
#endif
#ifndef nvmlRepairStatus_v1
typedef struct {
    unsigned int version;
    unsigned int bChannelRepairPending;
    unsigned int bTpcRepairPending;
} nvmlRepairStatus_v1_t;
METRALE_NVML_WORD(nvmlRepairStatus_v1, 1)
#endif
#ifndef METRALE_DECLARES_nvmlDeviceGetRepairStatus
METRALE_NVML_ABSENT(nvmlDeviceGetRepairStatus)
#endif
#ifndef nvmlGpuFabricInfo_v3
typedef struct {
    unsigned int version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned int cliqueId;
    unsigned char state;
    unsigned int healthMask;
    unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;
METRALE_NVML_WORD(nvmlGpuFabricInfo_v3, 3)
#endif

/* Since CUDA 13.4 */
#ifndef METRALE_DECLARES_nvmlDeviceGetGpuFabricInfo_v4
typedef struct {
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    struct {
        unsigned int id;
    } cliques[1];
    unsigned int numCliques;
    unsigned char state;
    unsigned int healthMask;
    unsigned char healthSummary;
} nvmlGpuFabricInfo_v4_t;
METRALE_NVML_ABSENT(nvmlDeviceGetGpuFabricInfo_v4)
#endif

/* Called a partition before CUDA 12.3. */
template <class Info>
static inline auto metrale_nvml_clique(const Info &info, int) -> decltype(info.cliqueId)
{
    return info.cliqueId;
}
template <class Info>
static inline auto metrale_nvml_clique(const Info &info, long) -> decltype(info.partitionId)
{
    return info.partitionId;
}

#undef METRALE_NVML_WORD
#undef METRALE_NVML_ABSENT
#endif
