#include "ibverbs/objects.h"

#include "common/fault.h"

#include "ibverbs/queue_pair.h"
#include "ibverbs/shared_queue.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <random>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace metrale::emulator::ibv
{

std::atomic<int> &live(Kind kind)
{
    static std::atomic<int> counts[static_cast<size_t>(Kind::Count)];
    return counts[static_cast<size_t>(kind)];
}

Signal::Signal(bool counting)
    : fd_(eventfd(0, counting ? EFD_CLOEXEC | EFD_SEMAPHORE : EFD_CLOEXEC))
{
}

Signal::~Signal()
{
    if (fd_ >= 0)
        close(fd_);
}

void Signal::raise()
{
    uint64_t one = 1;
    if (write(fd_, &one, sizeof(one)) < 0) {
        // Only a counter that is full can fail, and that is readable.
    }
}

void Signal::take()
{
    struct pollfd ready = {fd_, POLLIN, 0};
    uint64_t value;
    if (::poll(&ready, 1, 0) > 0 && read(fd_, &value, sizeof(value)) < 0) {
        // Another thread took it.
    }
}

Context::Context(Device &on) : device(on)
{
    extended.context.device = &device.handle;
    extended.context.async_fd = events_ready_.fd();
    extended.context.cmd_fd = -1;
    extended.context.num_comp_vectors = device.limits.comp_vectors;
    extended.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&extended.context.mutex, nullptr);
    extended.sz = sizeof(extended);
    ++live(Kind::Context);
    device.opened(this);
}

Context::~Context()
{
    device.closed(this);
    pthread_mutex_destroy(&extended.context.mutex);
    --live(Kind::Context);
}

Context *Context::of(ibv_context *handle)
{
    auto *bytes = reinterpret_cast<char *>(handle) - offsetof(verbs_context, context);
    return reinterpret_cast<Context *>(bytes);
}

void Context::raise(const ibv_async_event &event, const void *owner)
{
    std::lock_guard<std::mutex> lock(events_mutex_);
    events_.push_back({event, owner});
    events_ready_.raise();
}

void Context::forget_events(const void *owner)
{
    std::lock_guard<std::mutex> lock(events_mutex_);
    for (auto i = events_.begin(); i != events_.end();) {
        if (i->owner == owner) {
            i = events_.erase(i);
            events_ready_.take();
        } else {
            ++i;
        }
    }
}

int Context::next_event(ibv_async_event *out)
{
    for (;;) {
        uint64_t value;
        if (read(events_ready_.fd(), &value, sizeof(value)) < 0)
            return -1;
        std::lock_guard<std::mutex> lock(events_mutex_);
        // Its object may have been destroyed in between.
        if (events_.empty())
            continue;
        *out = events_.front().event;
        const void *owner = events_.front().owner;
        events_.pop_front();
        bool of_shared =
            out->event_type == IBV_EVENT_SRQ_ERR || out->event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
        if (owner != nullptr && of_shared) {
            Acknowledged<ibv_srq>::of(out->element.srq)->event_taken();
        } else if (owner != nullptr && out->event_type == IBV_EVENT_CQ_ERR) {
            CompletionQueue *queue = ibv::of(out->element.cq);
            pthread_mutex_lock(&queue->handle.mutex);
            ++queue->async_taken;
            pthread_mutex_unlock(&queue->handle.mutex);
        } else if (owner != nullptr) {
            Acknowledged<ibv_qp>::of(out->element.qp)->event_taken();
        }
        return 0;
    }
}

void Context::add(QueuePair *pair)
{
    std::lock_guard<std::mutex> lock(pairs_mutex_);
    pairs_.insert(pair);
}

void Context::remove(QueuePair *pair)
{
    std::lock_guard<std::mutex> lock(pairs_mutex_);
    pairs_.erase(pair);
}

void Context::fail_queue_pairs()
{
    std::lock_guard<std::mutex> lock(pairs_mutex_);
    for (QueuePair *pair : pairs_)
        pair->fail();
}

Region::~Region()
{
    if (mapped != nullptr)
        munmap(mapped, mapped_bytes);
}

RegionTable &RegionTable::instance()
{
    static auto *only = new RegionTable();
    return *only;
}

