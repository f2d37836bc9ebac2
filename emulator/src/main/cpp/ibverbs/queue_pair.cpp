#include "ibverbs/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>
#include <unistd.h>

namespace metrale::emulator::ibv
{

namespace
{

struct Step {
    ibv_qp_state from;
    ibv_qp_state to;
    int required;
    int optional;
};

/* A thread that leaves signals to the program's own threads. */
template <typename Body> std::thread start(Body body)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
        sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread(std::move(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

constexpr int kInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kReceive = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kSend =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int kTuning = IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER;

/* What the kernel allows for a reliable connection, without alternate paths. */
constexpr Step kSteps[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, kInit, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInit},
    {IBV_QPS_INIT, IBV_QPS_RTR, kReceive, IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_RTR, IBV_QPS_RTS, kSend, kTuning},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kTuning},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, 0},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kTuning},
};

} // namespace

QueuePair::QueuePair(Domain &in, const ibv_qp_init_attr &init)
    : domain_(in), device_(in.context->device), context_(*in.context),
      send_queue_(*ibv::of(init.send_cq)), receive_queue_(*ibv::of(init.recv_cq)), cap_(init.cap),
      signal_all_(init.sq_sig_all != 0), type_(init.qp_type)
{
    if (init.srq != nullptr) {
        shared_ = SharedReceiveQueue::of(init.srq);
        cap_.max_recv_wr = cap_.max_recv_sge = 0;
    }
}

QueuePair::~QueuePair()
{
    if (listener_ >= 0)
        close(listener_);
}

bool QueuePair::bind_number()
{
    static thread_local std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<uint32_t> numbers(0x100, 0xfffffe);
    for (int tries = 0; tries < 64; ++tries) {
        number_ = numbers(random);
        listener_ = listen_as(number_);
        if (listener_ >= 0)
            return true;
        if (errno != EADDRINUSE)
            return false;
    }
    return false;
}

ibv_qp *QueuePair::create(Domain &domain, ibv_qp_init_attr *init)
{
    Device &device = domain.context->device;
    const Limits &limits = device.limits;
    auto above = [](uint32_t asked, int limit) { return asked > static_cast<uint32_t>(limit); };

    if (device.fatal) {
        errno = ENODEV;
        return nullptr;
    }
    if (init->qp_type != IBV_QPT_RC) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    if (init->send_cq == nullptr || init->recv_cq == nullptr ||
        above(init->cap.max_send_wr, limits.max_qp_wr) ||
        (init->srq == nullptr && above(init->cap.max_recv_wr, limits.max_qp_wr)) ||
        above(init->cap.max_send_sge, limits.max_sge) ||
        above(init->cap.max_recv_sge, limits.max_sge) ||
        above(init->cap.max_inline_data, limits.max_inline_bytes)) {
        errno = EINVAL;
        return nullptr;
    }
    if (++device.queue_pairs > limits.max_qp) {
        --device.queue_pairs;
        errno = ENOMEM;
        return nullptr;
    }

    std::shared_ptr<QueuePair> pair(new QueuePair(domain, *init));
    if (!pair->bind_number()) {
        --device.queue_pairs;
        return nullptr;
    }
    auto *handle = new Handle;
    handle->pair = pair;
    pair->handle_ = handle;
    ibv_qp &pub = handle->pub;
    pub.context = domain.context->handle();
    pub.qp_context = init->qp_context;
    pub.pd = &domain.handle;
    pub.send_cq = init->send_cq;
    pub.recv_cq = init->recv_cq;
    pub.srq = init->srq;
    pub.handle = pair->number_;
    pub.qp_num = pair->number_;
    pub.state = IBV_QPS_RESET;
    pub.qp_type = init->qp_type;

    ++pair->send_queue_.users;
    ++pair->receive_queue_.users;
    if (pair->shared_)
        ++pair->shared_->users;
    ++domain.children;
    ++live(Kind::QueuePair);
    domain.context->add(pair.get());
    pair->responder_ = start([raw = pair.get()] { raw->answer_loop(); });
    pair->sender_ = start([raw = pair.get()] { raw->send_loop(); });
    return &pub;
}

std::shared_ptr<QueuePair> QueuePair::of(ibv_qp *handle)
{
    return static_cast<Handle *>(Handle::of(handle))->pair;
}

