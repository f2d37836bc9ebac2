#include "cuda.hpp"

#include <string>

#include <dlfcn.h>

#include "common/config.h"
#include "cuda/bridge.h"
#include "nvml/settings.hpp"

namespace metrale::gds
{
namespace
{

struct Api {
    void *library = nullptr;
    CUresult (*init)(unsigned int) = nullptr;
    CUresult (*launch)(CUstream, CUhostFn, void *) = nullptr;
    int (*range)(std::uint64_t, std::uint64_t, int, metrale_emulator_range *) = nullptr;
    void (*unpin)(void *) = nullptr;
    CUresult (*query)(CUstream) = nullptr;
};

template <typename T> void find(const Api &api, const char *name, T *function)
{
    *function = reinterpret_cast<T>(dlsym(api.library, name));
}

/* One that the process has already, else the neighbour in our folder, else what the system finds.
 */
Api load()
{
    Api api;
    if (telemetry::setting_or("cufile.libcuda", "") == "absent")
        return api;
    api.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (api.library == nullptr)
        api.library =
            dlopen((emulator::library_folder() + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (api.library == nullptr)
        api.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (api.library == nullptr)
        return api;
    find(api, "cuInit", &api.init);
    find(api, "cuLaunchHostFunc", &api.launch);
    find(api, "metrale_emulator_cuda_range", &api.range);
    find(api, "metrale_emulator_cuda_unpin", &api.unpin);
    find(api, "cuStreamQuery", &api.query);
    return api;
}

const Api &api()
{
    static const Api *instance = new Api(load());
    return *instance;
}

} // namespace

bool cuda_present()
{
    return api().library != nullptr;
}

int cuda_init()
{
    return api().init == nullptr ? CUDA_ERROR_NOT_INITIALIZED : static_cast<int>(api().init(0));
}

Memory::Memory(const void *address, std::size_t bytes)
{
    metrale_emulator_range range = {};
    const Api &cuda = api();
    if (cuda.range == nullptr || cuda.unpin == nullptr)
        return;
    const int code = cuda.range(reinterpret_cast<std::uintptr_t>(address), bytes, 1, &range);
    out_of_range_ = code == 1;
    if (code != 0)
        return;
    pin_ = range.pin;
    device_ = range.device;
    if (range.kind == METRALE_EMULATOR_DEVICE || range.kind == METRALE_EMULATOR_MANAGED)
        kind_ = MemoryKind::device;
    else if (range.kind == METRALE_EMULATOR_PINNED || range.kind == METRALE_EMULATOR_REGISTERED)
        kind_ = MemoryKind::host;
}

Memory::~Memory()
{
    if (pin_ != nullptr)
        api().unpin(pin_);
}

int launch(CUstream stream, CUhostFn function, void *argument)
{
    const Api &cuda = api();
    return cuda.launch == nullptr ? CUDA_ERROR_NOT_SUPPORTED
                                  : static_cast<int>(cuda.launch(stream, function, argument));
}

bool has_failed(CUstream stream)
{
    const Api &cuda = api();
    if (cuda.query == nullptr)
        return true;
    const CUresult code = cuda.query(stream);
    return code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_READY;
}

} // namespace metrale::gds
