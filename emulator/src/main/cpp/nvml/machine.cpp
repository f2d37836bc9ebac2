#include "machine.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/profile.h"
#include "settings.hpp"

namespace metrale::telemetry
{
namespace
{

using Uuid = std::array<std::uint8_t, 16>;

std::string uuid_text(const char *prefix, const Uuid &uuid)
{
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text = prefix;
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += kDigits[uuid[i] >> 4U];
        text += kDigits[uuid[i] & 15U];
    }
    return text;
}

} // namespace

unsigned int machine_gpu_count()
{
    return static_cast<unsigned int>(emulator::gpus().size());
}

MachineGpu machine_gpu(unsigned int index)
{
    const emulator::Gpu &source = emulator::gpus().at(index);
    MachineGpu gpu;
    gpu.kind = source.kind;
    gpu.pci_domain = source.pci_domain;
    gpu.pci_bus = source.pci_bus;
    gpu.pci_device = source.pci_device;
    if (source.mig) {
        /* CUDA sees the first instance; the whole GPU needs an identity of its own. */
        const Uuid reversed = [&] {
            Uuid uuid = source.uuid;
            std::reverse(uuid.begin(), uuid.end());
            return uuid;
        }();
        gpu.uuid = uuid_text("GPU-", reversed);
        for (unsigned int instance = 0; instance < 8; ++instance) {
            Uuid mig = source.uuid;
            mig[15] = static_cast<std::uint8_t>(mig[15] ^ instance);
            gpu.mig_uuids.push_back(uuid_text("MIG-", mig));
        }
        return gpu;
    }
    gpu.name = source.name;
    gpu.uuid = source.uuid_text();
    gpu.memory_bytes = source.memory_bytes;
    for (unsigned int instance = 0; instance < 8; ++instance) {
        Uuid mig = source.uuid;
        mig[0] = static_cast<std::uint8_t>(mig[0] ^ (instance + 1));
        gpu.mig_uuids.push_back(uuid_text("MIG-", mig));
    }
    return gpu;
}

std::string machine_driver()
{
    return emulator::driver_version();
}

int machine_cuda(int of_driver)
{
    return static_cast<int>(setting_number("cuda.version", of_driver));
}

} // namespace metrale::telemetry