int QueuePair::destroy()
{
    context_.remove(this);
    {
        std::lock_guard<std::mutex> lock(mutex_);
        closing_ = true;
        sending_ = answering_ = false;
        ++generation_;
    }
    interrupt();
    sender_.join();
    responder_.join();
    close(listener_);
    listener_ = -1;
    send_queue_.forget(this);
    receive_queue_.forget(this);
    context_.forget_events(this);
    {
        std::lock_guard<std::mutex> lock(mutex_);
        drop_receives_locked();
    }
    handle_->await();

    --send_queue_.users;
    --receive_queue_.users;
    if (shared_)
        --shared_->users;
    --domain_.children;
    --device_.queue_pairs;
    --live(Kind::QueuePair);
    delete handle_;
    return 0;
}

void QueuePair::interrupt()
{
    changed_.notify_all();
    sender_signal_.raise();
    responder_signal_.raise();
}

void QueuePair::fail()
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (state_ != IBV_QPS_RESET)
            enter_error_locked();
    }
    interrupt();
}

void QueuePair::raise_locked(ibv_event_type type)
{
    if (closing_)
        return;
    ibv_async_event event{};
    event.event_type = type;
    event.element.qp = &handle_->pub;
    context_.raise(event, this);
}

void QueuePair::flush_receives_locked()
{
    while (!receives_.empty()) {
        ReceiveRequest request = std::move(receives_.front());
        receives_.pop_front();
        ibv_wc wc{};
        wc.status = IBV_WC_WR_FLUSH_ERR;
        complete_locked(request, wc, false);
    }
}

bool QueuePair::take_receive_locked(ReceiveRequest *out)
{
    bool taken = !receives_.empty();
    if (taken) {
        *out = std::move(receives_.front());
        receives_.pop_front();
    } else if (shared_) {
        taken = shared_->take(out);
    }
    receiving_ = taken;
    return taken;
}

void QueuePair::keep_receive_locked(ReceiveRequest request)
{
    receiving_ = false;
    receives_.push_front(std::move(request));
    if (state_ == IBV_QPS_ERR) {
        flush_receives_locked();
        tell_last_receive_locked();
    }
}

/* Once this is in the error state and none of what it has taken is left. */
void QueuePair::tell_last_receive_locked()
{
    if (shared_ && state_ == IBV_QPS_ERR && !receiving_)
        raise_locked(IBV_EVENT_QP_LAST_WQE_REACHED);
}

void QueuePair::drop_receives_locked()
{
    if (shared_)
        shared_->release(static_cast<int>(receives_.size()) + (receiving_ ? 1 : 0));
    receives_.clear();
    receiving_ = false;
}

/* The sender flushes the send queue: the request it executes comes first. */
void QueuePair::enter_error_locked()
{
    if (state_ == IBV_QPS_ERR)
        return;
    state_ = IBV_QPS_ERR;
    sending_ = answering_ = false;
    flush_receives_locked();
    tell_last_receive_locked();
    interrupt();
}

void QueuePair::reset_locked()
{
    state_ = IBV_QPS_RESET;
    sending_ = answering_ = false;
    ++generation_;
    sends_.clear();
    drop_receives_locked();
    unsignaled_ = 0;
    messages_sent_ = messages_received_ = 0;
    attr_ = {};
    // First, so that nothing can be polled and released after the counts are zero.
    send_queue_.forget(this);
    receive_queue_.forget(this);
    sends_used_ = receives_used_ = 0;
    interrupt();
}

