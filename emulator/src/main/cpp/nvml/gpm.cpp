#include "answers.hpp"

#include <map>
#include <mutex>

/*
 * GPU performance monitoring: a sample remembers the readings `gpm.<metric id>` at its time; a
 * metric is what the second of two samples has.
 */

struct nvmlGpmSample_st {
    const metrale::telemetry::Device *device = nullptr;
    std::map<unsigned int, double> values;
};

using metrale::telemetry::Device;
using metrale::telemetry::read_number;

namespace
{

struct MetricName {
    unsigned int id;
    const char *short_name;
    const char *long_name;
    const char *unit;
};

constexpr MetricName kNames[] = {
    {NVML_GPM_METRIC_GRAPHICS_UTIL, "GrUtil", "Graphics utilization", "%"},
    {NVML_GPM_METRIC_SM_UTIL, "SmUtil", "SM utilization", "%"},
    {NVML_GPM_METRIC_SM_OCCUPANCY, "SmOccup", "SM occupancy", "%"},
    {NVML_GPM_METRIC_INTEGER_UTIL, "IntUtil", "Integer utilization", "%"},
    {NVML_GPM_METRIC_ANY_TENSOR_UTIL, "AnyTensor", "Any tensor core utilization", "%"},
    {NVML_GPM_METRIC_DFMA_TENSOR_UTIL, "DfmaTensor", "DFMA tensor core utilization", "%"},
    {NVML_GPM_METRIC_HMMA_TENSOR_UTIL, "HmmaTensor", "HMMA tensor core utilization", "%"},
    {NVML_GPM_METRIC_IMMA_TENSOR_UTIL, "ImmaTensor", "IMMA tensor core utilization", "%"},
    {NVML_GPM_METRIC_DRAM_BW_UTIL, "DramBw", "DRAM bandwidth utilization", "%"},
    {NVML_GPM_METRIC_FP64_UTIL, "Fp64Util", "FP64 utilization", "%"},
    {NVML_GPM_METRIC_FP32_UTIL, "Fp32Util", "FP32 utilization", "%"},
    {NVML_GPM_METRIC_FP16_UTIL, "Fp16Util", "FP16 utilization", "%"},
    {NVML_GPM_METRIC_PCIE_TX_PER_SEC, "PcieTx", "PCIe sent", "MiB/s"},
    {NVML_GPM_METRIC_PCIE_RX_PER_SEC, "PcieRx", "PCIe received", "MiB/s"},
    {NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, "NvlRx", "NVLink received", "MiB/s"},
    {NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, "NvlTx", "NVLink sent", "MiB/s"},
};

/* Samples that are allocated: a pointer that is not here is refused. */
struct Samples {
    std::mutex mutex;
    std::map<nvmlGpmSample_t, std::unique_ptr<nvmlGpmSample_st>> live;
};

Samples &samples()
{
    static Samples *instance = new Samples;
    return *instance;
}

nvmlReturn_t take(const Device &device, nvmlGpmSample_t sample)
{
    unsigned int supported = 0;
    METRALE_TRY(read_number(device.whole(), "gpm", &supported));
    if (supported == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    std::map<unsigned int, double> values;
    for (unsigned int id = 1; id < NVML_GPM_METRIC_MAX; ++id) {
        const std::string key = "gpm." + std::to_string(id);
        double value = 0;
        const bool in_profile = device.whole().profile.contains(key);
        if (!in_profile && !metrale::telemetry::setting(device.whole().prefix + '.' + key))
            continue;
        const nvmlReturn_t code = read_number(device.whole(), key, &value);
        if (code == NVML_SUCCESS)
            values[id] = value;
        else if (code != NVML_ERROR_NOT_SUPPORTED)
            return code;
    }
    Samples &all = samples();
    const std::lock_guard lock(all.mutex);
    const auto found = all.live.find(sample);
    METRALE_ARGUMENT(found != all.live.end());
    found->second->device = &device;
    found->second->values = std::move(values);
    return NVML_SUCCESS;
}

void name(nvmlGpmMetric_t &metric)
{
    metric.metricInfo = {nullptr, nullptr, nullptr};
    for (const MetricName &known : kNames)
        if (known.id == metric.metricId)
            metric.metricInfo = {const_cast<char *>(known.short_name),
                                 const_cast<char *>(known.long_name),
                                 const_cast<char *>(known.unit)};
}

} // namespace

NVML_API nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    METRALE_ARGUMENT(sample != nullptr);
    auto fresh = std::make_unique<nvmlGpmSample_st>();
    *sample = fresh.get();
    Samples &all = samples();
    const std::lock_guard lock(all.mutex);
    all.live[*sample] = std::move(fresh);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    Samples &all = samples();
    const std::lock_guard lock(all.mutex);
    return all.live.erase(sample) == 1 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

NVML_API nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample)
{
    METRALE_DEVICE(gpu, device);
    return take(*gpu, sample);
}

NVML_API nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int instance,
                                          nvmlGpmSample_t sample)
{
    METRALE_DEVICE(gpu, device);
    const auto current = metrale::telemetry::session();
    if (current == nullptr)
        return NVML_ERROR_UNINITIALIZED;
    for (const Device *mig : current->migs)
        if (mig->parent == gpu && mig->gpu_instance == instance)
            return take(*mig, sample);
    return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *request)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    METRALE_ARGUMENT(request != nullptr);
    if (request->version != NVML_GPM_METRICS_GET_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    METRALE_ARGUMENT(request->numMetrics > 0 && request->numMetrics <= NVML_GPM_METRIC_MAX);
    Samples &all = samples();
    const std::lock_guard lock(all.mutex);
    const auto first = all.live.find(request->sample1);
    const auto second = all.live.find(request->sample2);
    METRALE_ARGUMENT(first != all.live.end() && second != all.live.end());
    METRALE_ARGUMENT(first->second->device != nullptr &&
                     first->second->device == second->second->device);
    for (unsigned int i = 0; i < request->numMetrics; ++i) {
        nvmlGpmMetric_t &metric = request->metrics[i];
        name(metric);
        if (metric.metricId == 0 || metric.metricId >= NVML_GPM_METRIC_MAX) {
            metric.nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
            continue;
        }
        const auto value = second->second->values.find(metric.metricId);
        metric.nvmlReturn =
            value == second->second->values.end() ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
        if (metric.nvmlReturn == NVML_SUCCESS)
            metric.value = value->second;
    }
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(support != nullptr);
    if (support->version != NVML_GPM_SUPPORT_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (read_number(gpu->whole(), "gpm", &support->isSupportedDevice) != NVML_SUCCESS)
        support->isSupportedDevice = 0;
    return NVML_SUCCESS;
}
