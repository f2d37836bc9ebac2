#include "answers.hpp"

/* How busy the engines are. */

using metrale::telemetry::Device;
using metrale::telemetry::read_number;

namespace
{

nvmlReturn_t engine(const Device &device, const std::string &name, unsigned int *percent,
                    unsigned int *period_us)
{
    METRALE_ARGUMENT(percent != nullptr && period_us != nullptr);
    METRALE_TRY(read_number(device, name, percent));
    return read_number(device, name + ".period_us", period_us);
}

} // namespace

NVML_API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
                                                    nvmlUtilization_t *utilization)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(utilization != nullptr);
    METRALE_TRY(read_number(*gpu, "utilization.gpu", &utilization->gpu));
    return read_number(*gpu, "utilization.memory", &utilization->memory);
}

NVML_API nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int *percent,
                                                      unsigned int *period_us)
{
    METRALE_DEVICE(gpu, device);
    return engine(*gpu, "encoder", percent, period_us);
}

NVML_API nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int *percent,
                                                      unsigned int *period_us)
{
    METRALE_DEVICE(gpu, device);
    return engine(*gpu, "decoder", percent, period_us);
}

NVML_API nvmlReturn_t nvmlDeviceGetJpgUtilization(nvmlDevice_t device, unsigned int *percent,
                                                  unsigned int *period_us)
{
    METRALE_DEVICE(gpu, device);
    return engine(*gpu, "jpg", percent, period_us);
}

NVML_API nvmlReturn_t nvmlDeviceGetOfaUtilization(nvmlDevice_t device, unsigned int *percent,
                                                  unsigned int *period_us)
{
    METRALE_DEVICE(gpu, device);
    return engine(*gpu, "ofa", percent, period_us);
}

NVML_API nvmlReturn_t nvmlDeviceGetEncoderCapacity(nvmlDevice_t device, nvmlEncoderType_t type,
                                                   unsigned int *capacity)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(static_cast<unsigned int>(type) <= NVML_ENCODER_QUERY_AV1);
    return read_number(*gpu, "encoder.capacity", capacity);
}

NVML_API nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned int *sessions,
                                                unsigned int *fps, unsigned int *latency)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(sessions != nullptr && fps != nullptr && latency != nullptr);
    METRALE_TRY(read_number(*gpu, "encoder.sessions", sessions));
    *fps = 0;
    *latency = 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned int *count,
                                                   nvmlEncoderSessionInfo_t *)
{
    METRALE_KNOWN_DEVICE(device);
    METRALE_ARGUMENT(count != nullptr);
    *count = 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetDynamicPstatesInfo(nvmlDevice_t device,
                                                      nvmlGpuDynamicPstatesInfo_t *info)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(info != nullptr);
    nvmlGpuDynamicPstatesInfo_t answer = {};
    METRALE_TRY(read_number(*gpu, "utilization.gpu", &answer.utilization[0].percentage));
    METRALE_TRY(read_number(*gpu, "utilization.memory", &answer.utilization[1].percentage));
    answer.utilization[0].bIsPresent = 1;
    answer.utilization[1].bIsPresent = 1;
    answer.flags = 1;
    *info = answer;
    return NVML_SUCCESS;
}