int RegionTable::add(std::shared_ptr<Region> region)
{
    static thread_local std::minstd_rand random{std::random_device{}()};
    std::lock_guard<std::mutex> lock(mutex_);
    // Keys are spread, so that a wrong one is wrong and not a neighbour's.
    uint32_t table_key;
    do {
        table_key = (++next_ << 12) ^ (static_cast<uint32_t>(random()) & 0xfff);
    } while (table_key == 0 || regions_.count(table_key) != 0);
    region->handle.lkey = region->handle.rkey = region->handle.handle = table_key;
    regions_[table_key] = std::move(region);
    return 0;
}

bool RegionTable::remove(Region *region)
{
    std::shared_ptr<Region> kept;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        auto found = regions_.find(region->handle.lkey);
        if (found == regions_.end() || found->second.get() != region)
            return false;
        kept = std::move(found->second);
        regions_.erase(found);
    }
    std::unique_lock<std::shared_mutex> lock(kept->mutex);
    kept->valid = false;
    return true;
}

bool RegionTable::find(uint32_t table_key, const Domain *domain, uint64_t address, uint64_t length,
                       unsigned access, Piece *out)
{
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = regions_.find(table_key);
    if (found == regions_.end())
        return false;
    const std::shared_ptr<Region> &region = found->second;
    if (region->domain != domain || (region->access & access) != access)
        return false;
    if (address < region->iova || length > region->length ||
        address - region->iova > region->length - length)
        return false;
    *out = {region, region->base + (address - region->iova), length};
    return true;
}

void Entry::release() const
{
    if (shared)
        shared->release(slots);
    else if (pair)
        pair->release(receive, slots);
}

bool CompletionQueue::push(Entry entry)
{
    // Only for what was sent: what the tests of rails are about.
    Fault fault;
    if (!entry.receive)
        fault = Faults::instance().hit("ibverbs", "completion", -1, context->device.index);
    std::lock_guard<std::mutex> lock(mutex);
    if (overrun)
        return false;
    if (fault.skip)
        return true;
    if (fault.code == EEXIST) {
        Entry twin;
        twin.wc = entry.wc;
        entries.push_back(std::move(twin));
    }
    if (fault.code == EOVERFLOW || entries.size() >= static_cast<size_t>(handle.cqe)) {
        overrun = true;
        ibv_async_event event{};
        event.event_type = IBV_EVENT_CQ_ERR;
        event.element.cq = &handle;
        context->raise(event, this);
        return false;
    }
    bool announces =
        armed_ == Armed::Any ||
        (armed_ == Armed::Solicited && (entry.solicited || entry.wc.status != IBV_WC_SUCCESS));
    entries.push_back(std::move(entry));
    if (announces && channel != nullptr) {
        armed_ = Armed::No;
        std::lock_guard<std::mutex> channel_lock(channel->mutex);
        channel->events.push_back(this);
        channel->ready.raise();
    }
    return true;
}

int CompletionQueue::poll(int capacity, ibv_wc *out)
{
    std::unique_lock<std::mutex> lock(mutex);
    int count = 0;
    while (count < capacity && !entries.empty()) {
        Entry &entry = entries.front();
        out[count++] = entry.wc;
        entry.release();
        entries.pop_front();
    }
    if (count == 0 && overrun) {
        errno = EIO;
        return -1;
    }
    lock.unlock();
    // The worker that a spinning caller waits for needs a processor too.
    if (count == 0)
        sched_yield();
    return count;
}

int CompletionQueue::arm(bool solicited_only)
{
    std::lock_guard<std::mutex> lock(mutex);
    // Asking for any event is not taken back by asking for a solicited one.
    if (!solicited_only)
        armed_ = Armed::Any;
    else if (armed_ == Armed::No)
        armed_ = Armed::Solicited;
    return 0;
}

void CompletionQueue::forget(const QueuePair *pair)
{
    std::lock_guard<std::mutex> lock(mutex);
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [&](const Entry &entry) {
                                     bool gone = entry.pair.get() == pair;
                                     if (gone)
                                         entry.release();
                                     return gone;
                                 }),
                  entries.end());
}

int CompletionQueue::resize(int count)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (static_cast<size_t>(count) < entries.size())
        return EINVAL;
    handle.cqe = count;
    return 0;
}

CompletionQueue *of(ibv_cq *handle)
{
    return reinterpret_cast<CompletionQueue *>(handle);
}

Domain *of(ibv_pd *handle)
{
    return reinterpret_cast<Domain *>(handle);
}

Region *of(ibv_mr *handle)
{
    return reinterpret_cast<Region *>(handle);
}

Channel *of(ibv_comp_channel *handle)
{
    return reinterpret_cast<Channel *>(handle);
}

} // namespace metrale::emulator::ibv
