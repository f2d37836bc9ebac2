/* The bodies of metrale_nvml.h and the layouts that Java reads. Not for the parser. */
#ifndef METRALE_NVML_CALLS_H
#define METRALE_NVML_CALLS_H

#include "metrale_nvml_readers.h"

/* One query of a plan. */
struct metrale_nvml_step {
    int32_t query;
    int32_t argument;
};
static_assert(sizeof(struct metrale_nvml_step) == 8, "layout is part of the ABI");

/* What a query answered: an nvmlReturn_t, and the values if it is success. */
struct metrale_nvml_answer {
    int32_t code;
    int32_t unused;
    int64_t values[6];
};
static_assert(sizeof(struct metrale_nvml_answer) == 56, "layout is part of the ABI");

/* The fabric, whichever version answered. A number that a version lacks is -1. */
struct metrale_nvml_fabric {
    uint8_t cluster[16];
    int32_t status;
    int32_t state;
    int64_t clique;
    int64_t health_mask;
    int64_t health_summary;
    int32_t version;
    int32_t unused;
};
static_assert(sizeof(struct metrale_nvml_fabric) == 56, "layout is part of the ABI");

struct metrale_nvml_gpm_metric {
    uint32_t id;
    int32_t code;
    double value;
};
static_assert(sizeof(struct metrale_nvml_gpm_metric) == 16, "layout is part of the ABI");

/* NVML's own structures that Java reads in place. */
static_assert(sizeof(nvmlFieldValue_t) == 40 && offsetof(nvmlFieldValue_t, timestamp) == 8 &&
                  offsetof(nvmlFieldValue_t, valueType) == 24 &&
                  offsetof(nvmlFieldValue_t, nvmlReturn) == 28 &&
                  offsetof(nvmlFieldValue_t, value) == 32,
              "field values are read in place");
static_assert(sizeof(nvmlProcessInfo_v1_t) == 16 && sizeof(nvmlProcessInfo_v2_t) == 24 &&
                  offsetof(nvmlProcessInfo_v2_t, usedGpuMemory) == 8 &&
                  offsetof(nvmlProcessInfo_v2_t, gpuInstanceId) == 16 &&
                  offsetof(nvmlProcessInfo_v2_t, computeInstanceId) == 20,
              "processes are read in place");
static_assert(sizeof(nvmlEventData_t) == 32 && offsetof(nvmlEventData_t, eventType) == 8 &&
                  offsetof(nvmlEventData_t, eventData) == 16 &&
                  offsetof(nvmlEventData_t, gpuInstanceId) == 24 &&
                  offsetof(nvmlEventData_t, computeInstanceId) == 28,
              "events are read in place");

static inline int metrale_nvml_init(void)
{
    if (METRALE_NVML_HAS(nvmlInit_v2))
        return nvmlInit_v2();
    return METRALE_NVML_HAS(nvmlInit) ? nvmlInit() : NVML_ERROR_FUNCTION_NOT_FOUND;
}

static inline int metrale_nvml_shutdown(void)
{
    return METRALE_NVML_HAS(nvmlShutdown) ? nvmlShutdown() : NVML_ERROR_FUNCTION_NOT_FOUND;
}

static inline int metrale_nvml_count(int64_t out)
{
    unsigned int count = 0;
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (METRALE_NVML_HAS(nvmlDeviceGetCount_v2))
        code = nvmlDeviceGetCount_v2(&count);
    else if (METRALE_NVML_HAS(nvmlDeviceGetCount))
        code = nvmlDeviceGetCount(&count);
    *reinterpret_cast<int32_t *>(out) = static_cast<int32_t>(count);
    return code;
}

