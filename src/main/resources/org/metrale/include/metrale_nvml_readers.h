/*
 * One reader a query of metrale_nvml.h: asks whether the library has the function, calls it, widens
 * what it wrote. Not for the parser.
 */
#ifndef METRALE_NVML_READERS_H
#define METRALE_NVML_READERS_H

/* Position of every function in the run-time table, known to the compiler. */
#define METRALE_FUNCTION(index, name) metrale_nvml_at_##name = index,
enum metrale_nvml_position {
#include METRALE_FUNCTIONS
};
#undef METRALE_FUNCTION

#include "metrale_nvml_older.h"

#define METRALE_NVML_HAS(function) metrale_table_bound(metrale_nvml_at_##function)

/* Answers an nvmlReturn_t; values are written only up to what the query names. */
typedef int (*metrale_nvml_reader)(nvmlDevice_t device, int argument, int64_t *values);

/* reader(device) -> one value */
#define METRALE_NVML_ONE(reader, type, function)                                                   \
    static int reader(nvmlDevice_t device, int, int64_t *values)                                   \
    {                                                                                              \
        type value = static_cast<type>(0);                                                         \
        if (!METRALE_NVML_HAS(function))                                                           \
            return NVML_ERROR_FUNCTION_NOT_FOUND;                                                  \
        const int code = function(device, &value);                                                 \
        values[0] = static_cast<int64_t>(value);                                                   \
        return code;                                                                               \
    }

/* reader(device, argument) -> one value */
#define METRALE_NVML_OF(reader, type, argument_type, function)                                     \
    static int reader(nvmlDevice_t device, int argument, int64_t *values)                          \
    {                                                                                              \
        type value = static_cast<type>(0);                                                         \
        if (!METRALE_NVML_HAS(function))                                                           \
            return NVML_ERROR_FUNCTION_NOT_FOUND;                                                  \
        const int code = function(device, static_cast<argument_type>(argument), &value);           \
        values[0] = static_cast<int64_t>(value);                                                   \
        return code;                                                                               \
    }

/* reader(device) -> two values */
#define METRALE_NVML_TWO(reader, type, function)                                                   \
    static int reader(nvmlDevice_t device, int, int64_t *values)                                   \
    {                                                                                              \
        type first = static_cast<type>(0);                                                         \
        type second = static_cast<type>(0);                                                        \
        if (!METRALE_NVML_HAS(function))                                                           \
            return NVML_ERROR_FUNCTION_NOT_FOUND;                                                  \
        const int code = function(device, &first, &second);                                        \
        values[0] = static_cast<int64_t>(first);                                                   \
        values[1] = static_cast<int64_t>(second);                                                  \
        return code;                                                                               \
    }

/* reader(device) -> one member of a structure that carries its version */
#define METRALE_NVML_MEMBER(reader, structure, word, member, function)                             \
    static int reader(nvmlDevice_t device, int, int64_t *values)                                   \
    {                                                                                              \
        structure info;                                                                            \
        if (!METRALE_NVML_HAS(function))                                                           \
            return NVML_ERROR_FUNCTION_NOT_FOUND;                                                  \
        memset(&info, 0, sizeof(info));                                                            \
        info.version = word;                                                                       \
        const int code = function(device, &info);                                                  \
        values[0] = static_cast<int64_t>(info.member);                                             \
        return code;                                                                               \
    }

METRALE_NVML_ONE(metrale_nvml_read_power, unsigned int, nvmlDeviceGetPowerUsage)
METRALE_NVML_ONE(metrale_nvml_read_energy, unsigned long long, nvmlDeviceGetTotalEnergyConsumption)
METRALE_NVML_OF(metrale_nvml_read_clock, unsigned int, nvmlClockType_t, nvmlDeviceGetClockInfo)
METRALE_NVML_OF(metrale_nvml_read_pcie_throughput, unsigned int, nvmlPcieUtilCounter_t,
                nvmlDeviceGetPcieThroughput)
