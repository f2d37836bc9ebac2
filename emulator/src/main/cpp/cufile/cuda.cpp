#include "cuda.hpp"

#include <memory>
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
    int (*submit)(void *, int, int (*)(void *), void *, void (*)(void *)) = nullptr;
    int (*stream_device)(void *, int *) = nullptr;
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
    find(api, "metrale_emulator_cuda_submit", &api.submit);
    find(api, "metrale_emulator_cuda_stream_device", &api.stream_device);
    return api;
}

const Api &api()
{
    static const Api *instance = new Api(load());
    return *instance;
}

struct HostWork {
    void (*work)(void *);
    void (*release)(void *);
    void *argument;
};

void CUDA_CB run_and_release(void *argument)
{
    const std::unique_ptr<HostWork> work(static_cast<HostWork *>(argument));
    work->work(work->argument);
    work->release(work->argument);
}

int run_on_stream(void *argument)
{
    const auto *work = static_cast<HostWork *>(argument);
    work->work(work->argument);
    return 0;
}

void release_after(void *argument)
{
    const std::unique_ptr<HostWork> work(static_cast<HostWork *>(argument));
    work->release(work->argument);
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

int submit(CUstream stream, void (*work)(void *), void (*release)(void *), void *argument)
{
    const Api &cuda = api();
    auto job = std::make_unique<HostWork>(HostWork{work, release, argument});
    int device = 0;
    int code = CUDA_ERROR_NOT_SUPPORTED;
    if (cuda.submit != nullptr && cuda.stream_device != nullptr) {
        code = cuda.stream_device(stream, &device);
        if (code == 0)
            return cuda.submit(stream, device, run_on_stream, job.release(), release_after);
    } else if (cuda.launch != nullptr) {
        code = static_cast<int>(cuda.launch(stream, run_and_release, job.get()));
        if (code == 0) {
            (void)job.release();
            return 0;
        }
    }
    release(argument);
    return code;
}

} // namespace metrale::gds
