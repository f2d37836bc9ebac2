#include "cuda/state.h"

#include <system_error>

using namespace metrale::emulator;
using namespace metrale::emulator::cuda;

namespace
{

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

CUresult create(Context &context, CUstream *out, unsigned flags, int priority)
{
    if (out == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    priority = std::min(std::max(priority, kGreatestPriority), kLeastPriority);
    std::shared_ptr<Stream> stream = context.create_stream(flags, priority);
    *out = static_cast<CUstream>(State::get().streams.add(std::move(stream)));
    return CUDA_SUCCESS;
}

/* Looks the stream up in any context and hands it to `body`. */
template <typename Body> CUresult with_stream(const char *function, CUstream handle, Body body)
{
    return call(function, Needs::Context, [&](Context &context) -> CUresult {
        std::shared_ptr<Stream> stream;
        CUresult result = find_stream(context, handle, &stream);
        return result == CUDA_SUCCESS ? body(*stream) : result;
    });
}

CUresult launch(const char *function, CUstream handle, CUhostFn fn, void *data)
{
    return call(function, Needs::Context, [&](Context &context) -> CUresult {
        if (fn == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Stream> stream;
        CUresult result = find_own_stream(context, handle, &stream);
        if (result != CUDA_SUCCESS)
            return result;
        stream->submit([fn, data] {
            in_host_function() = true;
            fn(data);
            in_host_function() = false;
            return CUDA_SUCCESS;
        });
        return CUDA_SUCCESS;
    });
}

} // namespace

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        if (least != nullptr)
            *least = kLeastPriority;
        if (greatest != nullptr)
            *greatest = kGreatestPriority;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    return call(__func__, Needs::Context,
                [&](Context &context) { return create(context, out, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    return call(__func__, Needs::Context,
                [&](Context &context) { return create(context, out, flags, priority); });
}

CUresult cuStreamDestroy(CUstream handle)
{
    // Needs no current context: the stream knows its own.
    return call(__func__, Needs::Init, [&]() -> CUresult {
        std::shared_ptr<Stream> stream = State::get().streams.remove(handle);
        if (!stream)
            return CUDA_ERROR_INVALID_HANDLE;
        stream->close();
        return stream->context().error();
    });
}

CUresult cuStreamQuery(CUstream handle)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        std::shared_ptr<Stream> stream;
        CUresult result = find_stream(context, handle, &stream);
        if (result != CUDA_SUCCESS)
            return result;
        bool idle = stream->idle();
        // The default stream is done when all it would wait for is done.
        if (stream == stream->context().default_stream()) {
            for (const std::shared_ptr<Stream> &other : stream->context().streams())
                idle = idle && (!other->blocking() || other->idle());
        }
        if (stream->context().error() != CUDA_SUCCESS)
            return stream->context().error();
        return idle ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    });
}

CUresult cuStreamSynchronize(CUstream handle)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        std::shared_ptr<Stream> stream;
        CUresult result = find_stream(context, handle, &stream);
        if (result != CUDA_SUCCESS)
            return result;
        if (stream == stream->context().default_stream()) {
            for (const std::shared_ptr<Stream> &other : stream->context().streams()) {
                if (other->blocking())
                    other->drain();
            }
        }
        stream->drain();
        return stream->context().error();
    });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags)
{
    return with_stream(__func__, handle, [&](Stream &stream) -> CUresult {
        std::shared_ptr<Event> event = State::get().events.find(event_handle);
        if (!event)
            return CUDA_ERROR_INVALID_HANDLE;
        if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0)
            return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Mark> mark;
        {
            std::lock_guard<std::mutex> lock(event->mutex);
            mark = event->mark;
        }
        // What was never recorded counts as done.
        if (mark && !mark->done()) {
            stream.submit([mark] {
                mark->wait();
                return CUDA_SUCCESS;
            });
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned flags)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        if (callback == nullptr || flags != 0)
            return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Stream> stream;
        CUresult result = find_own_stream(context, handle, &stream);
        if (result != CUDA_SUCCESS)
            return result;
        // Called after an error as well, with the error as its status.
        Stream *raw = stream.get();
        stream->submit(
            [raw, handle, callback, data] {
                in_host_function() = true;
                callback(handle, raw->context().error(), data);
                in_host_function() = false;
                return CUDA_SUCCESS;
            },
            true);
        return CUDA_SUCCESS;
    });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data)
{
    return launch(__func__, handle, fn, data);
}

CUresult cuLaunchHostFunc_v2(CUstream handle, CUhostFn fn, void *data, unsigned)
{
    return launch(__func__, handle, fn, data);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags)
{
    return with_stream(__func__, handle, [&](Stream &stream) -> CUresult {
        if (flags == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *flags = stream.flags();
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetPriority(CUstream handle, int *priority)
{
    return with_stream(__func__, handle, [&](Stream &stream) -> CUresult {
        if (priority == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *priority = stream.priority();
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *out)
{
    return with_stream(__func__, handle, [&](Stream &stream) -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = stream.context().handle;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *out)
{
    return with_stream(__func__, handle, [&](Stream &stream) -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = stream.context().device().gpu.ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *out)
{
    return with_stream(__func__, handle, [&](Stream &stream) -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = stream.id();
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *out)
{
    return with_stream(__func__, handle, [&](Stream &) -> CUresult {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = CU_STREAM_CAPTURE_STATUS_NONE;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode)
{
    return with_stream(__func__, handle,
                       [&](Stream &) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; });
}
