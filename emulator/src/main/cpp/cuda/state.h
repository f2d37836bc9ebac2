#ifndef METRALE_EMULATOR_CUDA_STATE_H
#define METRALE_EMULATOR_CUDA_STATE_H

#include "cuda/api.h"

#include "common/fault.h"
#include "common/profile.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace metrale::emulator::cuda
{

class Context;
class Stream;

/* Set once when its moment has come, on a stream; what events and waits hang on. */
class Mark
{
  public:
    void set();
    bool done() const;
    void wait() const;
    std::chrono::steady_clock::time_point when() const;

  private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    bool done_ = false;
    std::chrono::steady_clock::time_point when_;
};

struct Device {
    Gpu gpu;
    std::atomic<uint64_t> used{0};
    std::atomic<int> lost{0};

    std::mutex mutex; /* guards the primary context */
    std::shared_ptr<Context> primary;
    CUcontext primary_handle = nullptr;
    unsigned primary_users = 0;
    unsigned primary_flags = 0;
};

/* Work in order, on a thread that is started with the first piece. */
class Stream : public std::enable_shared_from_this<Stream>
{
  public:
    using Work = std::function<CUresult()>;

    Stream(std::shared_ptr<Context> context, unsigned flags, int priority, uint64_t id);

    /*
     * Appends work. Ordered after earlier work of the default stream and the other way round,
     * unless this stream is a non-blocking one. Work marked `always` also runs after an error.
     */
    void submit(Work work, bool always = false);
    /*
     * Appends a mark, set after an error as well. Who sees it set sees what is before it done, and
     * the stream idle where nothing is behind it.
     */
    void submit(std::shared_ptr<Mark> mark);
    /* Appends nothing but a point to wait for; true when it was passed already. */
    void drain();
    bool idle() const;
    /* No more work is taken; what is queued is still done, then the thread ends. */
    void close();

    Context &context() const
    {
        return *context_;
    }
    const std::shared_ptr<Context> &shared_context() const
    {
        return context_;
    }
    unsigned flags() const
    {
        return flags_;
    }
    int priority() const
    {
        return priority_;
    }
    uint64_t id() const
    {
        return id_;
    }
    bool blocking() const
    {
        return (flags_ & CU_STREAM_NON_BLOCKING) == 0;
    }

  private:
    friend class Context;

    struct Fence {
        std::shared_ptr<Stream> stream;
        uint64_t ticket;
    };
    struct Task {
        Work work;
        bool always;
        std::shared_ptr<Mark> mark;
        std::vector<Fence> after;
    };

    void append(Task task);
    uint64_t push(Task task);
    void wait_for(uint64_t ticket);
    bool pending(uint64_t *last) const;
    void run();

    const std::shared_ptr<Context> context_;
    const unsigned flags_;
    const int priority_;
    const uint64_t id_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> queue_;
    uint64_t submitted_ = 0;
    uint64_t completed_ = 0;
    bool started_ = false;
    bool closed_ = false;
    bool ended_ = false;
};

class Context : public std::enable_shared_from_this<Context>
{
  public:
    Context(Device &device, unsigned flags, bool primary);

    Device &device() const
    {
        return device_;
    }
    /* 0, or what all calls in this context fail with from now on. */
    CUresult error() const;
    void fail(CUresult code);
    bool destroyed() const
    {
        return destroyed_.load(std::memory_order_acquire);
    }
    /* Work on streams asks this while it blocks. */
    bool cancelled() const
    {
        return destroyed() || error() != CUDA_SUCCESS;
    }
    /* Ends all streams; memory and events of the context go with it. */
    void destroy();

    std::shared_ptr<Stream> create_stream(unsigned flags, int priority);
    std::shared_ptr<Stream> default_stream();
    std::shared_ptr<Stream> thread_stream();
    std::vector<std::shared_ptr<Stream>> streams();
    void synchronize();

    CUcontext handle = nullptr;
    std::atomic<unsigned> flags;
    const bool primary;
    const uint64_t id;

  private:
    friend class Stream;

    Device &device_;
    std::atomic<int> error_{0};
    std::atomic<bool> destroyed_{false};
    std::mutex order_; /* held while work of blocking streams is appended */
    std::mutex mutex_;
    std::vector<std::weak_ptr<Stream>> streams_;
    std::shared_ptr<Stream> default_;
};

struct Event {
    std::shared_ptr<Context> context;
    unsigned flags = 0;
    std::mutex mutex;
    std::shared_ptr<Mark> mark; /* of the newest record; none: never recorded */
};

enum class Kind { Device = 1, Managed = 2, Pinned = 3, Registered = 4 };

struct Allocation {
    ~Allocation();

    uintptr_t base = 0;
    size_t bytes = 0;
    size_t mapped = 0;
    Kind kind = Kind::Device;
    unsigned flags = 0;
    int fd = -1;
    uint64_t id = 0;
    Device *device = nullptr;
    std::weak_ptr<Context> context;

    char *data(uintptr_t address) const
    {
        return reinterpret_cast<char *>(address);
    }
    bool contains(uintptr_t address, size_t length) const
    {
        return address >= base && length <= bytes && address - base <= bytes - length;
    }
};

/* Handles are never used twice: one of a destroyed object is known to be so. */
template <typename T> class HandleTable
{
  public:
    explicit HandleTable(uintptr_t first) : next_(first)
    {
    }

    void *add(std::shared_ptr<T> object)
    {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        auto *handle = reinterpret_cast<void *>(next_);
        next_ += 16;
        objects_.emplace(handle, std::move(object));
        return handle;
    }
    std::shared_ptr<T> find(const void *handle) const
    {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        auto found = objects_.find(const_cast<void *>(handle));
        return found == objects_.end() ? nullptr : found->second;
    }
    void put(void *handle, std::shared_ptr<T> object)
    {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        objects_[handle] = std::move(object);
    }
    std::shared_ptr<T> remove(const void *handle)
    {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        auto found = objects_.find(const_cast<void *>(handle));
        if (found == objects_.end())
            return nullptr;
        std::shared_ptr<T> object = std::move(found->second);
        objects_.erase(found);
        return object;
    }
    template <typename Predicate> void remove_if(Predicate predicate)
    {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        std::erase_if(objects_, [&](const auto &entry) { return predicate(*entry.second); });
    }
    size_t size() const
    {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        return objects_.size();
    }

  private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<void *, std::shared_ptr<T>> objects_;
    uintptr_t next_;
};

class Memory
{
  public:
    /* Adds memory of its own, with a descriptor where one can be had. */
    CUresult allocate(Context &context, Kind kind, size_t bytes, unsigned flags, uintptr_t *out);
    CUresult adopt(Context &context, uintptr_t address, size_t bytes, unsigned flags);
    std::shared_ptr<Allocation> find(uintptr_t address) const;
    /* Takes the one that begins here, if it is pinned (`host`) or device memory (else). */
    std::shared_ptr<Allocation> remove(uintptr_t address, bool host);
    bool unregister(uintptr_t address);
    void remove_of(const Context &context);
    uint64_t bytes() const;
    uint64_t count() const;

  private:
    mutable std::shared_mutex mutex_;
    std::map<uintptr_t, std::shared_ptr<Allocation>> by_base_;
    uint64_t next_id_ = 1;
};

/* Everything there is; made by the first call, never destroyed (threads outlive exit). */
struct State {
    State();
    static State &get();

    std::atomic<bool> initialized{false};
    std::vector<std::unique_ptr<Device>> devices;
    HandleTable<Context> contexts{0x7c0000001000};
    HandleTable<Stream> streams{0x7c1000001000};
    HandleTable<Event> events{0x7c2000001000};
    Memory memory;
    std::atomic<uint64_t> next_id{1};
};

/* The thread's stack of current contexts; the top one is current. */
std::vector<std::shared_ptr<Context>> &context_stack();
std::shared_ptr<Context> current_context();
/* Set while a host function runs: it must not call the driver. */
bool &in_host_function();
/* The stream whose work this thread runs, if any. */
Stream *&running_stream();

enum class Needs { Nothing, Init, Context, AnyContext };

/* Common start of a call: the faults, then whether what it needs is there. */
CUresult begin(const char *function, Needs needs, std::shared_ptr<Context> *context, bool *skip);

/*
 * The frame of every API function. `body` gets the current context where it needs one
 * (`AnyContext`: also one with a sticky error, for what only releases).
 */
template <typename Body> CUresult call(const char *function, Needs needs, Body body)
{
    try {
        std::shared_ptr<Context> context;
        bool skip = false;
        CUresult result = begin(function, needs, &context, &skip);
        if (result != CUDA_SUCCESS || skip)
            return result;
        if constexpr (std::is_invocable_v<Body, Context &>) {
            if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
            return body(*context);
        } else {
            return body();
        }
    } catch (const std::bad_alloc &) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::system_error &) {
        // No thread could be started.
        return CUDA_ERROR_OPERATING_SYSTEM;
    } catch (...) {
        return CUDA_ERROR_UNKNOWN;
    }
}

/* Ordinal of a device handle, or null. */
Device *find_device(CUdevice device);

/* Resolves the special handles (null, legacy, per-thread) as well. */
CUresult find_stream(Context &current, CUstream handle, std::shared_ptr<Stream> *out);
/* The same, for work: the stream must be of the current context. */
CUresult find_own_stream(Context &current, CUstream handle, std::shared_ptr<Stream> *out);

} // namespace metrale::emulator::cuda

#endif
