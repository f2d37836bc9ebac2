#ifndef METRALE_EMULATOR_NVML_MACHINE_HPP
#define METRALE_EMULATOR_NVML_MACHINE_HPP

#include <cstdint>
#include <string>
#include <vector>

/* The one place that knows how the virtual machine is described: how many GPUs, of which kind,
 * under which driver. */
namespace metrale::telemetry
{

struct MachineGpu {
    std::string kind;
    std::string name; /* empty: as the profile says */
    std::string uuid; /* GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx */
    std::vector<std::string> mig_uuids;
    std::uint64_t memory_bytes = 0; /* 0: as the profile says */
    unsigned int pci_domain = 0;
    unsigned int pci_bus = 0;
    unsigned int pci_device = 0;
};

unsigned int machine_gpu_count();
MachineGpu machine_gpu(unsigned int index);
std::string machine_driver();
int machine_cuda(int of_driver);

} // namespace metrale::telemetry

#endif