METRALE_NVML_TWO(metrale_nvml_read_encoder, unsigned int, nvmlDeviceGetEncoderUtilization)
METRALE_NVML_TWO(metrale_nvml_read_decoder, unsigned int, nvmlDeviceGetDecoderUtilization)
METRALE_NVML_TWO(metrale_nvml_read_jpeg, unsigned int, nvmlDeviceGetJpgUtilization)
METRALE_NVML_TWO(metrale_nvml_read_optical_flow, unsigned int, nvmlDeviceGetOfaUtilization)
METRALE_NVML_ONE(metrale_nvml_read_performance_state, nvmlPstates_t, nvmlDeviceGetPerformanceState)
METRALE_NVML_OF(metrale_nvml_read_max_clock, unsigned int, nvmlClockType_t,
                nvmlDeviceGetMaxClockInfo)
METRALE_NVML_OF(metrale_nvml_read_application_clock, unsigned int, nvmlClockType_t,
                nvmlDeviceGetApplicationsClock)
METRALE_NVML_OF(metrale_nvml_read_default_clock, unsigned int, nvmlClockType_t,
                nvmlDeviceGetDefaultApplicationsClock)
METRALE_NVML_OF(metrale_nvml_read_boost_clock, unsigned int, nvmlClockType_t,
                nvmlDeviceGetMaxCustomerBoostClock)
METRALE_NVML_ONE(metrale_nvml_read_power_limit, unsigned int, nvmlDeviceGetPowerManagementLimit)
METRALE_NVML_ONE(metrale_nvml_read_default_power_limit, unsigned int,
                 nvmlDeviceGetPowerManagementDefaultLimit)
METRALE_NVML_ONE(metrale_nvml_read_enforced_power_limit, unsigned int,
                 nvmlDeviceGetEnforcedPowerLimit)
METRALE_NVML_TWO(metrale_nvml_read_power_constraints, unsigned int,
                 nvmlDeviceGetPowerManagementLimitConstraints)
METRALE_NVML_ONE(metrale_nvml_read_power_management, nvmlEnableState_t,
                 nvmlDeviceGetPowerManagementMode)
METRALE_NVML_ONE(metrale_nvml_read_power_source, nvmlPowerSource_t, nvmlDeviceGetPowerSource)
METRALE_NVML_MEMBER(metrale_nvml_read_margin, nvmlMarginTemperature_v1_t, nvmlMarginTemperature_v1,
                    marginTemperature, nvmlDeviceGetMarginTemperature)
METRALE_NVML_OF(metrale_nvml_read_threshold, unsigned int, nvmlTemperatureThresholds_t,
                nvmlDeviceGetTemperatureThreshold)
METRALE_NVML_ONE(metrale_nvml_read_fan_count, unsigned int, nvmlDeviceGetNumFans)
METRALE_NVML_OF(metrale_nvml_read_fan_target, unsigned int, unsigned int,
                nvmlDeviceGetTargetFanSpeed)
METRALE_NVML_TWO(metrale_nvml_read_fan_limits, unsigned int, nvmlDeviceGetMinMaxFanSpeed)
METRALE_NVML_TWO(metrale_nvml_read_ecc_mode, nvmlEnableState_t, nvmlDeviceGetEccMode)
METRALE_NVML_ONE(metrale_nvml_read_default_ecc_mode, nvmlEnableState_t, nvmlDeviceGetDefaultEccMode)
METRALE_NVML_ONE(metrale_nvml_read_pcie_generation, unsigned int,
                 nvmlDeviceGetCurrPcieLinkGeneration)
METRALE_NVML_ONE(metrale_nvml_read_pcie_max_generation, unsigned int,
                 nvmlDeviceGetMaxPcieLinkGeneration)
METRALE_NVML_ONE(metrale_nvml_read_pcie_device_generation, unsigned int,
                 nvmlDeviceGetGpuMaxPcieLinkGeneration)
METRALE_NVML_ONE(metrale_nvml_read_pcie_width, unsigned int, nvmlDeviceGetCurrPcieLinkWidth)
METRALE_NVML_ONE(metrale_nvml_read_pcie_max_width, unsigned int, nvmlDeviceGetMaxPcieLinkWidth)
METRALE_NVML_ONE(metrale_nvml_read_pcie_speed, unsigned int, nvmlDeviceGetPcieSpeed)
METRALE_NVML_ONE(metrale_nvml_read_pcie_replays, unsigned int, nvmlDeviceGetPcieReplayCounter)
METRALE_NVML_OF(metrale_nvml_read_link_state, nvmlEnableState_t, unsigned int,
                nvmlDeviceGetNvLinkState)
