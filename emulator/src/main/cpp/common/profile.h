#ifndef METRALE_EMULATOR_COMMON_PROFILE_H
#define METRALE_EMULATOR_COMMON_PROFILE_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace metrale::emulator
{

/* One emulated GPU: its kind's values, with what the configuration changes. */
struct Gpu {
    int ordinal = 0;
    std::string kind;
    std::string name;
    int compute_major = 0;
    int compute_minor = 0;
    uint64_t memory_bytes = 0;
    int multiprocessors = 0;
    int clock_khz = 0;
    int memory_clock_khz = 0;
    int memory_bus_bits = 0;
    uint64_t l2_bytes = 0;
    bool integrated = false;
    bool gpudirect_rdma = false;
    bool dma_buf = false;
    bool pageable_access = false;
    bool mig = false;
    bool fabric = false;
    std::array<uint8_t, 16> uuid{};
    unsigned pci_domain = 0;
    unsigned pci_bus = 0;
    unsigned pci_device = 0;

    /* "GPU-xxxxxxxx-xxxx-..." or "MIG-..." */
    std::string uuid_text() const;
    /* "0000:0a:00.0", as the CUDA driver writes it. */
    std::string pci_text() const;
};

/* All GPUs of this virtual machine: read once. `gpus` = 0 is a machine without any. */
const std::vector<Gpu> &gpus();

/* "610.43" and the like, of the emulated kernel driver. */
std::string driver_version();
/* 13050 and the like: what cuDriverGetVersion says. */
int cuda_version();

} // namespace metrale::emulator

#endif
