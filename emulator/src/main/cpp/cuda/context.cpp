#include "cuda/state.h"

#include <system_error>

using namespace metrale::emulator;
using namespace metrale::emulator::cuda;

namespace
{

constexpr unsigned kApiVersion = 3020;
constexpr unsigned kKnownFlags = CU_CTX_FLAGS_MASK;

bool valid_flags(unsigned flags)
{
    unsigned schedule = flags & CU_CTX_SCHED_MASK;
    return (flags & ~kKnownFlags) == 0 &&
           (schedule == CU_CTX_SCHED_AUTO || schedule == CU_CTX_SCHED_SPIN ||
            schedule == CU_CTX_SCHED_YIELD || schedule == CU_CTX_SCHED_BLOCKING_SYNC);
}

CUresult create(CUcontext *out, unsigned flags, CUdevice ordinal)
{
    Device *device = find_device(ordinal);
    if (out == nullptr || !valid_flags(flags))
        return CUDA_ERROR_INVALID_VALUE;
    if (device == nullptr)
        return CUDA_ERROR_INVALID_DEVICE;
    if (device->lost != 0)
        return static_cast<CUresult>(device->lost.load());
    auto context = std::make_shared<Context>(*device, flags, false);
    context->handle = static_cast<CUcontext>(State::get().contexts.add(context));
    context_stack().push_back(context);
    *out = context->handle;
    return CUDA_SUCCESS;
}

CUresult retain(CUcontext *out, CUdevice ordinal)
{
    Device *device = find_device(ordinal);
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (device == nullptr)
        return CUDA_ERROR_INVALID_DEVICE;
    if (device->lost != 0)
        return static_cast<CUresult>(device->lost.load());
    State &state = State::get();
    std::lock_guard<std::mutex> lock(device->mutex);
    if (!device->primary) {
        auto context = std::make_shared<Context>(*device, device->primary_flags, true);
        // A device's primary context keeps its handle when it comes back.
        if (device->primary_handle == nullptr)
            device->primary_handle = static_cast<CUcontext>(state.contexts.add(context));
        else
            state.contexts.put(device->primary_handle, context);
        context->handle = device->primary_handle;
        device->primary = context;
    }
    ++device->primary_users;
    *out = device->primary_handle;
    return CUDA_SUCCESS;
}

/* Takes the primary context off the device; the caller destroys it outside the lock. */
std::shared_ptr<Context> detach_primary(Device &device)
{
    std::shared_ptr<Context> context = std::move(device.primary);
    device.primary = nullptr;
    device.primary_users = 0;
    if (context)
        State::get().contexts.remove(context->handle);
    return context;
}

CUresult release(CUdevice ordinal)
{
    Device *device = find_device(ordinal);
    if (device == nullptr)
        return CUDA_ERROR_INVALID_DEVICE;
    std::shared_ptr<Context> last;
    {
        std::lock_guard<std::mutex> lock(device->mutex);
        if (device->primary_users == 0)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (--device->primary_users == 0)
            last = detach_primary(*device);
    }
    if (last)
        last->destroy();
    return CUDA_SUCCESS;
}

CUresult reset(CUdevice ordinal)
{
    Device *device = find_device(ordinal);
    if (device == nullptr)
        return CUDA_ERROR_INVALID_DEVICE;
    std::shared_ptr<Context> old;
    {
        std::lock_guard<std::mutex> lock(device->mutex);
        unsigned users = device->primary_users;
        old = detach_primary(*device);
        // Those who retained it still hold it: it comes back empty, under the same handle.
        if (users > 0) {
            auto fresh = std::make_shared<Context>(*device, device->primary_flags, true);
            fresh->handle = device->primary_handle;
            State::get().contexts.put(fresh->handle, fresh);
            device->primary = fresh;
            device->primary_users = users;
        }
    }
    if (old)
        old->destroy();
    return CUDA_SUCCESS;
}

CUresult push(CUcontext handle)
{
    std::shared_ptr<Context> context = State::get().contexts.find(handle);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    context_stack().push_back(std::move(context));
    return CUDA_SUCCESS;
}

} // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    return call(__func__, Needs::Init, [&] { return retain(out, device); });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return call(__func__, Needs::Init, [&] { return release(device); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    return call(__func__, Needs::Init, [&] { return reset(device); });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        Device *device = find_device(ordinal);
        if (device == nullptr)
            return CUDA_ERROR_INVALID_DEVICE;
        if (!valid_flags(flags))
            return CUDA_ERROR_INVALID_VALUE;
        std::lock_guard<std::mutex> lock(device->mutex);
        device->primary_flags = flags;
        if (device->primary)
            device->primary->flags = flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *active)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        Device *device = find_device(ordinal);
        if (device == nullptr)
            return CUDA_ERROR_INVALID_DEVICE;
        if (flags == nullptr || active == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        std::lock_guard<std::mutex> lock(device->mutex);
        *flags = device->primary_flags;
        *active = device->primary ? 1 : 0;
        return CUDA_SUCCESS;
    });
}

