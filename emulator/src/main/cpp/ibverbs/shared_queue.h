#ifndef METRALE_EMULATOR_IBVERBS_SHARED_QUEUE_H
#define METRALE_EMULATOR_IBVERBS_SHARED_QUEUE_H

#include "ibverbs/objects.h"

namespace metrale::emulator::ibv
{

struct ReceiveRequest {
    uint64_t id = 0;
    std::vector<ibv_sge> elements;
};

/*
 * A shared receive queue. A request that a queue pair has taken is that queue pair's; its place
 * here becomes free when its completion is polled, or dropped with its queue pair.
 */
class SharedReceiveQueue
{
  public:
    /* NULL with errno set. */
    static ibv_srq *create(Domain &domain, ibv_srq_init_attr *init);
    static std::shared_ptr<SharedReceiveQueue> of(ibv_srq *handle);

    int destroy();
    int modify(const ibv_srq_attr &attr, int mask);
    int query(ibv_srq_attr *attr);
    int post(ibv_recv_wr *wr, ibv_recv_wr **bad);

    /* The oldest request; false when there is none. */
    bool take(ReceiveRequest *out);
    void release(int slots);

    const Domain &domain() const
    {
        return domain_;
    }
    ibv_srq *handle() const
    {
        return &handle_->pub;
    }

    std::atomic<int> users{0};

  private:
    struct Handle : Acknowledged<ibv_srq> {
        std::shared_ptr<SharedReceiveQueue> queue;
    };

    SharedReceiveQueue(Domain &in, const ibv_srq_attr &attr);
    void raise_locked(ibv_event_type type);

    Domain &domain_;
    Context &context_;
    Device &device_;
    Handle *handle_ = nullptr;
    std::mutex mutex_;
    std::deque<ReceiveRequest> requests_;
    uint32_t max_wr_ = 0;
    uint32_t max_sge_ = 0;
    uint32_t limit_ = 0;
    std::atomic<int> used_{0};
    /* It gives nothing out any more. */
    bool broken_ = false;
};

} // namespace metrale::emulator::ibv

#endif