int QueuePair::check_step(const ibv_qp_attr &attr, int mask, const Port &port) const
{
    ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : state_;
    if ((mask & IBV_QP_CUR_STATE) != 0 && attr.cur_qp_state != state_)
        return EINVAL;
    int fields = mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE);
    if (to == IBV_QPS_ERR || to == IBV_QPS_RESET)
        return fields == 0 ? 0 : EINVAL;

    const Step *step = nullptr;
    for (const Step &known : kSteps) {
        if (known.from == state_ && known.to == to)
            step = &known;
    }
    if (step == nullptr || (fields & step->required) != step->required ||
        (fields & ~(step->required | step->optional)) != 0)
        return EINVAL;

    const int rd_limit = device_.limits.max_rd_atomic;
    if ((mask & IBV_QP_PORT) != 0 && (attr.port_num == 0 || attr.port_num > device_.port_count()))
        return EINVAL;
    if ((mask & IBV_QP_PKEY_INDEX) != 0 && attr.pkey_index >= port.pkeys.size())
        return EINVAL;
    if ((mask & IBV_QP_PATH_MTU) != 0 &&
        (attr.path_mtu < IBV_MTU_256 || static_cast<int>(attr.path_mtu) > port.active_mtu))
        return EINVAL;
    if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && attr.max_rd_atomic > rd_limit)
        return EINVAL;
    if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && attr.max_dest_rd_atomic > rd_limit)
        return EINVAL;
    if ((mask & IBV_QP_AV) != 0) {
        if (attr.ah_attr.port_num != attr_.port_num)
            return EINVAL;
        if (!device_.infiniband && attr.ah_attr.is_global == 0)
            return EINVAL;
        if (attr.ah_attr.is_global != 0) {
            const ibv_global_route &route = attr.ah_attr.grh;
            if (route.sgid_index >= port.gids.size() || !port.gids[route.sgid_index].used())
                return EINVAL;
        } else if (attr.ah_attr.dlid == 0) {
            return EINVAL;
        }
    }
    return 0;
}

