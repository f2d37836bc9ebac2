#include "cuda/state.h"

#include <system_error>

using namespace metrale::emulator;
using namespace metrale::emulator::cuda;

namespace
{

constexpr unsigned kKnownFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult record(Context &context, CUevent event_handle, CUstream stream_handle)
{
    std::shared_ptr<Event> event = State::get().events.find(event_handle);
    std::shared_ptr<Stream> stream;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = find_stream(context, stream_handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (event->context.get() != &stream->context())
        return CUDA_ERROR_INVALID_HANDLE;
    auto mark = std::make_shared<Mark>();
    {
        std::lock_guard<std::mutex> lock(event->mutex);
        event->mark = mark;
    }
    // Set after an error as well: who waits must get away.
    stream->submit(mark);
    return CUDA_SUCCESS;
}

std::shared_ptr<Mark> newest_mark(Event &event)
{
    std::lock_guard<std::mutex> lock(event.mutex);
    return event.mark;
}

CUresult elapsed(float *out, CUevent start_handle, CUevent end_handle)
{
    std::shared_ptr<Event> start = State::get().events.find(start_handle);
    std::shared_ptr<Event> end = State::get().events.find(end_handle);
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!start || !end ||
        start->context->device().gpu.ordinal != end->context->device().gpu.ordinal)
        return CUDA_ERROR_INVALID_HANDLE;
    if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0)
        return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<Mark> first = newest_mark(*start);
    std::shared_ptr<Mark> second = newest_mark(*end);
    if (!first || !second)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!first->done() || !second->done())
        return CUDA_ERROR_NOT_READY;
    std::chrono::duration<float, std::milli> between = second->when() - first->when();
    *out = between.count();
    return CUDA_SUCCESS;
}

} // namespace

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        bool interprocess = (flags & CU_EVENT_INTERPROCESS) != 0;
        if (out == nullptr || (flags & ~kKnownFlags) != 0 ||
            (interprocess && (flags & CU_EVENT_DISABLE_TIMING) == 0))
            return CUDA_ERROR_INVALID_VALUE;
        auto event = std::make_shared<Event>();
        event->context = context.shared_from_this();
        event->flags = flags;
        *out = static_cast<CUevent>(State::get().events.add(std::move(event)));
        return CUDA_SUCCESS;
    });
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return call(__func__, Needs::Context,
                [&](Context &context) { return record(context, event, stream); });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    return call(__func__, Needs::Context, [&](Context &context) -> CUresult {
        if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0)
            return CUDA_ERROR_INVALID_VALUE;
        return record(context, event, stream);
    });
}

CUresult cuEventQuery(CUevent handle)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        std::shared_ptr<Event> event = State::get().events.find(handle);
        if (!event)
            return CUDA_ERROR_INVALID_HANDLE;
        if (event->context->error() != CUDA_SUCCESS)
            return event->context->error();
        std::shared_ptr<Mark> mark = newest_mark(*event);
        return !mark || mark->done() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    });
}

CUresult cuEventSynchronize(CUevent handle)
{
    return call(__func__, Needs::Context, [&]() -> CUresult {
        std::shared_ptr<Event> event = State::get().events.find(handle);
        if (!event)
            return CUDA_ERROR_INVALID_HANDLE;
        std::shared_ptr<Mark> mark = newest_mark(*event);
        if (mark)
            mark->wait();
        return event->context->error();
    });
}

CUresult cuEventDestroy(CUevent handle)
{
    return call(__func__, Needs::Init, [&]() -> CUresult {
        std::shared_ptr<Event> event = State::get().events.remove(handle);
        return event ? event->context->error() : CUDA_ERROR_INVALID_HANDLE;
    });
}

#undef cuEventElapsedTime
extern "C" __attribute__((visibility("default"))) CUresult
cuEventElapsedTime(float *out, CUevent start, CUevent end)
{
    return call(__func__, Needs::Context, [&] { return elapsed(out, start, end); });
}

CUresult cuEventElapsedTime_v2(float *out, CUevent start, CUevent end)
{
    return call(__func__, Needs::Context, [&] { return elapsed(out, start, end); });
}
