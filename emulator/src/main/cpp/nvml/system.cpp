#include "answers.hpp"

#include <cstdio>

/* Devices: how many, found how, and how they stand to each other. */

using metrale::telemetry::Device;
using metrale::telemetry::enter;
using metrale::telemetry::session;

namespace
{

nvmlReturn_t hand_out(const Device &device, nvmlDevice_t *handle)
{
    METRALE_TRY(metrale::telemetry::lost(device));
    const metrale::telemetry::Reading open = metrale::telemetry::read(device, "open");
    if (open.code != NVML_SUCCESS && open.code != NVML_ERROR_NOT_SUPPORTED)
        return open.code;
    *handle = device.handle();
    return NVML_SUCCESS;
}

nvmlReturn_t by_index(unsigned int index, nvmlDevice_t *handle)
{
    const auto current = session();
    if (current == nullptr)
        return NVML_ERROR_UNINITIALIZED;
    METRALE_ARGUMENT(handle != nullptr && index < current->gpus.size());
    return hand_out(*current->gpus[index], handle);
}

nvmlReturn_t by_pci(const char *text, nvmlDevice_t *handle)
{
    METRALE_ARGUMENT(text != nullptr && handle != nullptr);
    const auto current = session();
    unsigned int domain = 0;
    unsigned int bus = 0;
    unsigned int slot = 0;
    if (current == nullptr)
        return NVML_ERROR_UNINITIALIZED;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        METRALE_ARGUMENT(std::sscanf(text, "%x:%x", &bus, &slot) == 2);
    }
    for (const Device *gpu : current->gpus)
        if (gpu->pci_domain == domain && gpu->pci_bus == bus && gpu->pci_device == slot)
            return hand_out(*gpu, handle);
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t by_uuid(std::string_view uuid, nvmlDevice_t *handle)
{
    const auto current = session();
    if (current == nullptr)
        return NVML_ERROR_UNINITIALIZED;
    for (const auto *list : {&current->gpus, &current->migs})
        for (const Device *device : *list)
            if (device->uuid == uuid)
                return hand_out(*device, handle);
    return uuid.starts_with("GPU-") || uuid.starts_with("MIG-") ? NVML_ERROR_NOT_FOUND
                                                                : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t count_of(unsigned int *count)
{
    METRALE_ARGUMENT(count != nullptr);
    const auto current = session();
    if (current == nullptr)
        return NVML_ERROR_UNINITIALIZED;
    *count = static_cast<unsigned int>(current->gpus.size());
    return NVML_SUCCESS;
}

bool linked(const Device &gpu)
{
    unsigned int links = 0;
    return metrale::telemetry::read_number(gpu, "nvlink.count", &links) == NVML_SUCCESS &&
           links > 0;
}

} // namespace

NVML_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    METRALE_TRY(enter(__func__));
    return count_of(count);
}

NVML_API nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
    METRALE_TRY(enter(__func__));
    return count_of(count);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    METRALE_TRY(enter(__func__));
    return by_index(index, device);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    METRALE_TRY(enter(__func__));
    return by_index(index, device);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
    METRALE_TRY(enter(__func__));
    return by_pci(bus_id, device);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *device)
{
    METRALE_TRY(enter(__func__));
    return by_pci(bus_id, device);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    METRALE_TRY(enter(__func__));
    METRALE_ARGUMENT(uuid != nullptr && device != nullptr);
    return by_uuid(uuid, device);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
    METRALE_TRY(enter(__func__));
    METRALE_ARGUMENT(uuid != nullptr && device != nullptr);
    if (!metrale::telemetry::has_version(uuid, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (uuid->type == NVML_UUID_TYPE_ASCII) {
        const std::size_t length = strnlen(uuid->value.str, sizeof(uuid->value.str));
        return by_uuid({uuid->value.str, length}, device);
    }
    METRALE_ARGUMENT(uuid->type == NVML_UUID_TYPE_BINARY);
    const unsigned char *b = uuid->value.bytes;
    char text[48];
    for (const char *prefix : {"GPU", "MIG"}) {
        std::snprintf(text, sizeof(text),
                      "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                      prefix, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
                      b[11], b[12], b[13], b[14], b[15]);
        const nvmlReturn_t code = by_uuid(text, device);
        if (code != NVML_ERROR_NOT_FOUND)
            return code;
    }
    return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
    METRALE_TRY(enter(__func__));
    METRALE_ARGUMENT(serial != nullptr && device != nullptr);
    const auto current = session();
    if (current == nullptr)
        return NVML_ERROR_UNINITIALIZED;
    for (const Device *gpu : current->gpus) {
        const metrale::telemetry::Reading own = metrale::telemetry::read(*gpu, "serial");
        if (own.code == NVML_SUCCESS && own.text == serial)
            return hand_out(*gpu, device);
    }
    return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t first, nvmlDevice_t second, int *same)
{
    METRALE_DEVICE(gpu, first);
    METRALE_DEVICE(other, second);
    METRALE_ARGUMENT(same != nullptr);
    *same = &gpu->whole() == &other->whole() ? 1 : 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                          nvmlGpuTopologyLevel_t *level)
{
    METRALE_DEVICE(gpu, first);
    METRALE_DEVICE(other, second);
    METRALE_ARGUMENT(level != nullptr);
    *level = gpu == other                           ? NVML_TOPOLOGY_INTERNAL
             : gpu->pci_domain == other->pci_domain ? NVML_TOPOLOGY_NODE
                                                    : NVML_TOPOLOGY_SYSTEM;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second,
                                             nvmlGpuP2PCapsIndex_t index,
                                             nvmlGpuP2PStatus_t *status)
{
    METRALE_DEVICE(gpu, first);
    METRALE_DEVICE(other, second);
    METRALE_ARGUMENT(status != nullptr && static_cast<unsigned int>(index) < 5);
    *status = linked(*gpu) && linked(*other) ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
}