METRALE_NVML_OF(metrale_nvml_read_link_version, unsigned int, unsigned int,
                nvmlDeviceGetNvLinkVersion)
METRALE_NVML_OF(metrale_nvml_read_link_remote_type, nvmlIntNvLinkDeviceType_t, unsigned int,
                nvmlDeviceGetNvLinkRemoteDeviceType)
METRALE_NVML_TWO(metrale_nvml_read_mig_mode, unsigned int, nvmlDeviceGetMigMode)
METRALE_NVML_ONE(metrale_nvml_read_is_mig, unsigned int, nvmlDeviceIsMigDeviceHandle)
METRALE_NVML_ONE(metrale_nvml_read_max_mig, unsigned int, nvmlDeviceGetMaxMigDeviceCount)
METRALE_NVML_ONE(metrale_nvml_read_gpu_instance, unsigned int, nvmlDeviceGetGpuInstanceId)
METRALE_NVML_ONE(metrale_nvml_read_compute_instance, unsigned int, nvmlDeviceGetComputeInstanceId)
METRALE_NVML_TWO(metrale_nvml_read_compute_capability, int, nvmlDeviceGetCudaComputeCapability)
METRALE_NVML_ONE(metrale_nvml_read_architecture, nvmlDeviceArchitecture_t,
                 nvmlDeviceGetArchitecture)
METRALE_NVML_ONE(metrale_nvml_read_brand, nvmlBrandType_t, nvmlDeviceGetBrand)
METRALE_NVML_ONE(metrale_nvml_read_cores, unsigned int, nvmlDeviceGetNumGpuCores)
METRALE_NVML_ONE(metrale_nvml_read_bus_width, unsigned int, nvmlDeviceGetMemoryBusWidth)
METRALE_NVML_ONE(metrale_nvml_read_minor, unsigned int, nvmlDeviceGetMinorNumber)
METRALE_NVML_ONE(metrale_nvml_read_index, unsigned int, nvmlDeviceGetIndex)
METRALE_NVML_ONE(metrale_nvml_read_module, unsigned int, nvmlDeviceGetModuleId)
METRALE_NVML_ONE(metrale_nvml_read_numa_node, unsigned int, nvmlDeviceGetNumaNodeId)
METRALE_NVML_MEMBER(metrale_nvml_read_addressing_mode, nvmlDeviceAddressingMode_v1_t,
                    nvmlDeviceAddressingMode_v1, value, nvmlDeviceGetAddressingMode)
METRALE_NVML_ONE(metrale_nvml_read_persistence, nvmlEnableState_t, nvmlDeviceGetPersistenceMode)
METRALE_NVML_ONE(metrale_nvml_read_compute_mode, nvmlComputeMode_t, nvmlDeviceGetComputeMode)
METRALE_NVML_ONE(metrale_nvml_read_display, nvmlEnableState_t, nvmlDeviceGetDisplayActive)
METRALE_NVML_TWO(metrale_nvml_read_gsp, unsigned int, nvmlDeviceGetGspFirmwareMode)
METRALE_NVML_ONE(metrale_nvml_read_supported_events, unsigned long long,
                 nvmlDeviceGetSupportedEventTypes)
METRALE_NVML_MEMBER(metrale_nvml_read_gpm_support, nvmlGpmSupport_t, NVML_GPM_SUPPORT_VERSION,
                    isSupportedDevice, nvmlGpmQueryDeviceSupport)
METRALE_NVML_OF(metrale_nvml_read_encoder_capacity, unsigned int, nvmlEncoderType_t,
                nvmlDeviceGetEncoderCapacity)

