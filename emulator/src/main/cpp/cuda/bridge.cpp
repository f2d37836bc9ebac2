#include "cuda/state.h"

#pragma GCC visibility push(default)
#include "cuda/bridge.h"
#pragma GCC visibility pop

#include <system_error>

using namespace metrale::emulator;
using namespace metrale::emulator::cuda;

int metrale_emulator_cuda_range(uint64_t address, uint64_t bytes, int pin,
                                struct metrale_emulator_range *out)
{
    std::shared_ptr<Allocation> found = State::get().memory.find(address);
    if (!found)
        return CUDA_ERROR_NOT_FOUND;
    if (!found->contains(address, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    out->base = found->base;
    out->bytes = found->bytes;
    out->id = found->id;
    out->kind = static_cast<int>(found->kind);
    out->device = found->device->gpu.ordinal;
    out->fd = found->fd;
    out->pin = nullptr;
    if (pin != 0)
        out->pin = new std::shared_ptr<Allocation>(std::move(found));
    return CUDA_SUCCESS;
}

void metrale_emulator_cuda_unpin(void *pin)
{
    delete static_cast<std::shared_ptr<Allocation> *>(pin);
}

int metrale_emulator_cuda_scratch(uint64_t bytes, uint64_t *address)
{
    Stream *stream = running_stream();
    uintptr_t number = 0;
    if (stream == nullptr)
        return CUDA_ERROR_NOT_PERMITTED;
    CUresult result =
        State::get().memory.allocate(stream->context(), Kind::Pinned, bytes, 0, &number);
    *address = number;
    return result;
}

void metrale_emulator_cuda_drop(uint64_t address)
{
    State::get().memory.remove(address, true);
}

int metrale_emulator_cuda_current(int *device)
{
    CUresult result = cuInit(0);
    if (result != CUDA_SUCCESS)
        return result;
    std::shared_ptr<Context> context = current_context();
    if (!context) {
        // The runtime library does the same on a thread that chose no device.
        CUcontext primary = nullptr;
        result = cuDevicePrimaryCtxRetain(&primary, 0);
        if (result == CUDA_SUCCESS)
            result = cuCtxSetCurrent(primary);
        if (result != CUDA_SUCCESS)
            return result;
        context = current_context();
    }
    *device = context->device().gpu.ordinal;
    return context->destroyed() ? CUDA_ERROR_CONTEXT_IS_DESTROYED : context->error();
}

int metrale_emulator_cuda_enter(int device)
{
    CUcontext context = nullptr;
    CUresult result = cuDevicePrimaryCtxRetain(&context, device);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuCtxPushCurrent(context);
    if (result != CUDA_SUCCESS)
        cuDevicePrimaryCtxRelease(device);
    return result;
}

void metrale_emulator_cuda_leave(int device)
{
    CUcontext context = nullptr;
    cuCtxPopCurrent(&context);
    cuDevicePrimaryCtxRelease(device);
}

namespace
{

/* Released when the last copy of the work is gone, run or not. */
struct Argument {
    void *data;
    void (*release)(void *);

    Argument(void *of, void (*with)(void *)) : data(of), release(with)
    {
    }
    Argument(const Argument &) = delete;
    Argument &operator=(const Argument &) = delete;
    ~Argument()
    {
        if (release != nullptr)
            release(data);
    }
};

CUresult stream_of(void *handle, int device, std::shared_ptr<Stream> *out)
{
    std::shared_ptr<Context> context = current_context();
    bool special =
        handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
    if (special) {
        // A default stream is that of the device meant, whatever is current.
        if (!context || (device >= 0 && context->device().gpu.ordinal != device)) {
            Device *found = find_device(device);
            if (found == nullptr)
                return CUDA_ERROR_INVALID_CONTEXT;
            std::lock_guard<std::mutex> lock(found->mutex);
            context = found->primary;
        }
        if (!context)
            return CUDA_ERROR_INVALID_CONTEXT;
        return find_stream(*context, static_cast<CUstream>(handle), out);
    }
    *out = State::get().streams.find(handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

} // namespace

int metrale_emulator_cuda_submit(void *handle, int device, int (*work)(void *), void *argument,
                                 void (*release)(void *))
{
    auto holder = std::make_shared<Argument>(argument, release);
    std::shared_ptr<Stream> stream;
    CUresult result = stream_of(handle, device, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (stream->context().device().gpu.ordinal != device)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->context().error() != CUDA_SUCCESS)
        return stream->context().error();
    try {
        stream->submit([holder, work] { return static_cast<CUresult>(work(holder->data)); });
    } catch (const std::exception &) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

int metrale_emulator_cuda_stream_device(void *handle, int *device)
{
    std::shared_ptr<Stream> stream;
    CUresult result = stream_of(handle, -1, &stream);
    if (result == CUDA_SUCCESS)
        *device = stream->context().device().gpu.ordinal;
    return result;
}

int metrale_emulator_cuda_cancelled(void)
{
    Stream *stream = running_stream();
    return stream != nullptr && stream->context().cancelled() ? 1 : 0;
}

int metrale_emulator_cuda_device_error(int device)
{
    Device *found = find_device(device);
    if (found == nullptr)
        return CUDA_ERROR_INVALID_DEVICE;
    return found->lost.load();
}

void metrale_emulator_cuda_lose(int device, int code)
{
    Device *found = find_device(device);
    if (found != nullptr)
        found->lost = code != 0 ? code : CUDA_ERROR_LAUNCH_FAILED;
}

uint64_t metrale_emulator_live_bytes(void)
{
    return State::get().memory.bytes();
}

uint64_t metrale_emulator_live_allocations(void)
{
    return State::get().memory.count();
}

uint64_t metrale_emulator_live_streams(void)
{
    return State::get().streams.size();
}

uint64_t metrale_emulator_live_events(void)
{
    return State::get().events.size();
}

uint64_t metrale_emulator_live_contexts(void)
{
    return State::get().contexts.size();
}
