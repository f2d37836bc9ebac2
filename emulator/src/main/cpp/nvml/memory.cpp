#include "answers.hpp"

#include <cstdio>

/* Memory, ECC, retired pages and remapped rows. */

using metrale::telemetry::Device;
using metrale::telemetry::has_version;
using metrale::telemetry::read_number;

namespace
{

struct Amounts {
    unsigned long long total = 0;
    unsigned long long reserved = 0;
    unsigned long long used = 0;

    unsigned long long free_bytes() const
    {
        return total > reserved + used ? total - reserved - used : 0;
    }
};

nvmlReturn_t amounts(const Device &device, Amounts *out)
{
    METRALE_TRY(read_number(device, "memory.total", &out->total));
    METRALE_TRY(read_number(device, "memory.reserved", &out->reserved));
    return read_number(device, "memory.used", &out->used);
}

const char *type_name(nvmlMemoryErrorType_t type)
{
    return type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? "corrected" : "uncorrected";
}

nvmlReturn_t ecc_count(const Device &device, nvmlMemoryErrorType_t type,
                       nvmlEccCounterType_t counter, const char *place, unsigned long long *count)
{
    METRALE_ARGUMENT(count != nullptr);
    METRALE_ARGUMENT(static_cast<unsigned int>(type) < NVML_MEMORY_ERROR_TYPE_COUNT);
    METRALE_ARGUMENT(static_cast<unsigned int>(counter) < NVML_ECC_COUNTER_TYPE_COUNT);
    const std::string key = std::string("ecc.") +
                            (counter == NVML_VOLATILE_ECC ? "volatile." : "aggregate.") +
                            type_name(type);
    if (*place == '\0')
        return read_number(device, key, count);
    unsigned long long total = 0;
    METRALE_TRY(read_number(device, key, &total));
    /* Unless said otherwise all errors were in the DRAM. */
    const nvmlReturn_t own = read_number(device, key + '.' + place, count);
    if (own == NVML_ERROR_NOT_SUPPORTED) {
        *count = std::string_view(place) == "dram" ? total : 0;
        return NVML_SUCCESS;
    }
    return own;
}

constexpr const char *kPlaces[] = {"l1",      "l2",     "dram", "register",
                                   "texture", "shared", "cbu",  "sram"};

} // namespace

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(memory != nullptr);
    Amounts now;
    METRALE_TRY(amounts(*gpu, &now));
    memory->total = now.total;
    memory->free = now.free_bytes();
    memory->used = now.total - memory->free; /* the reserved part counts as used */
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(memory != nullptr);
    if (!has_version(memory, 2))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    Amounts now;
    METRALE_TRY(amounts(*gpu, &now));
    memory->total = now.total;
    memory->reserved = now.reserved;
    memory->free = now.free_bytes();
    memory->used = now.used;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(memory != nullptr);
    unsigned long long total = 0;
    unsigned long long used = 0;
    METRALE_TRY(read_number(gpu->whole(), "bar1.total", &total));
    METRALE_TRY(read_number(gpu->whole(), "bar1.used", &used));
    memory->bar1Total = total;
    memory->bar1Used = used;
    memory->bar1Free = total > used ? total - used : 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current,
                                           nvmlEnableState_t *pending)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(current != nullptr && pending != nullptr);
    METRALE_TRY(read_number(*gpu, "ecc.current", current));
    return read_number(*gpu, "ecc.pending", pending);
}

METRALE_ANSWER_NUMBER(nvmlDeviceGetDefaultEccMode, nvmlEnableState_t, "ecc.default")

NVML_API nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                                  nvmlEccCounterType_t counter,
                                                  unsigned long long *count)
{
    METRALE_DEVICE(gpu, device);
    return ecc_count(*gpu, type, counter, "", count);
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device,
                                                      nvmlMemoryErrorType_t type,
                                                      nvmlEccCounterType_t counter,
                                                      nvmlMemoryLocation_t location,
                                                      unsigned long long *count)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(static_cast<unsigned int>(location) < NVML_MEMORY_LOCATION_COUNT);
    return ecc_count(*gpu, type, counter, kPlaces[location], count);
}

NVML_API nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device,
                                                     nvmlMemoryErrorType_t type,
                                                     nvmlEccCounterType_t counter,
                                                     nvmlEccErrorCounts_t *counts)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(counts != nullptr);
    METRALE_TRY(ecc_count(*gpu, type, counter, "l1", &counts->l1Cache));
    METRALE_TRY(ecc_count(*gpu, type, counter, "l2", &counts->l2Cache));
    METRALE_TRY(ecc_count(*gpu, type, counter, "dram", &counts->deviceMemory));
    return ecc_count(*gpu, type, counter, "register", &counts->registerFile);
}

NVML_API nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device,
                                                      nvmlEccSramErrorStatus_t *status)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(status != nullptr);
    if (!has_version(status, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlEccSramErrorStatus_t answer = {};
    answer.version = status->version;
    METRALE_TRY(ecc_count(*gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, "sram",
                          &answer.aggregateUncSecDed));
    METRALE_TRY(ecc_count(*gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, "sram",
                          &answer.aggregateCor));
    METRALE_TRY(ecc_count(*gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, "sram",
                          &answer.volatileUncSecDed));
    METRALE_TRY(ecc_count(*gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, "sram",
                          &answer.volatileCor));
    *status = answer;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected,
                                                unsigned int *uncorrected, unsigned int *pending,
                                                unsigned int *failure)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(corrected != nullptr && uncorrected != nullptr && pending != nullptr &&
                     failure != nullptr);
    METRALE_TRY(read_number(*gpu, "remapped.corrected", corrected));
    METRALE_TRY(read_number(*gpu, "remapped.uncorrected", uncorrected));
    METRALE_TRY(read_number(*gpu, "remapped.pending", pending));
    return read_number(*gpu, "remapped.failure", failure);
}

NVML_API nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device,
                                                        nvmlRowRemapperHistogramValues_t *values)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(values != nullptr);
    const auto reading = metrale::telemetry::read(*gpu, "row_remapper");
    if (reading.code != NVML_SUCCESS)
        return reading.code;
    if (std::sscanf(reading.text.c_str(), "%u;%u;%u;%u;%u", &values->max, &values->high,
                    &values->partial, &values->low, &values->none) != 5)
        return NVML_ERROR_UNKNOWN;
    return NVML_SUCCESS;
}
