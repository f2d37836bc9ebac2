#include "answers.hpp"
#include "nvlink.hpp"

#include <chrono>

/* Field values, under the numbers of the driver that the machine claims. */

namespace metrale::telemetry
{
namespace
{

constexpr unsigned int kAllLinks = 0xFFFFFFFFU;

struct Field {
    unsigned int id; /* by the newest numbering */
    const char *key;
    nvmlValueType_t type;
};

constexpr nvmlValueType_t kU32 = NVML_VALUE_TYPE_UNSIGNED_INT;
constexpr nvmlValueType_t kU64 = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
constexpr nvmlValueType_t kI32 = NVML_VALUE_TYPE_SIGNED_INT;

/* What is one reading of the whole device. */
constexpr Field kFields[] = {
    {NVML_FI_DEV_ECC_CURRENT, "ecc.current", kU32},
    {NVML_FI_DEV_ECC_PENDING, "ecc.pending", kU32},
    {NVML_FI_DEV_ECC_SBE_VOL_TOTAL, "ecc.volatile.corrected", kU64},
    {NVML_FI_DEV_ECC_DBE_VOL_TOTAL, "ecc.volatile.uncorrected", kU64},
    {NVML_FI_DEV_ECC_SBE_AGG_TOTAL, "ecc.aggregate.corrected", kU64},
    {NVML_FI_DEV_ECC_DBE_AGG_TOTAL, "ecc.aggregate.uncorrected", kU64},
    {NVML_FI_DEV_RETIRED_SBE, "retired.sbe", kU64},
    {NVML_FI_DEV_RETIRED_DBE, "retired.dbe", kU64},
    {NVML_FI_DEV_RETIRED_PENDING, "retired.pending", kU32},
    {NVML_FI_DEV_PERF_POLICY_POWER, "violation.power_ns", kU64},
    {NVML_FI_DEV_PERF_POLICY_THERMAL, "violation.thermal_ns", kU64},
    {NVML_FI_DEV_MEMORY_TEMP, "temperature.memory", kU32},
    {NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, "nvlink.speed", kU32},
    {NVML_FI_DEV_NVLINK_LINK_COUNT, "nvlink.count", kU32},
    {NVML_FI_DEV_PCIE_REPLAY_COUNTER, "pcie.replays", kU64},
    {NVML_FI_DEV_REMAPPED_COR, "remapped.corrected", kU32},
    {NVML_FI_DEV_REMAPPED_UNC, "remapped.uncorrected", kU32},
    {NVML_FI_DEV_REMAPPED_PENDING, "remapped.pending", kU32},
    {NVML_FI_DEV_REMAPPED_FAILURE, "remapped.failure", kU32},
    {NVML_FI_DEV_C2C_LINK_COUNT, "c2c.count", kU32},
    {NVML_FI_DEV_C2C_LINK_GET_STATUS, "c2c", kU32},
    {NVML_FI_DEV_C2C_LINK_GET_MAX_BW, "c2c.bandwidth", kU32},
    {NVML_FI_DEV_POWER_AVERAGE, "power.average", kU32},
    {NVML_FI_DEV_POWER_INSTANT, "power", kU32},
    {NVML_FI_DEV_POWER_MIN_LIMIT, "power.limit.min", kU32},
    {NVML_FI_DEV_POWER_MAX_LIMIT, "power.limit.max", kU32},
    {NVML_FI_DEV_POWER_DEFAULT_LIMIT, "power.limit.default", kU32},
    {NVML_FI_DEV_POWER_CURRENT_LIMIT, "power.limit.enforced", kU32},
    {NVML_FI_DEV_POWER_REQUESTED_LIMIT, "power.limit", kU32},
    {NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT, "tlimit.shutdown", kI32},
    {NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT, "tlimit.slowdown", kI32},
    {NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT, "tlimit.memory_max", kI32},
    {NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT, "tlimit.gpu_max", kI32},
    {NVML_FI_DEV_PCIE_COUNT_TX_BYTES, "pcie.tx_bytes", kU64},
    {NVML_FI_DEV_PCIE_COUNT_RX_BYTES, "pcie.rx_bytes", kU64},
    {NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, "recovery_action", kU32},
    {NVML_FI_PWR_SMOOTHING_ENABLED, "smoothing.enabled", kU32},
    {NVML_FI_PWR_SMOOTHING_PRIV_LVL, "smoothing.privilege", kU32},
    {NVML_FI_PWR_SMOOTHING_IMM_RAMP_DOWN_ENABLED, "smoothing.ramp_down", kU32},
    {NVML_FI_PWR_SMOOTHING_APPLIED_TMP_CEIL, "smoothing.ceiling", kU32},
    {NVML_FI_PWR_SMOOTHING_APPLIED_TMP_FLOOR, "smoothing.floor", kU32},
    {NVML_FI_PWR_SMOOTHING_MAX_NUM_PRESET_PROFILES, "smoothing.profiles", kU32},
    {NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, "event_ns.sw_thermal", kU64},
    {NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, "event_ns.hw_thermal", kU64},
    {NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, "event_ns.hw_power_brake", kU64},
    {NVML_FI_DEV_POWER_SYNC_BALANCING_FREQ, "sync_balancing.frequency", kU32},
    {NVML_FI_DEV_POWER_SYNC_BALANCING_AF, "sync_balancing.factor", kU32},
    {NVML_FI_DEV_GPU_TEMP, "temperature", kU32},
};

/* What is asked of one link by its scope, or of all of them. */
constexpr Field kLinkFields[] = {
    {NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, "tx_kib", kU64},
    {NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, "rx_kib", kU64},
    {NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX, "tx_kib", kU64},
    {NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX, "rx_kib", kU64},
    {NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, "replay", kU64},
    {NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY, "recovery", kU64},
    {NVML_FI_DEV_NVLINK_ERROR_DL_CRC, "crc_flit", kU64},
    {NVML_FI_DEV_NVLINK_GET_SPEED, "speed", kU32},
    {NVML_FI_DEV_NVLINK_GET_STATE, "state", kU32},
    {NVML_FI_DEV_NVLINK_GET_VERSION, "version", kU32},
    {NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES, "xmit_bytes", kU64},
    {NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES, "rcv_bytes", kU64},
};

/* Runs of ids that name the link themselves. */
struct LinkRun {
    unsigned int first;
    unsigned int first_link;
    unsigned int links;
    const char *what;
    nvmlValueType_t type;
};

constexpr LinkRun kLinkRuns[] = {
    {NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0, 0, 6, "crc_flit", kU64},
    {NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L6, 6, 6, "crc_flit", kU64},
    {NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L0, 0, 6, "crc_data", kU64},
    {NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L6, 6, 6, "crc_data", kU64},
    {NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L0, 0, 6, "replay", kU64},
    {NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L6, 6, 6, "replay", kU64},
    {NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L0, 0, 6, "recovery", kU64},
    {NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L6, 6, 6, "recovery", kU64},
    {NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L0, 0, 12, "ecc", kU64},
    {NVML_FI_DEV_NVLINK_SPEED_MBPS_L0, 0, 6, "speed", kU32},
    {NVML_FI_DEV_NVLINK_SPEED_MBPS_L6, 6, 6, "speed", kU32},
};

constexpr Field kLinkTotals[] = {
    {NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, "crc_flit", kU64},
    {NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, "crc_data", kU64},
    {NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, "replay", kU64},
    {NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, "recovery", kU64},
    {NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL, "ecc", kU64},
};

/* Before 580.82 the clock reasons came first and the power smoothing after them. */
unsigned int newest_number(const Driver &driver, unsigned int id)
{
    if (!driver.old_field_numbers || id < 251 || id > 273)
        return id;
    return id <= 255 ? id + 18 : id - 5;
}

nvmlReturn_t sum_of_links(const Device &device, const char *what, unsigned long long *sum)
{
    unsigned int links = 0;
    METRALE_TRY(read_number(device, "nvlink.count", &links));
    unsigned long long total = 0;
    for (unsigned int link = 0; link < links; ++link) {
        unsigned long long value = 0;
        METRALE_TRY(read_link(device, link, what, &value));
        total += value;
    }
    *sum = total;
    return NVML_SUCCESS;
}

void put(nvmlFieldValue_t &field, nvmlValueType_t type, unsigned long long value)
{
    field.value = {};
    field.valueType = type;
    if (type == kU64)
        field.value.ullVal = value;
    else
        field.value.uiVal = static_cast<unsigned int>(value);
}

nvmlReturn_t answer_signed(const Device &device, const Field &known, nvmlFieldValue_t &field)
{
    int value = 0;
    METRALE_TRY(read_number(device, known.key, &value));
    field.value = {};
    field.valueType = kI32;
    field.value.siVal = value;
    return NVML_SUCCESS;
}

nvmlReturn_t answer_link(const Device &device, unsigned int id, nvmlFieldValue_t &field)
{
    unsigned long long value = 0;
    for (const Field &known : kLinkFields) {
        if (known.id != id)
            continue;
        METRALE_TRY(field.scopeId == kAllLinks
                        ? sum_of_links(device, known.key, &value)
                        : read_link(device, field.scopeId, known.key, &value));
        put(field, known.type, value);
        return NVML_SUCCESS;
    }
    for (const Field &known : kLinkTotals) {
        if (known.id != id)
            continue;
        METRALE_TRY(sum_of_links(device, known.key, &value));
        put(field, known.type, value);
        return NVML_SUCCESS;
    }
    for (const LinkRun &run : kLinkRuns) {
        if (id < run.first || id >= run.first + run.links)
            continue;
        METRALE_TRY(read_link(device, run.first_link + id - run.first, run.what, &value));
        put(field, run.type, value);
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t answer_field(const Device &device, const Driver &driver, nvmlFieldValue_t &field)
{
    if (field.fieldId == 0 || field.fieldId >= driver.field_count)
        return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned int id = newest_number(driver, field.fieldId);
    unsigned long long value = 0;
    if (id == NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION || id == NVML_FI_DEV_ENERGY) {
        METRALE_TRY(total_energy(device, &value));
        put(field, kU64, value);
        return NVML_SUCCESS;
    }
    for (const Field &known : kFields) {
        if (known.id != id)
            continue;
        if (known.type == kI32)
            return answer_signed(device, known, field);
        METRALE_TRY(read_number(device, known.key, &value));
        put(field, known.type, value);
        return NVML_SUCCESS;
    }
    /* Whatever has no model can still be given by its number in the newest header. */
    const std::string own = "field." + std::to_string(id);
    if (setting(device.prefix + '.' + own) || setting("nvml.gpu." + own)) {
        METRALE_TRY(read_number(device, own, &value));
        put(field, kU64, value);
        return NVML_SUCCESS;
    }
    return answer_link(device, id, field);
}

} // namespace
} // namespace metrale::telemetry

NVML_API nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count,
                                               nvmlFieldValue_t *values)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(count > 0 && values != nullptr);
    const metrale::telemetry::Driver &driver = metrale::telemetry::current_driver();
    for (int i = 0; i < count; ++i) {
        const auto start = std::chrono::steady_clock::now();
        values[i].nvmlReturn = metrale::telemetry::answer_field(*gpu, driver, values[i]);
        values[i].timestamp = static_cast<long long>(metrale::telemetry::microseconds_now());
        values[i].latencyUsec = std::chrono::duration_cast<std::chrono::microseconds>(
                                    std::chrono::steady_clock::now() - start)
                                    .count();
    }
    return NVML_SUCCESS;
}