#undef cuCtxCreate
#define METRALE_EXPORTED extern "C" __attribute__((visibility("default")))

METRALE_EXPORTED CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device);
METRALE_EXPORTED CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity, int count,
                                         unsigned flags, CUdevice device);

CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device)
{
    return call(__func__, Needs::Init, [&] { return create(out, flags, device); });
}

CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *, int count, unsigned flags,
                        CUdevice device)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        return count == 0 ? create(out, flags, device) : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    });
}

CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *parameters, unsigned flags,
                        CUdevice device)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        if (parameters != nullptr && parameters->numExecAffinityParams > 0)
            return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
        return create(out, flags, device);
    });
}

CUresult cuCtxDestroy(CUcontext handle)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        std::shared_ptr<Context> context = State::get().contexts.find(handle);
        // The primary context is released, not destroyed.
        if (!context || context->primary)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (!State::get().contexts.remove(handle))
            return CUDA_ERROR_INVALID_CONTEXT;
        std::vector<std::shared_ptr<Context>> &stack = context_stack();
        if (!stack.empty() && stack.back() == context)
            stack.pop_back();
        context->destroy();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Context> context = current_context();
        *out = context ? context->handle : nullptr;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        std::vector<std::shared_ptr<Context>> &stack = context_stack();
        if (handle == nullptr) {
            if (!stack.empty())
                stack.pop_back();
            return CUDA_SUCCESS;
        }
        std::shared_ptr<Context> context = State::get().contexts.find(handle);
        if (!context)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (stack.empty())
            stack.push_back(std::move(context));
        else
            stack.back() = std::move(context);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxPushCurrent(CUcontext handle)
{
    return call(__func__, Needs::Init, [&] { return push(handle); });
}

CUresult cuCtxPopCurrent(CUcontext *out)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        std::vector<std::shared_ptr<Context>> &stack = context_stack();
        if (stack.empty())
            return CUDA_ERROR_INVALID_CONTEXT;
        if (out != nullptr)
            *out = stack.back()->handle;
        stack.pop_back();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetDevice(CUdevice *out)
{
    return call(__func__, Needs::AnyContext, [&](Context &context) -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = context.device().gpu.ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetFlags(unsigned *out)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = context.flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *out)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        std::shared_ptr<Context> context =
            handle == nullptr ? current_context() : State::get().contexts.find(handle);
        if (!context)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = context->id;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *out)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        std::shared_ptr<Context> context =
            handle == nullptr ? current_context() : State::get().contexts.find(handle);
        if (!context)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = kApiVersion;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSynchronize()
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        context.synchronize();
        return context.error();
    });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        std::shared_ptr<Context> other = State::get().contexts.find(peer);
        if (!other)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (flags != 0)
            return CUDA_ERROR_INVALID_VALUE;
        return other.get() == &context ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
    });
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        return State::get().contexts.find(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    });
}

CUresult cuCtxGetLimit(size_t *out, CUlimit limit)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        // Only the limits of kernels exist, and there are no kernels: the usual values.
        switch (static_cast<int>(limit)) {
        case CU_LIMIT_STACK_SIZE:
            *out = 1024;
            return CUDA_SUCCESS;
        case CU_LIMIT_PRINTF_FIFO_SIZE:
            *out = 1 << 20;
            return CUDA_SUCCESS;
        case CU_LIMIT_MALLOC_HEAP_SIZE:
            *out = 8 << 20;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_UNSUPPORTED_LIMIT;
        }
    });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        int number = static_cast<int>(limit);
        bool known = number == CU_LIMIT_STACK_SIZE || number == CU_LIMIT_PRINTF_FIFO_SIZE ||
                     number == CU_LIMIT_MALLOC_HEAP_SIZE;
        return known ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
    });
}
