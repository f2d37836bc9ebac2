/*
 * Readers of queries that NVML answers by a structure, by a call that has several versions, or by
 * more than one call. Not for the parser.
 */
#ifndef METRALE_NVML_STRUCTURES_H
#define METRALE_NVML_STRUCTURES_H

#include "metrale_nvml_numbers.h"

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
#endif
