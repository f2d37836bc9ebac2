#include "nvlink.hpp"
#include "answers.hpp"

#include <cstdio>

/* NVLink. A reading of one link is `nvlink.<link>.<what>`; without it `nvlink.<what>` holds for all
 * links. */

using metrale::telemetry::Device;
using metrale::telemetry::read_link;
using metrale::telemetry::read_number;

namespace metrale::telemetry
{

nvmlReturn_t check_link(const Device &device, unsigned int link)
{
    unsigned int count = 0;
    METRALE_TRY(read_number(device, "nvlink.count", &count));
    if (link >= NVML_NVLINK_MAX_LINKS)
        return NVML_ERROR_INVALID_ARGUMENT;
    return link < count ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t read_link(const Device &device, unsigned int link, const char *what,
                       unsigned long long *value)
{
    METRALE_TRY(check_link(device, link));
    const std::string own = "nvlink." + std::to_string(link) + '.' + what;
    if (setting(device.prefix + '.' + own) || setting("nvml.gpu." + own))
        return read_number(device, own, value);
    return read_number(device, std::string("nvlink.") + what, value);
}

} // namespace metrale::telemetry

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                               nvmlEnableState_t *active)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(active != nullptr);
    unsigned long long value = 0;
    METRALE_TRY(read_link(*gpu, link, "state", &value));
    *active = value != 0 ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link,
                                                 unsigned int *version)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(version != nullptr);
    unsigned long long value = 0;
    METRALE_TRY(read_link(*gpu, link, "version", &value));
    *version = static_cast<unsigned int>(value);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link,
                                                    nvmlNvLinkCapability_t capability,
                                                    unsigned int *has)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(has != nullptr &&
                     static_cast<unsigned int>(capability) < NVML_NVLINK_CAP_COUNT);
    METRALE_TRY(metrale::telemetry::check_link(*gpu, link));
    *has = capability == NVML_NVLINK_CAP_SLI_BRIDGE ? 0 : 1;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link,
                                                      nvmlNvLinkErrorCounter_t counter,
                                                      unsigned long long *value)
{
    static constexpr const char *kKeys[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc"};

    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(value != nullptr &&
                     static_cast<unsigned int>(counter) < NVML_NVLINK_ERROR_COUNT);
    return read_link(*gpu, link, kKeys[counter], value);
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                          nvmlIntNvLinkDeviceType_t *type)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(type != nullptr);
    unsigned long long value = 0;
    METRALE_TRY(read_link(*gpu, link, "remote_type", &value));
    *type = static_cast<nvmlIntNvLinkDeviceType_t>(value);
    return NVML_SUCCESS;
}

/* The other end is a switch at an address that no GPU has. */
NVML_API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                          nvmlPciInfo_t *pci)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(pci != nullptr);
    METRALE_TRY(metrale::telemetry::check_link(*gpu, link));
    nvmlPciInfo_t info = {};
    info.bus = 0xF0;
    info.device = link;
    info.pciDeviceId = 0x22A310DE;
    std::snprintf(info.busIdLegacy, sizeof(info.busIdLegacy), "0000:F0:%02X.0", link);
    std::snprintf(info.busId, sizeof(info.busId), "00000000:F0:%02X.0", link);
    *pci = info;
    return NVML_SUCCESS;
}
