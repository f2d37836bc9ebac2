#include "answers.hpp"

#include <cstdio>
#include <thread>

/* What a device is called, where it sits, and what it is. */

using metrale::telemetry::copy_text;
using metrale::telemetry::Device;
using metrale::telemetry::has_version;
using metrale::telemetry::read_number;

namespace
{

void write_bus_ids(const Device &gpu, char *legacy, char *bus_id)
{
    char text[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
    if (legacy != nullptr) {
        std::snprintf(text, sizeof(text), "%04X:%02X:%02X.0", gpu.pci_domain & 0xFFFFU,
                      gpu.pci_bus & 0xFFU, gpu.pci_device & 0xFFU);
        std::memcpy(legacy, text, NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE - 1);
        legacy[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE - 1] = '\0';
    }
    std::snprintf(bus_id, NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE, "%08X:%02X:%02X.0", gpu.pci_domain,
                  gpu.pci_bus & 0xFFU, gpu.pci_device & 0xFFU);
}

nvmlReturn_t pci_info(const Device &device, nvmlPciInfo_t *pci)
{
    METRALE_ARGUMENT(pci != nullptr);
    const Device &gpu = device.whole();
    nvmlPciInfo_t info = {};
    METRALE_TRY(read_number(gpu, "pci.device_id", &info.pciDeviceId));
    METRALE_TRY(read_number(gpu, "pci.subsystem_id", &info.pciSubSystemId));
    info.domain = gpu.pci_domain;
    info.bus = gpu.pci_bus;
    info.device = gpu.pci_device;
    write_bus_ids(gpu, info.busIdLegacy, info.busId);
    *pci = info;
    return NVML_SUCCESS;
}

/* All processors of this machine. */
nvmlReturn_t cpu_set(unsigned int words, unsigned long *set)
{
    METRALE_ARGUMENT(set != nullptr && words > 0);
    unsigned int processors = std::thread::hardware_concurrency();
    processors = processors == 0 ? 1 : processors;
    std::memset(set, 0, words * sizeof(*set));
    const unsigned int bits = 8U * static_cast<unsigned int>(sizeof(*set));
    for (unsigned int cpu = 0; cpu < processors && cpu / bits < words; ++cpu)
        set[cpu / bits] |= 1UL << (cpu % bits);
    return NVML_SUCCESS;
}

} // namespace

NVML_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    METRALE_DEVICE(gpu, device);
    const metrale::telemetry::Reading own =
        metrale::telemetry::setting(gpu->prefix + ".name")
            ? metrale::telemetry::read(*gpu, "name")
            : metrale::telemetry::Reading{NVML_SUCCESS, gpu->name};
    return own.code != NVML_SUCCESS ? own.code : copy_text(own.text, name, length);
}

NVML_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    METRALE_DEVICE(gpu, device);
    return copy_text(gpu->uuid, uuid, length);
}

NVML_API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(index != nullptr);
    *index = gpu->index;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    METRALE_DEVICE(gpu, device);
    return pci_info(*gpu, pci);
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(pci != nullptr);
    nvmlPciInfo_t info = {};
    METRALE_TRY(pci_info(*gpu, &info));
    /* The struct of this one ends before the long bus id. */
    std::memcpy(pci, &info, offsetof(nvmlPciInfo_t, busId));
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(pci != nullptr);
    nvmlPciInfo_t info = {};
    METRALE_TRY(pci_info(*gpu, &info));
    std::memcpy(pci, &info, offsetof(nvmlPciInfo_t, pciSubSystemId));
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(pci != nullptr);
    if (!has_version(pci, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlPciInfo_t info = {};
    METRALE_TRY(pci_info(*gpu, &info));
    pci->domain = info.domain;
    pci->bus = info.bus;
    pci->device = info.device;
    pci->pciDeviceId = info.pciDeviceId;
    pci->pciSubSystemId = info.pciSubSystemId;
    pci->baseClass = 3;
    pci->subClass = 2;
    std::memcpy(pci->busId, info.busId, sizeof(pci->busId));
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major,
                                                         int *minor)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(major != nullptr && minor != nullptr);
    const auto reading = metrale::telemetry::read(gpu->whole(), "compute_capability");
    if (reading.code != NVML_SUCCESS)
        return reading.code;
    int high = 0;
    int low = 0;
    if (std::sscanf(reading.text.c_str(), "%d.%d", &high, &low) != 2)
        return NVML_ERROR_UNKNOWN;
    *major = high;
    *minor = low;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words,
                                               unsigned long *set)
{
    METRALE_KNOWN_DEVICE(device);
    return cpu_set(words, set);
}