static inline int metrale_nvml_device(int key, int64_t number, int index, int64_t out)
{
    const char *text = reinterpret_cast<const char *>(number);
    nvmlDevice_t given = reinterpret_cast<nvmlDevice_t>(number);
    nvmlDevice_t found = nullptr;
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (key == METRALE_NVML_BY_INDEX && METRALE_NVML_HAS(nvmlDeviceGetHandleByIndex_v2))
        code = nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned int>(number), &found);
    else if (key == METRALE_NVML_BY_INDEX && METRALE_NVML_HAS(nvmlDeviceGetHandleByIndex))
        code = nvmlDeviceGetHandleByIndex(static_cast<unsigned int>(number), &found);
    else if (key == METRALE_NVML_BY_UUID && METRALE_NVML_HAS(nvmlDeviceGetHandleByUUID))
        code = nvmlDeviceGetHandleByUUID(text, &found);
    else if (key == METRALE_NVML_BY_PCI && METRALE_NVML_HAS(nvmlDeviceGetHandleByPciBusId_v2))
        code = nvmlDeviceGetHandleByPciBusId_v2(text, &found);
    else if (key == METRALE_NVML_BY_PCI && METRALE_NVML_HAS(nvmlDeviceGetHandleByPciBusId))
        code = nvmlDeviceGetHandleByPciBusId(text, &found);
    else if (key == METRALE_NVML_MIG && METRALE_NVML_HAS(nvmlDeviceGetMigDeviceHandleByIndex))
        code = nvmlDeviceGetMigDeviceHandleByIndex(given, static_cast<unsigned int>(index), &found);
    else if (key == METRALE_NVML_MIG_PARENT &&
             METRALE_NVML_HAS(nvmlDeviceGetDeviceHandleFromMigDeviceHandle))
        code = nvmlDeviceGetDeviceHandleFromMigDeviceHandle(given, &found);
    *reinterpret_cast<int64_t *>(out) = reinterpret_cast<int64_t>(found);
    return code;
}

static inline int metrale_nvml_query_one(int64_t device, int query, int argument, int64_t answer)
{
    struct metrale_nvml_answer *out = reinterpret_cast<struct metrale_nvml_answer *>(answer);

    out->code =
        metrale_nvml_readers[query](reinterpret_cast<nvmlDevice_t>(device), argument, out->values);
    return out->code;
}

static inline int metrale_nvml_sample(int64_t device, int64_t plan, int count, int64_t answers)
{
    const struct metrale_nvml_step *step = reinterpret_cast<const struct metrale_nvml_step *>(plan);
    struct metrale_nvml_answer *answer = reinterpret_cast<struct metrale_nvml_answer *>(answers);
    int values = 0;

    for (int i = 0; i < count; i++, step++, answer++) {
        answer->code = metrale_nvml_readers[step->query](reinterpret_cast<nvmlDevice_t>(device),
                                                         step->argument, answer->values);
        values += answer->code == NVML_SUCCESS ? 1 : 0;
    }
    return values;
}

static inline int metrale_nvml_error_text(int code, char *out, unsigned int length)
{
    if (!METRALE_NVML_HAS(nvmlErrorString))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    const char *text = nvmlErrorString(static_cast<nvmlReturn_t>(code));
    if (text == nullptr)
        return NVML_ERROR_NOT_FOUND;
    strncpy(out, text, length - 1);
    out[length - 1] = '\0';
    return NVML_SUCCESS;
}

#define METRALE_NVML_TEXT_OF(function)                                                             \
    METRALE_NVML_HAS(function) ? function(handle, text, room) : NVML_ERROR_FUNCTION_NOT_FOUND

static inline int metrale_nvml_device_text(nvmlDevice_t handle, int query, char *text,
                                           unsigned int room)
{
    nvmlPciInfo_t pci;
    int code;

    switch (query) {
    case METRALE_NVML_TEXT_NAME:
        return METRALE_NVML_TEXT_OF(nvmlDeviceGetName);
    case METRALE_NVML_TEXT_UUID:
        return METRALE_NVML_TEXT_OF(nvmlDeviceGetUUID);
    case METRALE_NVML_TEXT_SERIAL:
        return METRALE_NVML_TEXT_OF(nvmlDeviceGetSerial);
    case METRALE_NVML_TEXT_VBIOS:
        return METRALE_NVML_TEXT_OF(nvmlDeviceGetVbiosVersion);
    case METRALE_NVML_TEXT_PART_NUMBER:
        return METRALE_NVML_TEXT_OF(nvmlDeviceGetBoardPartNumber);
    case METRALE_NVML_TEXT_INFOROM:
        return METRALE_NVML_TEXT_OF(nvmlDeviceGetInforomImageVersion);
    case METRALE_NVML_TEXT_GSP_FIRMWARE:
        return METRALE_NVML_HAS(nvmlDeviceGetGspFirmwareVersion)
                   ? nvmlDeviceGetGspFirmwareVersion(handle, text)
                   : NVML_ERROR_FUNCTION_NOT_FOUND;
    case METRALE_NVML_TEXT_PCI:
        code = metrale_nvml_pci(handle, &pci);
        memcpy(text, pci.busId, sizeof(pci.busId));
        text[sizeof(pci.busId) - 1] = '\0';
        return code;
    default:
        return NVML_ERROR_INVALID_ARGUMENT;
    }
}

