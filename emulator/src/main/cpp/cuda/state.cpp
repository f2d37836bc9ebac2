#include "cuda/state.h"

#include "common/library.h"

#include <system_error>
#include <thread>

METRALE_EMULATOR_LIBRARY(cuda, "metrale emulator: CUDA driver")

namespace
{

__attribute__((constructor)) void on_load()
{
    metrale::emulator::hide_configured_symbols();
}

} // namespace

namespace metrale::emulator::cuda
{

void Mark::set()
{
    std::lock_guard<std::mutex> lock(mutex_);
    when_ = std::chrono::steady_clock::now();
    done_ = true;
    changed_.notify_all();
}

bool Mark::done() const
{
    std::lock_guard<std::mutex> lock(mutex_);
    return done_;
}

void Mark::wait() const
{
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
}

std::chrono::steady_clock::time_point Mark::when() const
{
    std::lock_guard<std::mutex> lock(mutex_);
    return when_;
}

Stream::Stream(std::shared_ptr<Context> context, unsigned flags, int priority, uint64_t id)
    : context_(std::move(context)), flags_(flags), priority_(priority), id_(id)
{
}

uint64_t Stream::push(Task task)
{
    std::unique_lock<std::mutex> lock(mutex_);
    if (closed_) {
        // Lost a race with its destruction: nobody would ever run it. Who waits gets away.
        uint64_t last = submitted_;
        lock.unlock();
        if (task.mark)
            task.mark->set();
        else if (task.always)
            task.work();
        return last;
    }
    if (!started_) {
        std::thread([self = shared_from_this()] { self->run(); }).detach();
        started_ = true;
    }
    queue_.push_back(std::move(task));
    changed_.notify_all();
    return ++submitted_;
}

bool Stream::pending(uint64_t *last) const
{
    std::lock_guard<std::mutex> lock(mutex_);
    *last = submitted_;
    return completed_ < submitted_;
}

void Stream::submit(Work work, bool always)
{
    append(Task{std::move(work), always, {}, {}});
}

void Stream::submit(std::shared_ptr<Mark> mark)
{
    append(Task{{}, true, std::move(mark), {}});
}

void Stream::append(Task task)
{
    if (!blocking()) {
        push(std::move(task));
        return;
    }

    std::lock_guard<std::mutex> order(context_->order_);
    std::shared_ptr<Stream> by_default;
    std::vector<std::shared_ptr<Stream>> others;
    {
        std::lock_guard<std::mutex> lock(context_->mutex_);
        by_default = context_->default_;
    }
    if (by_default.get() == this)
        others = context_->streams();
    else if (by_default)
        others.push_back(by_default);
    for (const std::shared_ptr<Stream> &other : others) {
        uint64_t last = 0;
        if (other.get() != this && other->blocking() && other->pending(&last))
            task.after.push_back({other, last});
    }
    push(std::move(task));
}

void Stream::wait_for(uint64_t ticket)
{
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return completed_ >= ticket; });
}

void Stream::drain()
{
    uint64_t last = 0;
    if (pending(&last))
        wait_for(last);
}

bool Stream::idle() const
{
    uint64_t last = 0;
    return !pending(&last);
}

void Stream::close()
{
    bool wait = false;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
        wait = started_ && completed_ == submitted_;
        changed_.notify_all();
    }
    // An idle thread is seen off, so that who counts threads after closing finds it gone. The
    // stream's own thread (a host function that closes it) cannot wait for itself.
    if (wait && running_stream() != this) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return ended_; });
    }
}

void Stream::run()
{
    running_stream() = this;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return !queue_.empty() || closed_; });
        if (queue_.empty())
            break;
        Task task = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();

        for (const Fence &fence : task.after)
            fence.stream->wait_for(fence.ticket);
        if (task.work && (task.always || !context_->cancelled())) {
            CUresult result = task.work();
            if (result != CUDA_SUCCESS)
                context_->fail(result);
        }
        // What the work holds goes before it counts as done.
        std::shared_ptr<Mark> mark = std::move(task.mark);
        task = Task{};

        lock.lock();
        ++completed_;
        // Both at once for who looks: no event is done on a stream that seems to be at it still.
        if (mark)
            mark->set();
        changed_.notify_all();
    }
    ended_ = true;
    changed_.notify_all();
}

Context::Context(Device &device, unsigned context_flags, bool is_primary)
    : flags(context_flags), primary(is_primary), id(State::get().next_id++), device_(device)
{
}

CUresult Context::error() const
{
    int lost = device_.lost.load(std::memory_order_acquire);
    if (lost != 0)
        return static_cast<CUresult>(lost);
    return static_cast<CUresult>(error_.load(std::memory_order_acquire));
}

void Context::fail(CUresult code)
{
    int none = 0;
    error_.compare_exchange_strong(none, code);
}

