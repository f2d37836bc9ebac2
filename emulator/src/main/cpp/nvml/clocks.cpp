#include "answers.hpp"

/* Clocks, performance state, and why the clocks are what they are. */

using metrale::telemetry::Device;
using metrale::telemetry::read_number;

namespace
{

constexpr const char *kDomains[] = {"graphics", "sm", "memory", "video"};

nvmlReturn_t clock_of(const Device &device, nvmlClockType_t type, const char *suffix,
                      unsigned int *megahertz)
{
    METRALE_ARGUMENT(static_cast<unsigned int>(type) < NVML_CLOCK_COUNT);
    return read_number(device, std::string("clock.") + kDomains[type] + suffix, megahertz);
}

nvmlReturn_t list_clocks(const Device &device, const char *key, unsigned int *count,
                         unsigned int *clocks)
{
    METRALE_ARGUMENT(count != nullptr);
    const auto reading = metrale::telemetry::read(device, key);
    if (reading.code != NVML_SUCCESS)
        return reading.code;
    const std::vector<std::string> values = metrale::telemetry::split(reading.text, ';');
    const unsigned int room = *count;
    *count = static_cast<unsigned int>(values.size());
    if (room < values.size())
        return NVML_ERROR_INSUFFICIENT_SIZE;
    METRALE_ARGUMENT(clocks != nullptr);
    for (std::size_t i = 0; i < values.size(); ++i)
        clocks[i] =
            static_cast<unsigned int>(metrale::telemetry::parse_unsigned(values[i]).value_or(0));
    return NVML_SUCCESS;
}

} // namespace

NVML_API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                             unsigned int *clock)
{
    METRALE_DEVICE(gpu, device);
    return clock_of(*gpu, type, "", clock);
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                                unsigned int *clock)
{
    METRALE_DEVICE(gpu, device);
    return clock_of(*gpu, type, ".max", clock);
}

NVML_API nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                                     unsigned int *clock)
{
    METRALE_DEVICE(gpu, device);
    return clock_of(*gpu, type, ".application", clock);
}

NVML_API nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device,
                                                            nvmlClockType_t type,
                                                            unsigned int *clock)
{
    METRALE_DEVICE(gpu, device);
    return clock_of(*gpu, type, ".application.default", clock);
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, nvmlClockType_t type,
                                                         unsigned int *clock)
{
    METRALE_DEVICE(gpu, device);
    return clock_of(*gpu, type, ".boost", clock);
}

NVML_API nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type,
                                         nvmlClockId_t id, unsigned int *clock)
{
    static constexpr const char *kSuffixes[] = {"", ".application", ".application.default",
                                                ".boost"};

    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(static_cast<unsigned int>(id) < NVML_CLOCK_ID_COUNT);
    return clock_of(*gpu, type, kSuffixes[id], clock);
}

NVML_API nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count,
                                                         unsigned int *clocks)
{
    METRALE_DEVICE(gpu, device);
    return list_clocks(*gpu, "clock.supported.memory", count, clocks);
}

NVML_API nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory,
                                                           unsigned int *count,
                                                           unsigned int *clocks)
{
    METRALE_DEVICE(gpu, device);
    const auto known = metrale::telemetry::read(*gpu, "clock.supported.memory");
    if (known.code != NVML_SUCCESS)
        return known.code;
    for (const std::string &text : metrale::telemetry::split(known.text, ';'))
        if (metrale::telemetry::parse_unsigned(text) == memory)
            return list_clocks(*gpu, "clock.supported.graphics", count, clocks);
    return NVML_ERROR_NOT_FOUND;
}

METRALE_ANSWER_NUMBER(nvmlDeviceGetPerformanceState, nvmlPstates_t, "pstate")
METRALE_ANSWER_NUMBER(nvmlDeviceGetPowerState, nvmlPstates_t, "pstate")
METRALE_ANSWER_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "reasons")
METRALE_ANSWER_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "reasons")
METRALE_ANSWER_NUMBER(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long,
                      "reasons.supported")
METRALE_ANSWER_NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long,
                      "reasons.supported")

NVML_API nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t policy,
                                                   nvmlViolationTime_t *time)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(time != nullptr && static_cast<unsigned int>(policy) < NVML_PERF_POLICY_COUNT);
    if (policy != NVML_PERF_POLICY_POWER && policy != NVML_PERF_POLICY_THERMAL)
        return NVML_ERROR_NOT_SUPPORTED;
    METRALE_TRY(read_number(
        *gpu, policy == NVML_PERF_POLICY_POWER ? "violation.power_ns" : "violation.thermal_ns",
        &time->violationTime));
    time->referenceTime = metrale::telemetry::microseconds_now();
    return NVML_SUCCESS;
}