static inline int metrale_nvml_text(int64_t device, int query, int argument, int64_t out,
                                    int length)
{
    char *text = reinterpret_cast<char *>(out);
    const unsigned int room = static_cast<unsigned int>(length);

    text[0] = '\0';
    switch (query) {
    case METRALE_NVML_TEXT_DRIVER:
        return METRALE_NVML_HAS(nvmlSystemGetDriverVersion) ? nvmlSystemGetDriverVersion(text, room)
                                                            : NVML_ERROR_FUNCTION_NOT_FOUND;
    case METRALE_NVML_TEXT_NVML:
        return METRALE_NVML_HAS(nvmlSystemGetNVMLVersion) ? nvmlSystemGetNVMLVersion(text, room)
                                                          : NVML_ERROR_FUNCTION_NOT_FOUND;
    case METRALE_NVML_TEXT_PROCESS:
        return METRALE_NVML_HAS(nvmlSystemGetProcessName)
                   ? nvmlSystemGetProcessName(static_cast<unsigned int>(argument), text, room)
                   : NVML_ERROR_FUNCTION_NOT_FOUND;
    case METRALE_NVML_TEXT_ERROR:
        return metrale_nvml_error_text(argument, text, room);
    default:
        return metrale_nvml_device_text(reinterpret_cast<nvmlDevice_t>(device), query, text, room);
    }
}

static inline int metrale_nvml_fields(int64_t device, int64_t fields, int count)
{
    if (!METRALE_NVML_HAS(nvmlDeviceGetFieldValues))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    return nvmlDeviceGetFieldValues(reinterpret_cast<nvmlDevice_t>(device), count,
                                    reinterpret_cast<nvmlFieldValue_t *>(fields));
}

/*
 * From the last to the first, because the older structure is the shorter one. No more than there is
 * room for, whatever number the library gives.
 */
static inline void metrale_nvml_widen_processes(void *list, unsigned int count,
                                                unsigned int capacity)
{
    nvmlProcessInfo_v1_t *from = static_cast<nvmlProcessInfo_v1_t *>(list);
    nvmlProcessInfo_v2_t *to = static_cast<nvmlProcessInfo_v2_t *>(list);

    for (unsigned int i = count < capacity ? count : capacity; i-- > 0;) {
        const nvmlProcessInfo_v1_t process = from[i];
        to[i].pid = process.pid;
        to[i].usedGpuMemory = process.usedGpuMemory;
        to[i].gpuInstanceId = 0xFFFFFFFFU;
        to[i].computeInstanceId = 0xFFFFFFFFU;
    }
}

#define METRALE_NVML_PROCESSES(function)                                                           \
    do {                                                                                           \
        if (METRALE_NVML_HAS(function##_v3)) {                                                     \
            code = function##_v3(handle, &found, static_cast<nvmlProcessInfo_t *>(list));          \
        } else if (METRALE_NVML_HAS(function##_v2)) {                                              \
            code = function##_v2(handle, &found, static_cast<nvmlProcessInfo_v2_t *>(list));       \
        } else if (METRALE_NVML_HAS(function)) {                                                   \
            code = function(handle, &found, static_cast<nvmlProcessInfo_v1_t *>(list));            \
            if (code == NVML_SUCCESS)                                                              \
                metrale_nvml_widen_processes(list, found, static_cast<unsigned int>(capacity));    \
        }                                                                                          \
    } while (false)

static inline int metrale_nvml_processes(int64_t device, int kind, int64_t out, int capacity,
                                         int64_t count)
{
    nvmlDevice_t handle = reinterpret_cast<nvmlDevice_t>(device);
    void *list = reinterpret_cast<void *>(out);
    unsigned int found = static_cast<unsigned int>(capacity);
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (kind == 0)
        METRALE_NVML_PROCESSES(nvmlDeviceGetComputeRunningProcesses);
    else if (kind == 1)
        METRALE_NVML_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses);
    else
        METRALE_NVML_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses);
    *reinterpret_cast<int32_t *>(count) = static_cast<int32_t>(found);
    return code;
}