std::shared_ptr<Stream> Context::create_stream(unsigned stream_flags, int priority)
{
    auto stream = std::make_shared<Stream>(shared_from_this(), stream_flags, priority,
                                           State::get().next_id++);
    std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(streams_, [](const std::weak_ptr<Stream> &old) { return old.expired(); });
    streams_.push_back(stream);
    return stream;
}

std::shared_ptr<Stream> Context::default_stream()
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (default_)
            return default_;
    }
    std::shared_ptr<Stream> made = create_stream(CU_STREAM_DEFAULT, 0);
    std::lock_guard<std::mutex> lock(mutex_);
    if (!default_)
        default_ = made;
    return default_;
}

namespace
{

/* Per-thread default streams end with their thread. */
struct ThreadStreams {
    std::map<uint64_t, std::shared_ptr<Stream>> by_context;

    ~ThreadStreams()
    {
        for (auto &entry : by_context)
            entry.second->close();
    }
};

} // namespace

std::shared_ptr<Stream> Context::thread_stream()
{
    thread_local ThreadStreams mine;
    std::shared_ptr<Stream> &stream = mine.by_context[id];
    if (!stream)
        stream = create_stream(CU_STREAM_DEFAULT, 0);
    return stream;
}

std::vector<std::shared_ptr<Stream>> Context::streams()
{
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<Stream>> alive;
    for (const std::weak_ptr<Stream> &weak : streams_) {
        if (std::shared_ptr<Stream> stream = weak.lock())
            alive.push_back(std::move(stream));
    }
    return alive;
}

void Context::synchronize()
{
    for (const std::shared_ptr<Stream> &stream : streams())
        stream->drain();
}

void Context::destroy()
{
    destroyed_.store(true, std::memory_order_release);
    for (const std::shared_ptr<Stream> &stream : streams())
        stream->close();
    State &state = State::get();
    state.streams.remove_if([this](const Stream &stream) { return &stream.context() == this; });
    state.events.remove_if([this](const Event &event) { return event.context.get() == this; });
    state.memory.remove_of(*this);
    std::lock_guard<std::mutex> lock(mutex_);
    default_.reset();
}

State::State()
{
    for (const Gpu &gpu : gpus()) {
        auto device = std::make_unique<Device>();
        device->gpu = gpu;
        devices.push_back(std::move(device));
    }
}

State &State::get()
{
    static State *only = new State();
    return *only;
}

std::vector<std::shared_ptr<Context>> &context_stack()
{
    thread_local std::vector<std::shared_ptr<Context>> stack;
    return stack;
}

std::shared_ptr<Context> current_context()
{
    std::vector<std::shared_ptr<Context>> &stack = context_stack();
    if (stack.empty())
        return nullptr;
    if (stack.back()->primary && stack.back()->destroyed()) {
        // Reset or released and retained again meanwhile: the handle means the new one.
        std::shared_ptr<Context> fresh = State::get().contexts.find(stack.back()->handle);
        if (fresh)
            stack.back() = std::move(fresh);
    }
    return stack.back();
}

bool &in_host_function()
{
    thread_local bool inside = false;
    return inside;
}

Stream *&running_stream()
{
    thread_local Stream *stream = nullptr;
    return stream;
}

CUresult begin(const char *function, Needs needs, std::shared_ptr<Context> *context, bool *skip)
{
    std::shared_ptr<Context> current = current_context();
    int ordinal = current ? current->device().gpu.ordinal : -1;
    Fault fault = host_fault("cuda", function, -1, ordinal);
    if (fault.lost && current)
        current->device().lost = fault.lost_code != 0 ? fault.lost_code : CUDA_ERROR_LAUNCH_FAILED;
    if (fault.code)
        return static_cast<CUresult>(*fault.code);
    if (needs != Needs::Nothing) {
        if (in_host_function())
            return CUDA_ERROR_NOT_PERMITTED;
        if (!State::get().initialized.load(std::memory_order_acquire))
            return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (needs == Needs::Context || needs == Needs::AnyContext) {
        if (!current)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (current->destroyed())
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (needs == Needs::Context && current->error() != CUDA_SUCCESS)
            return current->error();
    }
    *context = std::move(current);
    *skip = fault.skip;
    return CUDA_SUCCESS;
}

Device *find_device(CUdevice device)
{
    State &state = State::get();
    if (device < 0 || static_cast<size_t>(device) >= state.devices.size())
        return nullptr;
    return state.devices[static_cast<size_t>(device)].get();
}

CUresult find_stream(Context &current, CUstream handle, std::shared_ptr<Stream> *out)
{
    if (handle == nullptr || handle == CU_STREAM_LEGACY)
        *out = current.default_stream();
    else if (handle == CU_STREAM_PER_THREAD)
        *out = current.thread_stream();
    else
        *out = State::get().streams.find(handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult find_own_stream(Context &current, CUstream handle, std::shared_ptr<Stream> *out)
{
    CUresult result = find_stream(current, handle, out);
    if (result == CUDA_SUCCESS && &(*out)->context() != &current)
        return CUDA_ERROR_INVALID_HANDLE;
    return result;
}

} // namespace metrale::emulator::cuda
