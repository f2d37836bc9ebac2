#include "answers.hpp"

#include <unistd.h>

/* Running processes: `pid:bytes` or `pid:bytes:gpuInstance:computeInstance`, separated by
 * semicolons. */

using metrale::telemetry::Device;
using metrale::telemetry::kNoInstance;
using metrale::telemetry::parse_unsigned;
using metrale::telemetry::split;

namespace
{

nvmlReturn_t processes_of(const Device &device, const char *key,
                          std::vector<nvmlProcessInfo_v2_t> *found)
{
    const auto reading = metrale::telemetry::read(device.whole(), key);
    if (reading.code != NVML_SUCCESS)
        return reading.code;
    for (const std::string &text : split(reading.text, ';')) {
        const std::vector<std::string> parts = split(text, ':');
        if (parts.size() < 2)
            continue;
        nvmlProcessInfo_v2_t process = {};
        process.pid = parts[0] == "self"
                          ? static_cast<unsigned int>(getpid())
                          : static_cast<unsigned int>(parse_unsigned(parts[0]).value_or(0));
        process.usedGpuMemory = parts[1] == "N/A" ? ~0ULL : parse_unsigned(parts[1]).value_or(0);
        process.gpuInstanceId = static_cast<unsigned int>(
            parts.size() > 3 ? parse_unsigned(parts[2]).value_or(0) : kNoInstance);
        process.computeInstanceId = static_cast<unsigned int>(
            parts.size() > 3 ? parse_unsigned(parts[3]).value_or(0) : kNoInstance);
        if (!device.is_mig() || (process.gpuInstanceId == device.gpu_instance &&
                                 process.computeInstanceId == device.compute_instance))
            found->push_back(process);
    }
    metrale::telemetry::sleep_milliseconds(
        metrale::telemetry::parse_real(
            metrale::telemetry::setting_or("nvml.processes.cost_ms", "0"))
            .value_or(0));
    return NVML_SUCCESS;
}

void fill(const nvmlProcessInfo_v2_t &from, nvmlProcessInfo_v1_t &to)
{
    to.pid = from.pid;
    to.usedGpuMemory = from.usedGpuMemory;
}

void fill(const nvmlProcessInfo_v2_t &from, nvmlProcessInfo_v2_t &to)
{
    to = from;
}

/* The struct goes with the symbol: a caller that mixes them up gets garbage, as on the real thing.
 */
template <typename T>
nvmlReturn_t list(const Device &device, const char *key, unsigned int *count, T *infos)
{
    METRALE_ARGUMENT(count != nullptr);
    std::vector<nvmlProcessInfo_v2_t> found;
    METRALE_TRY(processes_of(device, key, &found));
    const unsigned int room = *count;
    *count = static_cast<unsigned int>(found.size());
    if (room < found.size())
        return NVML_ERROR_INSUFFICIENT_SIZE;
    METRALE_ARGUMENT(infos != nullptr || found.empty());
    for (std::size_t i = 0; i < found.size(); ++i)
        fill(found[i], infos[i]);
    /* A library that is wrong about how many it wrote. */
    *count += static_cast<unsigned int>(
        parse_unsigned(metrale::telemetry::setting_or("nvml.processes.claimed", "0")).value_or(0));
    return NVML_SUCCESS;
}

} // namespace

#define METRALE_PROCESS_LIST(function, type, key)                                                  \
    NVML_API nvmlReturn_t function(nvmlDevice_t device, unsigned int *count, type *infos)          \
    {                                                                                              \
        METRALE_DEVICE(gpu, device);                                                               \
        return list(*gpu, key, count, infos);                                                      \
    }

METRALE_PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t, "processes")
METRALE_PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_v2_t, "processes")
METRALE_PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t, "processes")
METRALE_PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t,
                     "graphics_processes")
METRALE_PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t,
                     "graphics_processes")
METRALE_PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t,
                     "graphics_processes")
METRALE_PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t, "mps_processes")
METRALE_PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t,
                     "mps_processes")
METRALE_PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t, "mps_processes")

NVML_API nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                            nvmlProcessDetailList_t *processes)
{
    static constexpr const char *kKeys[] = {"processes", "graphics_processes", "mps_processes"};

    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(processes != nullptr);
    if (!metrale::telemetry::has_version(processes, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    METRALE_ARGUMENT(processes->mode < NVML_PROCESS_MODE_MAX);
    std::vector<nvmlProcessInfo_v2_t> found;
    for (unsigned int mode = 0; mode < NVML_PROCESS_MODE_ALL; ++mode)
        if (processes->mode == NVML_PROCESS_MODE_ALL || processes->mode == mode)
            METRALE_TRY(processes_of(*gpu, kKeys[mode], &found));
    const unsigned int room = processes->numProcArrayEntries;
    processes->numProcArrayEntries = static_cast<unsigned int>(found.size());
    if (room < found.size())
        return NVML_ERROR_INSUFFICIENT_SIZE;
    METRALE_ARGUMENT(processes->procArray != nullptr || found.empty());
    for (std::size_t i = 0; i < found.size(); ++i)
        processes->procArray[i] = {found[i].pid, found[i].usedGpuMemory, found[i].gpuInstanceId,
                                   found[i].computeInstanceId, 0};
    return NVML_SUCCESS;
}
