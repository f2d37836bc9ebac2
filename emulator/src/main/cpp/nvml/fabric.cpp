#include "answers.hpp"

/* The NVLink fabric: state, clique and health. */

using metrale::telemetry::Device;
using metrale::telemetry::read_number;

namespace
{

/* The fields that every version has, by their common names. */
template <typename T> nvmlReturn_t fill_common(const Device &gpu, T *info)
{
    const auto cluster = metrale::telemetry::read(gpu, "fabric.cluster");
    if (cluster.code != NVML_SUCCESS)
        return cluster.code;
    unsigned int status = 0;
    unsigned int state = 0;
    METRALE_TRY(read_number(gpu, "fabric.status", &status));
    METRALE_TRY(read_number(gpu, "fabric.state", &state));
    info->status = static_cast<nvmlReturn_t>(status);
    info->state = static_cast<nvmlGpuFabricState_t>(state);
    std::string digits;
    for (const char letter : cluster.text)
        if (letter != '-')
            digits += letter;
    for (std::size_t i = 0; i < sizeof(info->clusterUuid); ++i) {
        const std::string pair = 2 * i + 1 < digits.size() ? digits.substr(2 * i, 2) : "0";
        info->clusterUuid[i] =
            static_cast<unsigned char>(metrale::telemetry::parse_unsigned("0x" + pair).value_or(0));
    }
    return NVML_SUCCESS;
}

template <typename T> nvmlReturn_t fill_v2(const Device &gpu, T *info)
{
    METRALE_TRY(fill_common(gpu, info));
    METRALE_TRY(read_number(gpu, "fabric.clique", &info->cliqueId));
    return read_number(gpu, "fabric.health_mask", &info->healthMask);
}

} // namespace

NVML_API nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(info != nullptr);
    nvmlGpuFabricInfo_t answer = {};
    METRALE_TRY(fill_common(gpu->whole(), &answer));
    METRALE_TRY(read_number(gpu->whole(), "fabric.clique", &answer.cliqueId));
    *info = answer;
    return NVML_SUCCESS;
}

/* The version word says which struct it is. Version 3 came with the 570 branch. */
NVML_API nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(info != nullptr);
    const unsigned int word = info->version;
    if (word == metrale::telemetry::version_word<nvmlGpuFabricInfo_v2_t>(2)) {
        nvmlGpuFabricInfo_v2_t answer = {};
        METRALE_TRY(fill_v2(gpu->whole(), &answer));
        answer.version = word;
        std::memcpy(static_cast<void *>(info), &answer, sizeof(answer));
        return NVML_SUCCESS;
    }
    if (word != metrale::telemetry::version_word<nvmlGpuFabricInfo_v3_t>(3) ||
        metrale::telemetry::current_driver().major < 570)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlGpuFabricInfo_v3_t answer = {};
    METRALE_TRY(fill_v2(gpu->whole(), &answer));
    METRALE_TRY(read_number(gpu->whole(), "fabric.health_summary", &answer.healthSummary));
    answer.version = word;
    *info = answer;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuFabricInfo_v4(nvmlDevice_t device,
                                                    nvmlGpuFabricInfo_v4_t *info)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(info != nullptr);
    nvmlGpuFabricInfo_v4_t answer = {};
    METRALE_TRY(fill_common(gpu->whole(), &answer));
    METRALE_TRY(read_number(gpu->whole(), "fabric.clique", &answer.cliques[0].id));
    METRALE_TRY(read_number(gpu->whole(), "fabric.health_mask", &answer.healthMask));
    METRALE_TRY(read_number(gpu->whole(), "fabric.health_summary", &answer.healthSummary));
    answer.numCliques = 1;
    *info = answer;
    return NVML_SUCCESS;
}
