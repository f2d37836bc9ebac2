#include "answers.hpp"

/* Power, energy, temperature, fans. */

using metrale::telemetry::has_version;
using metrale::telemetry::read_number;

METRALE_ANSWER_NUMBER(nvmlDeviceGetPowerUsage, unsigned int, "power")
METRALE_ANSWER_NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned int, "power.limit")
METRALE_ANSWER_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, "power.limit.default")
METRALE_ANSWER_NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned int, "power.limit.enforced")
METRALE_ANSWER_NUMBER(nvmlDeviceGetPowerManagementMode, nvmlEnableState_t, "power.mode")
METRALE_ANSWER_NUMBER(nvmlDeviceGetPowerSource, nvmlPowerSource_t, "power.source")

NVML_API nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device,
                                                                   unsigned int *minimum,
                                                                   unsigned int *maximum)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(minimum != nullptr && maximum != nullptr);
    METRALE_TRY(read_number(*gpu, "power.limit.min", minimum));
    return read_number(*gpu, "power.limit.max", maximum);
}

NVML_API nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                          unsigned long long *energy)
{
    METRALE_DEVICE(gpu, device);
    return metrale::telemetry::total_energy(*gpu, energy);
}

NVML_API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                               unsigned int *celsius)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(static_cast<unsigned int>(sensor) < NVML_TEMPERATURE_COUNT);
    if (sensor != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_NOT_SUPPORTED;
    return read_number(*gpu, "temperature", celsius);
}

NVML_API nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(temperature != nullptr);
    if (!has_version(temperature, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    METRALE_ARGUMENT(static_cast<unsigned int>(temperature->sensorType) < NVML_TEMPERATURE_COUNT);
    if (temperature->sensorType != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_NOT_SUPPORTED;
    return read_number(*gpu, "temperature", &temperature->temperature);
}

NVML_API nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device,
                                                     nvmlMarginTemperature_t *margin)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(margin != nullptr);
    if (!has_version(margin, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return read_number(*gpu, "temperature.margin", &margin->marginTemperature);
}

NVML_API nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
                                                        nvmlTemperatureThresholds_t threshold,
                                                        unsigned int *celsius)
{
    static constexpr const char *kKeys[] = {
        "threshold.shutdown",         "threshold.slowdown",     "threshold.memory_max",
        "threshold.gpu_max",          "threshold.acoustic_min", "threshold.acoustic_current",
        "threshold.acoustic_maximum", "threshold.gps_current"};

    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(static_cast<unsigned int>(threshold) < NVML_TEMPERATURE_THRESHOLD_COUNT);
    return read_number(*gpu, kKeys[threshold], celsius);
}

NVML_API nvmlReturn_t nvmlDeviceGetThermalSettings(nvmlDevice_t device, unsigned int sensor,
                                                   nvmlGpuThermalSettings_t *settings)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(settings != nullptr && sensor <= 15);
    nvmlGpuThermalSettings_t answer = {};
    METRALE_TRY(read_number(*gpu, "temperature", &answer.sensor[0].currentTemp));
    answer.count = 1;
    answer.sensor[0].controller = NVML_THERMAL_CONTROLLER_GPU_INTERNAL;
    answer.sensor[0].defaultMaxTemp = 127;
    answer.sensor[0].target = NVML_THERMAL_TARGET_GPU;
    *settings = answer;
    return NVML_SUCCESS;
}

/* Fans: none in these servers. A setting brings one. */
METRALE_ANSWER_NUMBER(nvmlDeviceGetFanSpeed, unsigned int, "fan.0")

NVML_API nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned int *count)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(count != nullptr);
    const nvmlReturn_t code = read_number(*gpu, "fan.count", count);
    if (code != NVML_ERROR_NOT_SUPPORTED)
        return code;
    *count = 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int fan,
                                               unsigned int *percent)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(percent != nullptr);
    return read_number(*gpu, "fan." + std::to_string(fan), percent);
}

NVML_API nvmlReturn_t nvmlDeviceGetTargetFanSpeed(nvmlDevice_t device, unsigned int fan,
                                                  unsigned int *percent)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(percent != nullptr);
    return read_number(*gpu, "fan." + std::to_string(fan) + ".target", percent);
}

NVML_API nvmlReturn_t nvmlDeviceGetMinMaxFanSpeed(nvmlDevice_t device, unsigned int *minimum,
                                                  unsigned int *maximum)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(minimum != nullptr && maximum != nullptr);
    METRALE_TRY(read_number(*gpu, "fan.min", minimum));
    return read_number(*gpu, "fan.max", maximum);
}

NVML_API nvmlReturn_t nvmlDeviceGetFanSpeedRPM(nvmlDevice_t device, nvmlFanSpeedInfo_t *info)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(info != nullptr);
    if (!has_version(info, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return read_number(*gpu, "fan." + std::to_string(info->fan) + ".rpm", &info->speed);
}