static inline int metrale_nvml_clocks(int64_t device, int memory_megahertz, int64_t out,
                                      int capacity, int64_t count)
{
    nvmlDevice_t handle = reinterpret_cast<nvmlDevice_t>(device);
    unsigned int *clocks = reinterpret_cast<unsigned int *>(out);
    unsigned int found = static_cast<unsigned int>(capacity);
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (memory_megahertz < 0 && METRALE_NVML_HAS(nvmlDeviceGetSupportedMemoryClocks))
        code = nvmlDeviceGetSupportedMemoryClocks(handle, &found, clocks);
    else if (memory_megahertz >= 0 && METRALE_NVML_HAS(nvmlDeviceGetSupportedGraphicsClocks))
        code = nvmlDeviceGetSupportedGraphicsClocks(
            handle, static_cast<unsigned int>(memory_megahertz), &found, clocks);
    *reinterpret_cast<int32_t *>(count) = static_cast<int32_t>(found);
    return code;
}

/* What all versions have under the same names. */
template <class Info>
static inline int metrale_nvml_take_fabric(int code, const Info &info, int version,
                                           struct metrale_nvml_fabric *out)
{
    static_assert(sizeof(info.clusterUuid) == sizeof(out->cluster), "16 bytes");
    memcpy(out->cluster, info.clusterUuid, sizeof(out->cluster));
    out->status = info.status;
    out->state = info.state;
    out->version = version;
    return code;
}

/* The second and third structure, which share a function and are told apart by their version word.
 */
static inline int metrale_nvml_fabric_v(nvmlDevice_t device, struct metrale_nvml_fabric *out)
{
    nvmlGpuFabricInfo_v3_t third;
    nvmlGpuFabricInfo_v2_t second;

    memset(&third, 0, sizeof(third));
    third.version = nvmlGpuFabricInfo_v3;
    int code =
        nvmlDeviceGetGpuFabricInfoV(device, reinterpret_cast<nvmlGpuFabricInfoV_t *>(&third));
    if (code != NVML_ERROR_ARGUMENT_VERSION_MISMATCH) {
        out->clique = third.cliqueId;
        out->health_mask = third.healthMask;
        out->health_summary = third.healthSummary;
        return metrale_nvml_take_fabric(code, third, 3, out);
    }
    memset(&second, 0, sizeof(second));
    second.version = nvmlGpuFabricInfo_v2;
    code = nvmlDeviceGetGpuFabricInfoV(device, reinterpret_cast<nvmlGpuFabricInfoV_t *>(&second));
    out->clique = second.cliqueId;
    out->health_mask = second.healthMask;
    return metrale_nvml_take_fabric(code, second, 2, out);
}

static inline int metrale_nvml_fabric_info(int64_t device, int64_t out)
{
    nvmlDevice_t handle = reinterpret_cast<nvmlDevice_t>(device);
    struct metrale_nvml_fabric *fabric = reinterpret_cast<struct metrale_nvml_fabric *>(out);

    memset(fabric, 0, sizeof(*fabric));
    fabric->clique = -1;
    fabric->health_mask = -1;
    fabric->health_summary = -1;
    if (METRALE_NVML_HAS(nvmlDeviceGetGpuFabricInfo_v4)) {
        nvmlGpuFabricInfo_v4_t info;
        memset(&info, 0, sizeof(info));
        const int code = nvmlDeviceGetGpuFabricInfo_v4(handle, &info);
        fabric->clique = info.numCliques > 0 ? info.cliques[0].id : -1;
        fabric->health_mask = info.healthMask;
        fabric->health_summary = info.healthSummary;
        return metrale_nvml_take_fabric(code, info, 4, fabric);
    }
    if (METRALE_NVML_HAS(nvmlDeviceGetGpuFabricInfoV))
        return metrale_nvml_fabric_v(handle, fabric);
    if (METRALE_NVML_HAS(nvmlDeviceGetGpuFabricInfo)) {
        nvmlGpuFabricInfo_t info;
        memset(&info, 0, sizeof(info));
        const int code = nvmlDeviceGetGpuFabricInfo(handle, &info);
        fabric->clique = metrale_nvml_clique(info, 0);
        return metrale_nvml_take_fabric(code, info, 1, fabric);
    }
    return NVML_ERROR_FUNCTION_NOT_FOUND;
}

#include "metrale_nvml_monitor.h"
#endif