static int metrale_nvml_read_temperature(nvmlDevice_t device, int, int64_t *values)
{
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (METRALE_NVML_HAS(nvmlDeviceGetTemperatureV)) {
        nvmlTemperature_v1_t info;
        memset(&info, 0, sizeof(info));
        info.version = nvmlTemperature_v1;
        info.sensorType = NVML_TEMPERATURE_GPU;
        code = nvmlDeviceGetTemperatureV(device, &info);
        values[0] = info.temperature;
        if (code != NVML_ERROR_ARGUMENT_VERSION_MISMATCH)
            return code;
    }
    if (METRALE_NVML_HAS(nvmlDeviceGetTemperature)) {
        unsigned int celsius = 0;
        code = nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &celsius);
        values[0] = celsius;
    }
    return code;
}

static int metrale_nvml_read_event_reasons(nvmlDevice_t device, int, int64_t *values)
{
    unsigned long long reasons = 0;
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (METRALE_NVML_HAS(nvmlDeviceGetCurrentClocksEventReasons))
        code = nvmlDeviceGetCurrentClocksEventReasons(device, &reasons);
    else if (METRALE_NVML_HAS(nvmlDeviceGetCurrentClocksThrottleReasons))
        code = nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons);
    values[0] = static_cast<int64_t>(reasons);
    return code;
}

static int metrale_nvml_read_supported_reasons(nvmlDevice_t device, int, int64_t *values)
{
    unsigned long long reasons = 0;
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (METRALE_NVML_HAS(nvmlDeviceGetSupportedClocksEventReasons))
        code = nvmlDeviceGetSupportedClocksEventReasons(device, &reasons);
    else if (METRALE_NVML_HAS(nvmlDeviceGetSupportedClocksThrottleReasons))
        code = nvmlDeviceGetSupportedClocksThrottleReasons(device, &reasons);
    values[0] = static_cast<int64_t>(reasons);
    return code;
}

/* The first version counts what the driver reserves as used and does not tell how much that is. */
static int metrale_nvml_read_memory(nvmlDevice_t device, int, int64_t *values)
{
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (METRALE_NVML_HAS(nvmlDeviceGetMemoryInfo_v2)) {
        nvmlMemory_v2_t memory;
        memset(&memory, 0, sizeof(memory));
        memory.version = nvmlMemory_v2;
        code = nvmlDeviceGetMemoryInfo_v2(device, &memory);
        if (code != NVML_ERROR_ARGUMENT_VERSION_MISMATCH) {
            values[0] = static_cast<int64_t>(memory.total);
            values[1] = static_cast<int64_t>(memory.free);
            values[2] = static_cast<int64_t>(memory.used);
            values[3] = static_cast<int64_t>(memory.reserved);
            return code;
        }
    }
    if (METRALE_NVML_HAS(nvmlDeviceGetMemoryInfo)) {
        nvmlMemory_t memory;
        memset(&memory, 0, sizeof(memory));
        code = nvmlDeviceGetMemoryInfo(device, &memory);
        values[0] = static_cast<int64_t>(memory.total);
        values[1] = static_cast<int64_t>(memory.free);
        values[2] = static_cast<int64_t>(memory.used);
        values[3] = -1;
    }
    return code;
}

static int metrale_nvml_read_utilization(nvmlDevice_t device, int, int64_t *values)
{
    nvmlUtilization_t utilization;

    if (!METRALE_NVML_HAS(nvmlDeviceGetUtilizationRates))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    memset(&utilization, 0, sizeof(utilization));
    const int code = nvmlDeviceGetUtilizationRates(device, &utilization);
    values[0] = utilization.gpu;
    values[1] = utilization.memory;
    return code;
}

/*
 * Counts links. A link that is not supported or not there ends nothing; any other refusal is the
 * answer, a lost GPU above all. Where no link answers there are none: not supported.
 */