void QueuePair::apply(const ibv_qp_attr &attr, int mask, const Port &port)
{
    auto set = [&](int bit, auto ibv_qp_attr::*field) {
        if ((mask & bit) != 0)
            attr_.*field = attr.*field;
    };
    set(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
    set(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
    set(IBV_QP_PORT, &ibv_qp_attr::port_num);
    set(IBV_QP_AV, &ibv_qp_attr::ah_attr);
    set(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
    set(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
    set(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
    set(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
    set(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
    set(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
    set(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
    set(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
    set(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
    set(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
    if ((mask & IBV_QP_AV) != 0 && attr.ah_attr.is_global != 0)
        source_gid_ = port.gids[attr.ah_attr.grh.sgid_index];
}

int QueuePair::modify(const ibv_qp_attr &attr, int mask)
{
    uint32_t port_number = (mask & IBV_QP_PORT) != 0 ? attr.port_num : attr.ah_attr.port_num;
    Port port;
    if (port_number >= 1 && port_number <= static_cast<uint32_t>(device_.port_count()))
        port = device_.port(port_number);
    ibv_qp_state to = attr.qp_state;
    bool steps = (mask & IBV_QP_STATE) != 0;
    if (device_.fatal && !(steps && (to == IBV_QPS_ERR || to == IBV_QPS_RESET)))
        return ENODEV;

    std::lock_guard<std::mutex> lock(mutex_);
    int error = check_step(attr, mask, port);
    if (error != 0)
        return error;
    if (steps && to == IBV_QPS_RESET) {
        reset_locked();
    } else if (steps && to == IBV_QPS_ERR) {
        enter_error_locked();
    } else {
        apply(attr, mask, port);
        if (steps)
            state_ = to;
        answering_ = state_ == IBV_QPS_RTR || state_ == IBV_QPS_RTS || state_ == IBV_QPS_SQD;
        sending_ = state_ == IBV_QPS_RTS;
        interrupt();
    }
    handle_->pub.state = state_;
    return 0;
}

int QueuePair::query(ibv_qp_attr *attr, ibv_qp_init_attr *init)
{
    if (device_.fatal)
        return ENODEV;
    std::lock_guard<std::mutex> lock(mutex_);
    *attr = attr_;
    attr->qp_state = attr->cur_qp_state = state_;
    attr->cap = cap_;
    handle_->pub.state = state_;
    *init = {};
    init->qp_context = handle_->pub.qp_context;
    init->send_cq = &send_queue_.handle;
    init->recv_cq = &receive_queue_.handle;
    init->srq = shared_ ? shared_->handle() : nullptr;
    init->cap = cap_;
    init->qp_type = type_;
    init->sq_sig_all = signal_all_;
    return 0;
}

int QueuePair::post(ibv_send_wr *wr, ibv_send_wr **bad)
{
    std::lock_guard<std::mutex> lock(mutex_);
    int error = 0;
    for (; wr != nullptr; wr = wr->next) {
        if (state_ == IBV_QPS_RESET || state_ == IBV_QPS_INIT || state_ == IBV_QPS_RTR)
            error = EINVAL;
        else if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > cap_.max_send_sge ||
                 wr->opcode > IBV_WR_ATOMIC_FETCH_AND_ADD)
            error = EINVAL;
        else if (sends_used_ >= static_cast<int>(cap_.max_send_wr))
            error = ENOMEM;
        if (error != 0)
            break;

        SendRequest request;
        request.id = wr->wr_id;
        request.opcode = wr->opcode;
        request.flags = wr->send_flags;
        request.imm = wr->imm_data;
        if (wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
            request.remote_address = wr->wr.atomic.remote_addr;
            request.rkey = wr->wr.atomic.rkey;
            request.compare_add = wr->wr.atomic.compare_add;
            request.swap = wr->wr.atomic.swap;
        } else {
            request.remote_address = wr->wr.rdma.remote_addr;
            request.rkey = wr->wr.rdma.rkey;
        }
        request.elements.assign(wr->sg_list, wr->sg_list + wr->num_sge);
        if ((wr->send_flags & IBV_SEND_INLINE) != 0) {
            uint64_t total = 0;
            for (const ibv_sge &element : request.elements)
                total += element.length;
            if (total > cap_.max_inline_data || wr->opcode == IBV_WR_RDMA_READ ||
                wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
                error = EINVAL;
                break;
            }
            for (const ibv_sge &element : request.elements) {
                auto *data = reinterpret_cast<const uint8_t *>(element.addr);
                request.inlined.insert(request.inlined.end(), data, data + element.length);
            }
        }
        ++sends_used_;
        sends_.push_back(std::move(request));
    }
    if (error != 0)
        *bad = wr;
    changed_.notify_all();
    return error;
}

int QueuePair::post(ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    std::lock_guard<std::mutex> lock(mutex_);
    for (; wr != nullptr; wr = wr->next) {
        int error = 0;
        if (shared_ || state_ == IBV_QPS_RESET || wr->num_sge < 0 ||
            static_cast<uint32_t>(wr->num_sge) > cap_.max_recv_sge)
            error = EINVAL;
        else if (receives_used_ >= static_cast<int>(cap_.max_recv_wr))
            error = ENOMEM;
        if (error != 0) {
            *bad = wr;
            return error;
        }
        ReceiveRequest request;
        request.id = wr->wr_id;
        request.elements.assign(wr->sg_list, wr->sg_list + wr->num_sge);
        ++receives_used_;
        receives_.push_back(std::move(request));
    }
    if (state_ == IBV_QPS_ERR)
        flush_receives_locked();
    return 0;
}

void QueuePair::release(bool receive, int slots)
{
    (receive ? receives_used_ : sends_used_) -= slots;
}

/* False when the completion queue has overrun. */
bool QueuePair::complete_locked(const SendRequest &request, ibv_wc_status status, uint64_t bytes)
{
    static constexpr ibv_wc_opcode kOpcodes[] = {
        IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_SEND,     IBV_WC_SEND,
        IBV_WC_RDMA_READ,  IBV_WC_COMP_SWAP,  IBV_WC_FETCH_ADD};

    ++unsignaled_;
    if (status == IBV_WC_SUCCESS && !signal_all_ && (request.flags & IBV_SEND_SIGNALED) == 0)
        return true;
    Entry entry;
    entry.wc.wr_id = request.id;
    entry.wc.status = status;
    entry.wc.opcode = kOpcodes[request.opcode];
    entry.wc.byte_len = static_cast<uint32_t>(bytes);
    entry.wc.qp_num = number_;
    if (status != IBV_WC_SUCCESS)
        entry.wc.vendor_err = 0xe00 + static_cast<uint32_t>(status);
    entry.pair = shared_from_this();
    entry.slots = unsignaled_;
    unsignaled_ = 0;
    return send_queue_.push(std::move(entry));
}

bool QueuePair::complete_locked(const ReceiveRequest &request, ibv_wc wc, bool solicited)
{
    Entry entry;
    entry.wc = wc;
    entry.wc.wr_id = request.id;
    entry.wc.qp_num = number_;
    if (wc.status != IBV_WC_SUCCESS)
        entry.wc.vendor_err = 0xe00 + static_cast<uint32_t>(wc.status);
    entry.solicited = solicited;
    entry.pair = shared_from_this();
    entry.slots = 1;
    entry.receive = true;
    entry.shared = shared_;
    receiving_ = false;
    return receive_queue_.push(std::move(entry));
}

} // namespace metrale::emulator::ibv
