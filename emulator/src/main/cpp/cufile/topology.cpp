#include "state.hpp"

#include <fstream>

#include "common/profile.h"

/* What cuFile knows of the machine: BARs, peer-to-peer flags, the PCIe tree. */

using metrale::gds::error;
using metrale::gds::is_open;
using metrale::gds::kSuccess;
using metrale::gds::library;

CUfileError_t cuFileGetBARSizeInKB(int gpu, size_t *kilobytes)
{
    METRALE_GDS_FAULT();
    const auto &gpus = metrale::emulator::gpus();
    if (!is_open())
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    if (kilobytes == nullptr || gpu < 0 || static_cast<std::size_t>(gpu) >= gpus.size())
        return error(CU_FILE_INVALID_VALUE);
    std::uint64_t window = 1U << 28U;
    while (window < gpus[static_cast<std::size_t>(gpu)].memory_bytes)
        window <<= 1U;
    *kilobytes = window >> 10U;
    return kSuccess;
}

CUfileError_t cuFileDriverGetP2PFlags(CUfileDriverStatusFlags_t kind, CUfileP2PFlags_t *flags)
{
    METRALE_GDS_FAULT();
    if (!is_open())
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    if (flags == nullptr || static_cast<unsigned int>(kind) >= CU_FILE_MAX_TARGET_TYPES)
        return error(CU_FILE_INVALID_VALUE);
    auto &target = library();
    const std::lock_guard lock(target.mutex);
    const auto found = target.parameters.p2p_flags.find(kind);
    const int own =
        found == target.parameters.p2p_flags.end()
            ? (target.nvfs ? 1 << CUFILE_NVFS : 0) | (target.p2pdma ? 1 << CUFILE_P2PDMA : 0)
            : found->second;
    *flags = static_cast<CUfileP2PFlags_t>(own);
    return kSuccess;
}

CUfileError_t cuFileDriverSetP2PFlags(CUfileDriverStatusFlags_t kind, CUfileP2PFlags_t flags)
{
#if defined(__aarch64__)
    constexpr int kAllowed = 1 << CUFILE_C2C;
#else
    constexpr int kAllowed = 1 << CUFILE_P2PDMA;
#endif

    METRALE_GDS_FAULT();
    if (!is_open())
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    if (static_cast<unsigned int>(kind) >= CU_FILE_MAX_TARGET_TYPES)
        return error(CU_FILE_INVALID_VALUE);
    /* The header documents a code of its own for this and does not define it. */
    if ((static_cast<int>(flags) & ~kAllowed) != 0)
        return error(CU_FILE_PLATFORM_NOT_SUPPORTED);
    auto &target = library();
    const std::lock_guard lock(target.mutex);
    target.parameters.p2p_flags[kind] = static_cast<int>(flags);
    return kSuccess;
}

CUfileError_t cuFileExportPCIeTopology(const char *name)
{
    METRALE_GDS_FAULT();
    if (name == nullptr || *name == '\0')
        return error(CU_FILE_INVALID_VALUE);
    const CUfileError_t opened = metrale::gds::open_implicitly();
    if (opened.err != CU_FILE_SUCCESS)
        return opened;
    std::ofstream file(name);
    file << "{\n  \"gpus\": [";
    const char *separator = "\n";
    for (const metrale::emulator::Gpu &gpu : metrale::emulator::gpus()) {
        file << separator << "    {\"pci\": \"" << gpu.pci_text() << "\", \"uuid\": \""
             << gpu.uuid_text() << "\"}";
        separator = ",\n";
    }
    file << "\n  ]\n}\n";
    return file ? kSuccess : error(CU_FILE_INVALID_VALUE);
}