NVML_API nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words,
                                                          unsigned long *set,
                                                          nvmlAffinityScope_t scope)
{
    METRALE_KNOWN_DEVICE(device);
    METRALE_ARGUMENT(scope <= NVML_AFFINITY_SCOPE_SOCKET);
    return cpu_set(words, set);
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int words,
                                                  unsigned long *set, nvmlAffinityScope_t scope)
{
    METRALE_KNOWN_DEVICE(device);
    METRALE_ARGUMENT(set != nullptr && words > 0 && scope <= NVML_AFFINITY_SCOPE_SOCKET);
    std::memset(set, 0, words * sizeof(*set));
    set[0] = 1;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device,
                                                  nvmlDeviceAddressingMode_t *mode)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(mode != nullptr);
    if (!has_version(mode, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return read_number(gpu->whole(), "addressing_mode", &mode->value);
}

NVML_API nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_v1_t *info)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(info != nullptr);
    return read_number(gpu->whole(), "c2c", &info->isC2cEnabled);
}

NVML_API nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t device, nvmlRepairStatus_t *status)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(status != nullptr);
    if (!has_version(status, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    METRALE_TRY(read_number(*gpu, "repair.channel", &status->bChannelRepairPending));
    return read_number(*gpu, "repair.tpc", &status->bTpcRepairPending);
}

NVML_API nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
    METRALE_DEVICE(gpu, device);
    return read_number(gpu->whole(), "persistence", mode);
}

NVML_API nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
    METRALE_DEVICE(gpu, device);
    return read_number(gpu->whole(), "compute_mode", mode);
}

NVML_API nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *brand)
{
    METRALE_DEVICE(gpu, device);
    return read_number(gpu->whole(), "brand", brand);
}

NVML_API nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device,
                                                nvmlDeviceArchitecture_t *architecture)
{
    METRALE_DEVICE(gpu, device);
    return read_number(gpu->whole(), "architecture", architecture);
}

NVML_API nvmlReturn_t nvmlDeviceGetBusType(nvmlDevice_t device, nvmlBusType_t *type)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(type != nullptr);
    unsigned int generation = 0;
    const bool pcie = read_number(gpu->whole(), "pcie.generation", &generation) == NVML_SUCCESS;
    *type = pcie ? NVML_BUS_TYPE_PCIE : NVML_BUS_TYPE_UNKNOWN;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
    METRALE_KNOWN_DEVICE(device);
    METRALE_ARGUMENT(version != nullptr);
    return copy_text(metrale::telemetry::current_driver().version, version, 64);
}

NVML_API nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned int *enabled,
                                                   unsigned int *by_default)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(enabled != nullptr && by_default != nullptr);
    METRALE_TRY(read_number(gpu->whole(), "gsp_enabled", enabled));
    *by_default = *enabled;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, nvmlInforomObject_t object,
                                                  char *version, unsigned int length)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(static_cast<unsigned int>(object) < NVML_INFOROM_COUNT);
    return metrale::telemetry::read_text(*gpu, "inforom." + std::to_string(object), version,
                                         length);
}

METRALE_ANSWER_TEXT(nvmlDeviceGetSerial, "serial")
METRALE_ANSWER_TEXT(nvmlDeviceGetBoardPartNumber, "part_number")
METRALE_ANSWER_TEXT(nvmlDeviceGetVbiosVersion, "vbios")
METRALE_ANSWER_TEXT(nvmlDeviceGetInforomImageVersion, "inforom.image")
METRALE_ANSWER_NUMBER(nvmlDeviceGetInforomConfigurationChecksum, unsigned int, "inforom.checksum")
METRALE_ANSWER_NUMBER(nvmlDeviceGetModuleId, unsigned int, "module_id")
METRALE_ANSWER_NUMBER(nvmlDeviceGetNumaNodeId, unsigned int, "numa_node")
METRALE_ANSWER_NUMBER(nvmlDeviceGetMinorNumber, unsigned int, "minor")
METRALE_ANSWER_NUMBER(nvmlDeviceGetBoardId, unsigned int, "board_id")
METRALE_ANSWER_NUMBER(nvmlDeviceGetMultiGpuBoard, unsigned int, "multi_gpu_board")
METRALE_ANSWER_NUMBER(nvmlDeviceGetDisplayMode, nvmlEnableState_t, "display_mode")
METRALE_ANSWER_NUMBER(nvmlDeviceGetDisplayActive, nvmlEnableState_t, "display_active")
METRALE_ANSWER_NUMBER(nvmlDeviceGetNumGpuCores, unsigned int, "cores")
METRALE_ANSWER_NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned int, "bus_width")
METRALE_ANSWER_NUMBER(nvmlDeviceGetIrqNum, unsigned int, "irq")