static int metrale_nvml_read_links(nvmlDevice_t device, int, int64_t *values)
{
    int64_t active = 0;
    int64_t answered = 0;

    if (!METRALE_NVML_HAS(nvmlDeviceGetNvLinkState))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    for (unsigned int link = 0; link < NVML_NVLINK_MAX_LINKS; link++) {
        nvmlEnableState_t state = NVML_FEATURE_DISABLED;
        const int code = nvmlDeviceGetNvLinkState(device, link, &state);
        if (code == NVML_ERROR_INVALID_ARGUMENT)
            break; /* past the last link of this part */
        if (code == NVML_ERROR_NOT_SUPPORTED) {
            if (link == 0)
                break;
            continue;
        }
        if (code != NVML_SUCCESS)
            return code;
        answered++;
        active += state == NVML_FEATURE_ENABLED ? 1 : 0;
    }
    values[0] = active;
    values[1] = answered;
    return answered > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static int metrale_nvml_read_violation(nvmlDevice_t device, int argument, int64_t *values)
{
    nvmlViolationTime_t time;

    if (!METRALE_NVML_HAS(nvmlDeviceGetViolationStatus))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    memset(&time, 0, sizeof(time));
    const int code =
        nvmlDeviceGetViolationStatus(device, static_cast<nvmlPerfPolicyType_t>(argument), &time);
    values[0] = static_cast<int64_t>(time.violationTime);
    values[1] = static_cast<int64_t>(time.referenceTime);
    return code;
}

static int metrale_nvml_read_fan_speed(nvmlDevice_t device, int argument, int64_t *values)
{
    unsigned int percent = 0;
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (METRALE_NVML_HAS(nvmlDeviceGetFanSpeed_v2))
        code = nvmlDeviceGetFanSpeed_v2(device, static_cast<unsigned int>(argument), &percent);
    else if (argument == 0 && METRALE_NVML_HAS(nvmlDeviceGetFanSpeed))
        code = nvmlDeviceGetFanSpeed(device, &percent);
    values[0] = percent;
    return code;
}

static int metrale_nvml_read_fan_rpm(nvmlDevice_t device, int argument, int64_t *values)
{
    nvmlFanSpeedInfo_v1_t info;

    if (!METRALE_NVML_HAS(nvmlDeviceGetFanSpeedRPM))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    memset(&info, 0, sizeof(info));
    info.version = nvmlFanSpeedInfo_v1;
    info.fan = static_cast<unsigned int>(argument);
    const int code = nvmlDeviceGetFanSpeedRPM(device, &info);
    values[0] = info.speed;
    return code;
}

static int metrale_nvml_read_bar1(nvmlDevice_t device, int, int64_t *values)
{
    nvmlBAR1Memory_t memory;

    if (!METRALE_NVML_HAS(nvmlDeviceGetBAR1MemoryInfo))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    memset(&memory, 0, sizeof(memory));
    const int code = nvmlDeviceGetBAR1MemoryInfo(device, &memory);
    values[0] = static_cast<int64_t>(memory.bar1Total);
    values[1] = static_cast<int64_t>(memory.bar1Free);
    values[2] = static_cast<int64_t>(memory.bar1Used);
    return code;
}

static int metrale_nvml_read_ecc_errors(nvmlDevice_t device, int argument, int64_t *values)
{
    unsigned long long count = 0;

    if (!METRALE_NVML_HAS(nvmlDeviceGetTotalEccErrors))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    const int code =
        nvmlDeviceGetTotalEccErrors(device, static_cast<nvmlMemoryErrorType_t>(argument & 255),
                                    static_cast<nvmlEccCounterType_t>(argument >> 8), &count);
    values[0] = static_cast<int64_t>(count);
    return code;
}

static int metrale_nvml_read_memory_errors(nvmlDevice_t device, int argument, int64_t *values)
{
    unsigned long long count = 0;

    if (!METRALE_NVML_HAS(nvmlDeviceGetMemoryErrorCounter))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    const int code = nvmlDeviceGetMemoryErrorCounter(
        device, static_cast<nvmlMemoryErrorType_t>(argument & 255),
        static_cast<nvmlEccCounterType_t>(argument >> 8 & 255),
        static_cast<nvmlMemoryLocation_t>(argument >> 16 & 255), &count);
    values[0] = static_cast<int64_t>(count);
    return code;
}

static int metrale_nvml_read_remapped_rows(nvmlDevice_t device, int, int64_t *values)
{
    unsigned int rows[4] = {0, 0, 0, 0};

    if (!METRALE_NVML_HAS(nvmlDeviceGetRemappedRows))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    const int code = nvmlDeviceGetRemappedRows(device, &rows[0], &rows[1], &rows[2], &rows[3]);
    for (int i = 0; i < 4; i++)
        values[i] = rows[i];
    return code;
}

static int metrale_nvml_read_remapper_histogram(nvmlDevice_t device, int, int64_t *values)
{
    nvmlRowRemapperHistogramValues_t banks;

    if (!METRALE_NVML_HAS(nvmlDeviceGetRowRemapperHistogram))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    memset(&banks, 0, sizeof(banks));
    const int code = nvmlDeviceGetRowRemapperHistogram(device, &banks);
    values[0] = banks.max;
    values[1] = banks.high;
    values[2] = banks.partial;
    values[3] = banks.low;
    values[4] = banks.none;
    return code;
}

static int metrale_nvml_read_repair_status(nvmlDevice_t device, int, int64_t *values)
{
    nvmlRepairStatus_v1_t status;

    if (!METRALE_NVML_HAS(nvmlDeviceGetRepairStatus))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    memset(&status, 0, sizeof(status));
    status.version = nvmlRepairStatus_v1;
    const int code = nvmlDeviceGetRepairStatus(device, &status);
    values[0] = status.bChannelRepairPending;
    values[1] = status.bTpcRepairPending;
    return code;
}

static int metrale_nvml_read_link_errors(nvmlDevice_t device, int argument, int64_t *values)
{
    unsigned long long count = 0;

    if (!METRALE_NVML_HAS(nvmlDeviceGetNvLinkErrorCounter))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    const int code = nvmlDeviceGetNvLinkErrorCounter(
        device, static_cast<unsigned int>(argument & 255),
        static_cast<nvmlNvLinkErrorCounter_t>(argument >> 8), &count);
    values[0] = static_cast<int64_t>(count);
    return code;
}

static int metrale_nvml_read_attributes(nvmlDevice_t device, int, int64_t *values)
{
    nvmlDeviceAttributes_t info;
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    memset(&info, 0, sizeof(info));
    if (METRALE_NVML_HAS(nvmlDeviceGetAttributes_v2))
        code = nvmlDeviceGetAttributes_v2(device, &info);
    values[0] = info.multiprocessorCount;
    values[1] = info.sharedCopyEngineCount;
    values[2] = info.sharedDecoderCount;
    values[3] = info.gpuInstanceSliceCount;
    values[4] = info.computeInstanceSliceCount;
    values[5] = static_cast<int64_t>(info.memorySizeMB);
    return code;
}

/* The second version fills the same structure. */
static int metrale_nvml_pci(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    memset(pci, 0, sizeof(*pci));
    if (METRALE_NVML_HAS(nvmlDeviceGetPciInfo_v3))
        return nvmlDeviceGetPciInfo_v3(device, pci);
    return NVML_ERROR_FUNCTION_NOT_FOUND;
}

static int metrale_nvml_read_pci(nvmlDevice_t device, int, int64_t *values)
{
    nvmlPciInfo_t pci;
    const int code = metrale_nvml_pci(device, &pci);

    values[0] = pci.domain;
    values[1] = pci.bus;
    values[2] = pci.device;
    values[3] = pci.pciDeviceId;
    values[4] = pci.pciSubSystemId;
    return code;
}

/* Drivers before 550 tell by a field value. */
static int metrale_nvml_read_c2c(nvmlDevice_t device, int, int64_t *values)
{
    nvmlC2cModeInfo_v1_t info;
    nvmlFieldValue_t field;

    memset(&info, 0, sizeof(info));
    memset(&field, 0, sizeof(field));
    if (METRALE_NVML_HAS(nvmlDeviceGetC2cModeInfoV)) {
        const int code = nvmlDeviceGetC2cModeInfoV(device, &info);
        values[0] = info.isC2cEnabled;
        return code;
    }
    if (!METRALE_NVML_HAS(nvmlDeviceGetFieldValues))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    field.fieldId = NVML_FI_DEV_C2C_LINK_COUNT;
    const int code = nvmlDeviceGetFieldValues(device, 1, &field);
    values[0] = field.value.uiVal > 0 ? 1 : 0;
    if (code == NVML_SUCCESS && field.nvmlReturn == NVML_ERROR_INVALID_ARGUMENT)
        return NVML_ERROR_NOT_SUPPORTED; /* a field that this driver does not know */
    return code != NVML_SUCCESS ? code : field.nvmlReturn;
}

static int metrale_nvml_read_encoder_statistics(nvmlDevice_t device, int, int64_t *values)
{
    unsigned int numbers[3] = {0, 0, 0};

    if (!METRALE_NVML_HAS(nvmlDeviceGetEncoderStats))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    const int code = nvmlDeviceGetEncoderStats(device, &numbers[0], &numbers[1], &numbers[2]);
    for (int i = 0; i < 3; i++)
        values[i] = numbers[i];
    return code;
}

/* In the order of enum metrale_nvml_query. */
static const metrale_nvml_reader metrale_nvml_readers[] = {
    metrale_nvml_read_power,
    metrale_nvml_read_energy,
    metrale_nvml_read_clock,
    metrale_nvml_read_temperature,
    metrale_nvml_read_event_reasons,
    metrale_nvml_read_memory,
    metrale_nvml_read_utilization,
    metrale_nvml_read_pcie_throughput,
    metrale_nvml_read_links,
    metrale_nvml_read_encoder,
    metrale_nvml_read_decoder,
    metrale_nvml_read_jpeg,
    metrale_nvml_read_optical_flow,
    metrale_nvml_read_performance_state,
    metrale_nvml_read_max_clock,
    metrale_nvml_read_application_clock,
    metrale_nvml_read_default_clock,
    metrale_nvml_read_boost_clock,
    metrale_nvml_read_supported_reasons,
    metrale_nvml_read_violation,
    metrale_nvml_read_power_limit,
    metrale_nvml_read_default_power_limit,
    metrale_nvml_read_enforced_power_limit,
    metrale_nvml_read_power_constraints,
    metrale_nvml_read_power_management,
    metrale_nvml_read_power_source,
    metrale_nvml_read_margin,
    metrale_nvml_read_threshold,
    metrale_nvml_read_fan_count,
    metrale_nvml_read_fan_speed,
    metrale_nvml_read_fan_target,
    metrale_nvml_read_fan_rpm,
    metrale_nvml_read_fan_limits,
    metrale_nvml_read_bar1,
    metrale_nvml_read_ecc_mode,
    metrale_nvml_read_default_ecc_mode,
    metrale_nvml_read_ecc_errors,
    metrale_nvml_read_memory_errors,
    metrale_nvml_read_remapped_rows,
    metrale_nvml_read_remapper_histogram,
    metrale_nvml_read_repair_status,
    metrale_nvml_read_pcie_generation,
    metrale_nvml_read_pcie_max_generation,
    metrale_nvml_read_pcie_device_generation,
    metrale_nvml_read_pcie_width,
    metrale_nvml_read_pcie_max_width,
    metrale_nvml_read_pcie_speed,
    metrale_nvml_read_pcie_replays,
    metrale_nvml_read_link_state,
    metrale_nvml_read_link_version,
    metrale_nvml_read_link_errors,
    metrale_nvml_read_link_remote_type,
    metrale_nvml_read_mig_mode,
    metrale_nvml_read_is_mig,
    metrale_nvml_read_max_mig,
    metrale_nvml_read_gpu_instance,
    metrale_nvml_read_compute_instance,
    metrale_nvml_read_attributes,
    metrale_nvml_read_compute_capability,
    metrale_nvml_read_architecture,
    metrale_nvml_read_brand,
    metrale_nvml_read_cores,
    metrale_nvml_read_bus_width,
    metrale_nvml_read_minor,
    metrale_nvml_read_index,
    metrale_nvml_read_pci,
    metrale_nvml_read_module,
    metrale_nvml_read_numa_node,
    metrale_nvml_read_addressing_mode,
    metrale_nvml_read_c2c,
    metrale_nvml_read_persistence,
    metrale_nvml_read_compute_mode,
    metrale_nvml_read_display,
    metrale_nvml_read_gsp,
    metrale_nvml_read_supported_events,
    metrale_nvml_read_gpm_support,
    metrale_nvml_read_encoder_capacity,
    metrale_nvml_read_encoder_statistics,
};
static_assert(sizeof(metrale_nvml_readers) / sizeof(metrale_nvml_readers[0]) == METRALE_NVML_QUERIES,
              "one reader a query");
#endif
