/*
 * Readers of queries that NVML answers by one number or two, made by macros: each asks whether the
 * library has the function, calls it, widens what it wrote. Not for the parser.
 */
#ifndef METRALE_NVML_NUMBERS_H
#define METRALE_NVML_NUMBERS_H

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
#endif
