#include "cuda/state.h"

#include "common/config.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <system_error>

using namespace metrale::emulator;
using namespace metrale::emulator::cuda;

namespace
{

/* Zero for what is not listed: for most attributes that is "no". */
int attribute_of(const Gpu &gpu, CUdevice_attribute attribute)
{
    constexpr int kMaxInt = 2147483647;

    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return gpu.compute_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return gpu.compute_minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return gpu.multiprocessors;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        return gpu.clock_khz;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        return gpu.memory_clock_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        return gpu.memory_bus_bits;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        return static_cast<int>(gpu.l2_bytes);
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        return static_cast<int>(gpu.pci_domain);
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return static_cast<int>(gpu.pci_bus);
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        return static_cast<int>(gpu.pci_device);
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
        return gpu.integrated;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
        return gpu.gpudirect_rdma;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
        return gpu.gpudirect_rdma ? CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER : 0;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
        return gpu.gpudirect_rdma ? CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST : 0;
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
        return gpu.dma_buf;
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
    case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
    case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
        return gpu.pageable_access;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        return 1;
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
        return !gpu.integrated;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        return gpu.integrated ? 2 : 3;
    case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID:
        return gpu.ordinal;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
        return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
        return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
        return kMaxInt;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
        return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        return gpu.compute_major == 12 ? 1536 : 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        return 49152;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
        return 65536;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
        return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
        return kMaxInt;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
        return 512;
    default:
        return 0;
    }
}

template <typename Body> CUresult with_device(const char *function, CUdevice ordinal, Body body)
{
    return call(function, Needs::Init, [&]() -> CUresult {
        Device *device = find_device(ordinal);
        return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : body(*device);
    });
}

/* "[domain]:[bus]:[device].[function]", the domain and the function may be left out. */
bool parse_pci(const char *text, unsigned *domain, unsigned *bus, unsigned *device)
{
    *domain = 0;
    if (std::sscanf(text, "%x:%x:%x", domain, bus, device) == 3)
        return true;
    *domain = 0;
    return std::sscanf(text, "%x:%x", bus, device) == 2;
}

CUresult get_uuid(CUuuid *out, CUdevice ordinal)
{
    Device *device = find_device(ordinal);
    if (device == nullptr)
        return CUDA_ERROR_INVALID_DEVICE;
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(out->bytes, device->gpu.uuid.data(), sizeof(out->bytes));
    return CUDA_SUCCESS;
}

} // namespace

CUresult cuInit(unsigned flags)
{
    return call(__func__, Needs::Nothing, [&]() -> CUresult {
        if (flags != 0)
            return CUDA_ERROR_INVALID_VALUE;
        if (State::get().devices.empty())
            return CUDA_ERROR_NO_DEVICE;
        State::get().initialized.store(true, std::memory_order_release);
        return CUDA_SUCCESS;
    });
}

CUresult cuDriverGetVersion(int *out)
{
    return call(__func__, Needs::Nothing, [&]() -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = cuda_version();
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGet(CUdevice *out, int ordinal)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        if (find_device(ordinal) == nullptr)
            return CUDA_ERROR_INVALID_DEVICE;
        *out = ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetCount(int *out)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = static_cast<int>(State::get().devices.size());
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetName(char *out, int length, CUdevice device)
{
    return with_device(__func__, device, [&](Device &found) -> CUresult {
        if (out == nullptr || length <= 0)
            return CUDA_ERROR_INVALID_VALUE;
        std::snprintf(out, static_cast<size_t>(length), "%s", found.gpu.name.c_str());
        return CUDA_SUCCESS;
    });
}

#undef cuDeviceGetUuid
extern "C" __attribute__((visibility("default"))) CUresult cuDeviceGetUuid(CUuuid *out,
                                                                           CUdevice device)
{
    return call(__func__, Needs::Init, [&] { return get_uuid(out, device); });
}

CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice device)
{
    return call(__func__, Needs::Init, [&] { return get_uuid(out, device); });
}

CUresult cuDeviceTotalMem(size_t *out, CUdevice device)
{
    return with_device(__func__, device, [&](Device &found) -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = found.gpu.memory_bytes;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute attribute, CUdevice device)
{
    return with_device(__func__, device, [&](Device &found) -> CUresult {
        int number = static_cast<int>(attribute);
        if (out == nullptr || number < 1 || number >= static_cast<int>(CU_DEVICE_ATTRIBUTE_MAX))
            return CUDA_ERROR_INVALID_VALUE;
        *out = attribute_of(found.gpu, attribute);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    return with_device(__func__, device, [&](Device &found) -> CUresult {
        if (major == nullptr || minor == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *major = found.gpu.compute_major;
        *minor = found.gpu.compute_minor;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetByPCIBusId(CUdevice *out, const char *text)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        unsigned domain = 0;
        unsigned bus = 0;
        unsigned device = 0;
        if (out == nullptr || text == nullptr || !parse_pci(text, &domain, &bus, &device))
            return CUDA_ERROR_INVALID_VALUE;
        for (const auto &candidate : State::get().devices) {
            const Gpu &gpu = candidate->gpu;
            if (gpu.pci_domain == domain && gpu.pci_bus == bus && gpu.pci_device == device) {
                *out = gpu.ordinal;
                return CUDA_SUCCESS;
            }
        }
        return CUDA_ERROR_INVALID_DEVICE;
    });
}

CUresult cuDeviceGetPCIBusId(char *out, int length, CUdevice device)
{
    return with_device(__func__, device, [&](Device &found) -> CUresult {
        std::string text = found.gpu.pci_text();
        if (out == nullptr || length < static_cast<int>(text.size()) + 1)
            return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(out, text.c_str(), text.size() + 1);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceCanAccessPeer(int *out, CUdevice device, CUdevice peer)
{
    return with_device(__func__, device, [&](Device &found) -> CUresult {
        Device *other = find_device(peer);
        if (other == nullptr)
            return CUDA_ERROR_INVALID_DEVICE;
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        // MIG instances see no peers, and an integrated GPU has none.
        *out = other != &found && !found.gpu.mig && !other->gpu.mig && !found.gpu.integrated &&
               !other->gpu.integrated;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetP2PAttribute(int *out, CUdevice_P2PAttribute attribute, CUdevice device,
                                 CUdevice peer)
{
    return with_device(__func__, device, [&](Device &found) -> CUresult {
        Device *other = find_device(peer);
        if (other == nullptr || other == &found)
            return CUDA_ERROR_INVALID_DEVICE;
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        bool reach = !found.gpu.mig && !other->gpu.mig && !found.gpu.integrated;
        *out = reach && attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 1 : 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuGetProcAddress_v2(const char *symbol, void **out, int, cuuint64_t,
                             CUdriverProcAddressQueryResult *status)
{
    return call(__func__, Needs::Nothing, [&]() -> CUresult {
        if (symbol == nullptr || out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = nullptr;
        Dl_info info;
        void *self = nullptr;
        if (dladdr(reinterpret_cast<const void *>(&find_device), &info) != 0)
            self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (self != nullptr) {
            // The newest version of a name is the one a new caller means.
            for (const char *suffix : {"_v4", "_v3", "_v2", ""}) {
                *out = dlsym(self, (std::string(symbol) + suffix).c_str());
                if (*out != nullptr)
                    break;
            }
            dlclose(self);
        }
        if (status != nullptr)
            *status = *out != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        return *out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    });
}
