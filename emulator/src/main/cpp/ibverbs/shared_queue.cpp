/* Receive requests that any number of queue pairs use. */
#include "ibverbs/shared_queue.h"

#include "common/fault.h"

#include <cerrno>

namespace metrale::emulator::ibv
{

SharedReceiveQueue::SharedReceiveQueue(Domain &in, const ibv_srq_attr &attr)
    : domain_(in), context_(*in.context), device_(in.context->device), max_wr_(attr.max_wr),
      max_sge_(attr.max_sge)
{
}

ibv_srq *SharedReceiveQueue::create(Domain &domain, ibv_srq_init_attr *init)
{
    Device &device = domain.context->device;
    const Limits &limits = device.limits;
    const ibv_srq_attr &attr = init->attr;
    auto above = [](uint32_t asked, int limit) { return asked > static_cast<uint32_t>(limit); };

    errno = 0;
    if (device.fatal)
        errno = ENODEV;
    else if (limits.max_srq == 0)
        errno = EOPNOTSUPP;
    else if (attr.max_wr == 0 || above(attr.max_wr, limits.max_srq_wr) ||
             above(attr.max_sge, limits.max_srq_sge))
        errno = EINVAL;
    if (errno != 0)
        return nullptr;
    if (++device.shared_receive_queues > limits.max_srq) {
        --device.shared_receive_queues;
        errno = ENOMEM;
        return nullptr;
    }

    std::shared_ptr<SharedReceiveQueue> queue(new SharedReceiveQueue(domain, attr));
    auto *handle = new Handle;
    handle->queue = queue;
    queue->handle_ = handle;
    ibv_srq &pub = handle->pub;
    pub.context = domain.context->handle();
    pub.srq_context = init->srq_context;
    pub.pd = &domain.handle;
    ++domain.children;
    ++live(Kind::SharedReceiveQueue);
    return &pub;
}

std::shared_ptr<SharedReceiveQueue> SharedReceiveQueue::of(ibv_srq *handle)
{
    return static_cast<Handle *>(Handle::of(handle))->queue;
}

int SharedReceiveQueue::destroy()
{
    if (users != 0)
        return EBUSY;
    context_.forget_events(this);
    handle_->await();
    --domain_.children;
    --device_.shared_receive_queues;
    --live(Kind::SharedReceiveQueue);
    // Entries of completion queues may still know this.
    delete handle_;
    return 0;
}

int SharedReceiveQueue::modify(const ibv_srq_attr &attr, int mask)
{
    if (device_.fatal)
        return ENODEV;
    if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0)
        return EINVAL;
    std::lock_guard<std::mutex> lock(mutex_);
    uint32_t most = (mask & IBV_SRQ_MAX_WR) != 0 ? attr.max_wr : max_wr_;
    if (most == 0 || most > static_cast<uint32_t>(device_.limits.max_srq_wr) ||
        most < static_cast<uint32_t>(used_.load()))
        return EINVAL;
    if ((mask & IBV_SRQ_LIMIT) != 0) {
        if (attr.srq_limit > most)
            return EINVAL;
        limit_ = attr.srq_limit;
    }
    max_wr_ = most;
    return 0;
}

int SharedReceiveQueue::query(ibv_srq_attr *attr)
{
    if (device_.fatal)
        return ENODEV;
    std::lock_guard<std::mutex> lock(mutex_);
    attr->max_wr = max_wr_;
    attr->max_sge = max_sge_;
    attr->srq_limit = limit_;
    return 0;
}

int SharedReceiveQueue::post(ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    std::lock_guard<std::mutex> lock(mutex_);
    for (; wr != nullptr; wr = wr->next) {
        int error = 0;
        if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > max_sge_)
            error = EINVAL;
        else if (used_ >= static_cast<int>(max_wr_))
            error = ENOMEM;
        if (error != 0) {
            *bad = wr;
            return error;
        }
        ReceiveRequest request;
        request.id = wr->wr_id;
        request.elements.assign(wr->sg_list, wr->sg_list + wr->num_sge);
        ++used_;
        requests_.push_back(std::move(request));
    }
    return 0;
}

void SharedReceiveQueue::raise_locked(ibv_event_type type)
{
    ibv_async_event event{};
    event.event_type = type;
    event.element.srq = &handle_->pub;
    context_.raise(event, this);
}

bool SharedReceiveQueue::take(ReceiveRequest *out)
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (broken_ || requests_.empty())
        return false;
    Fault fault = Faults::instance().hit("ibverbs", "shared_receive", -1, device_.index);
    if (fault.async) {
        broken_ = true;
        raise_locked(static_cast<ibv_event_type>(*fault.async));
        return false;
    }
    *out = std::move(requests_.front());
    requests_.pop_front();
    if (limit_ != 0 && requests_.size() < limit_) {
        limit_ = 0;
        raise_locked(IBV_EVENT_SRQ_LIMIT_REACHED);
    }
    return true;
}

void SharedReceiveQueue::release(int slots)
{
    used_ -= slots;
}

} // namespace metrale::emulator::ibv
