/* The send queue: one request after the other, each until it is answered or given up. */
#include "ibverbs/queue_pair.h"

#include "common/fault.h"

#include <algorithm>
#include <unistd.h>

namespace metrale::emulator::ibv
{

namespace
{

using Clock = std::chrono::steady_clock;

/* The wait that a receiver asks for, in units of 10 microseconds. */
constexpr uint32_t kRnrTimers[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                     16,    24,   32,   48,    64,    96,    128,   192,
                                     256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                     4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr uint8_t kForever = 7;

Operation operation_of(ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_RDMA_READ:
        return Operation::Read;
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        return Operation::Send;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        return Operation::CompareSwap;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return Operation::FetchAdd;
    default:
        return Operation::Write;
    }
}

bool atomic(Operation operation)
{
    return operation == Operation::CompareSwap || operation == Operation::FetchAdd;
}

} // namespace

void QueuePair::hang_up()
{
    if (outbound_ >= 0)
        close(outbound_);
    outbound_ = -1;
}

QueuePair::Try QueuePair::lost()
{
    hang_up();
    return Try::Lost;
}

void QueuePair::send_loop()
{
    std::unique_lock<std::mutex> lock(mutex_);
    auto connected = [this] { return state_ == IBV_QPS_RTS || state_ == IBV_QPS_SQD; };

    for (;;) {
        changed_.wait(lock, [&] {
            return closing_ ||
                   (!sends_.empty() && (state_ == IBV_QPS_RTS || state_ == IBV_QPS_ERR)) ||
                   (outbound_ >= 0 && !connected());
        });
        if (closing_)
            break;
        if (!connected())
            hang_up();
        if (state_ == IBV_QPS_ERR) {
            while (!sends_.empty()) {
                SendRequest request = std::move(sends_.front());
                sends_.pop_front();
                complete_locked(request, IBV_WC_WR_FLUSH_ERR, 0);
            }
            continue;
        }
        if (sends_.empty())
            continue;

        // It stays in the queue until it is done, and is flushed from there if it never is.
        SendRequest request = sends_.front();
        uint64_t generation = generation_;
        sender_attr_ = attr_;
        sender_gid_ = source_gid_;
        sender_psn_ = (attr_.sq_psn + messages_sent_) & 0xffffff;
        lock.unlock();
        Outcome outcome = execute(request, generation);
        lock.lock();
        if (generation_ != generation || outcome.stopped)
            continue;
        sends_.pop_front();
        ++messages_sent_;
        if (outcome.swallowed) {
            ++unsignaled_;
            continue;
        }
        uint64_t bytes = 0;
        for (const ibv_sge &element : request.elements)
            bytes += element.length;
        bool room = complete_locked(request, outcome.status, bytes);
        if (!room)
            raise_locked(IBV_EVENT_QP_FATAL);
        if (!room || outcome.status != IBV_WC_SUCCESS || outcome.hollow)
            enter_error_locked();
    }
    hang_up();
}

ibv_wc_status QueuePair::collect(const SendRequest &request, std::vector<Piece> *pieces,
                                 uint64_t *total) const
{
    Operation operation = operation_of(request.opcode);
    bool written = operation == Operation::Read || atomic(operation);

    *total = 0;
    for (const ibv_sge &element : request.elements)
        *total += element.length;
    if (*total > device_.limits.max_message_bytes)
        return IBV_WC_LOC_LEN_ERR;
    if (written && sender_attr_.max_rd_atomic == 0)
        return IBV_WC_LOC_QP_OP_ERR;
    if (atomic(operation) && *total != sizeof(uint64_t))
        return IBV_WC_LOC_LEN_ERR;
    if ((request.flags & IBV_SEND_INLINE) != 0) {
        auto copied = std::make_shared<Region>();
        copied->base = const_cast<uint8_t *>(request.inlined.data());
        if (*total > 0)
            pieces->push_back({copied, copied->base, *total});
        return IBV_WC_SUCCESS;
    }
    for (const ibv_sge &element : request.elements) {
        Piece piece;
        if (element.length == 0)
            continue;
        if (!RegionTable::instance().find(element.lkey, &domain_, element.addr, element.length,
                                          written ? IBV_ACCESS_LOCAL_WRITE : 0, &piece))
            return IBV_WC_LOC_PROT_ERR;
        pieces->push_back(std::move(piece));
    }
    return IBV_WC_SUCCESS;
}

QueuePair::Outcome QueuePair::execute(const SendRequest &request, uint64_t generation)
{
    Stop stop = [this, generation] { return generation_ != generation || !sending_; };
    Outcome outcome;
    Outcome stopped;
    stopped.stopped = true;

    Fault fault = Faults::instance().hit("ibverbs", "transfer", -1, device_.index);
    if (fault.delay_ms + fault.block_ms > 0) {
        auto end = Clock::now() + std::chrono::milliseconds(fault.delay_ms + fault.block_ms);
        if (sleep_until(end, sender_signal_, stop) != Moved::Done)
            return stopped;
    }
    while (fault.hang) {
        if (sleep_until(Clock::now() + std::chrono::hours(1), sender_signal_, stop) != Moved::Done)
            return stopped;
    }
    if (fault.lost) {
        device_.fail();
        return stopped;
    }
    if (fault.async) {
        std::lock_guard<std::mutex> lock(mutex_);
        raise_locked(static_cast<ibv_event_type>(*fault.async));
        enter_error_locked();
        return stopped;
    }
    if (fault.code) {
        outcome.status = static_cast<ibv_wc_status>(*fault.code);
        outcome.hollow = outcome.status == IBV_WC_SUCCESS;
        return outcome;
    }
    outcome.swallowed = fault.skip;

    std::vector<Piece> pieces;
    uint64_t total = 0;
    outcome.status = collect(request, &pieces, &total);
    if (outcome.status != IBV_WC_SUCCESS)
        return outcome;

    Request part;
    part.operation = operation_of(request.opcode);
    part.rkey = request.rkey;
    part.address = request.remote_address;
    part.total = total;
    part.compare_add = request.compare_add;
    part.swap = request.swap;
    part.imm = request.imm;
    part.with_imm =
        request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || request.opcode == IBV_WR_SEND_WITH_IMM;
    part.solicited = (request.flags & IBV_SEND_SOLICITED) != 0;

    // As the specification counts: the timeout for the first try and for each retry.
    auto tick = std::chrono::nanoseconds(4096LL << sender_attr_.timeout);
    auto patience = tick * (sender_attr_.retry_cnt + 1);
    auto pause = std::clamp<std::chrono::nanoseconds>(tick, std::chrono::milliseconds(1),
                                                      std::chrono::milliseconds(20));
    bool divisible = part.operation == Operation::Read || part.operation == Operation::Write;
    uint64_t offset = 0;
    Clock::time_point silent_since{};
    unsigned refused = 0;
    do {
        part.offset = offset;
        part.length = divisible ? std::min(total - offset, kPartBytes) : total;
        part.last = offset + part.length == total;
        uint32_t rnr_timer = 0;
        auto began = Clock::now();
        switch (attempt(part, part_of(pieces, offset, part.length), stop, &outcome.status,
                        &rnr_timer)) {
        case Try::Done:
            offset += part.length;
            silent_since = {};
            refused = 0;
            if (sleep_until(device_.pace(part.length), sender_signal_, stop) != Moved::Done)
                return stopped;
            break;
        case Try::Lost: {
            if (silent_since == Clock::time_point{})
                silent_since = began;
            auto now = Clock::now();
            auto end = now + pause;
            // Timeout 0 means for ever; 7 retries are 7 here, not for ever.
            if (sender_attr_.timeout != 0) {
                if (now - silent_since >= patience) {
                    outcome.status = IBV_WC_RETRY_EXC_ERR;
                    return outcome;
                }
                end = std::min(end, silent_since + patience);
            }
            if (sleep_until(end, sender_signal_, stop) != Moved::Done)
                return stopped;
            part.last = 0;
            break;
        }
        case Try::NotReady:
            if (sender_attr_.rnr_retry != kForever && ++refused > sender_attr_.rnr_retry) {
                outcome.status = IBV_WC_RNR_RETRY_EXC_ERR;
                return outcome;
            }
            if (sleep_until(Clock::now() +
                                std::chrono::microseconds(kRnrTimers[rnr_timer & 31] * 10ULL),
                            sender_signal_, stop) != Moved::Done)
                return stopped;
            part.last = 0;
            break;
        case Try::Stopped:
            return stopped;
        case Try::Failed:
            return outcome;
        }
    } while (part.last == 0);
    return outcome;
}

/* Whether a packet would leave this port with the address that the connection was made with. */
bool QueuePair::reachable() const
{
    Port port = device_.port(sender_attr_.port_num);
    const ibv_ah_attr &path = sender_attr_.ah_attr;
    if (!port.up)
        return false;
    return path.is_global == 0 || (path.grh.sgid_index < port.gids.size() &&
                                   port.gids[path.grh.sgid_index] == sender_gid_);
}

QueuePair::Try QueuePair::greet(const Stop &stop)
{
    if (outbound_ >= 0 && outbound_generation_ != generation_)
        hang_up();
    if (outbound_ >= 0)
        return Try::Done;

    outbound_ = connect_to(sender_attr_.dest_qp_num);
    outbound_generation_ = generation_;
    if (outbound_ < 0)
        return Try::Lost;
    Hello hello;
    hello.source_qpn = number_;
    hello.psn = sender_psn_;
    hello.path_mtu = sender_attr_.path_mtu;
    hello.global = sender_attr_.ah_attr.is_global;
    hello.destination_lid = sender_attr_.ah_attr.dlid;
    hello.source_gid = sender_gid_.raw;
    hello.gid_type = sender_gid_.type;
    std::copy_n(sender_attr_.ah_attr.grh.dgid.raw, hello.destination_gid.size(),
                hello.destination_gid.begin());
    Reply reply;
    Moved moved = send_value(outbound_, hello, sender_signal_, stop);
    if (moved == Moved::Done)
        moved = receive_value(outbound_, &reply, sender_signal_, stop);
    if (moved == Moved::Stopped) {
        hang_up();
        return Try::Stopped;
    }
    return moved == Moved::Done && reply.answer == Answer::Ok ? Try::Done : lost();
}

QueuePair::Try QueuePair::attempt(const Request &part, const std::vector<Piece> &pieces,
                                  const Stop &stop, ibv_wc_status *status, uint32_t *rnr_timer)
{
    if (stop())
        return Try::Stopped;
    if (!reachable())
        return Try::Lost;
    Try greeted = greet(stop);
    if (greeted != Try::Done)
        return greeted;

    Reply reply;
    uint64_t done = 0;
    Moved moved = send_value(outbound_, part, sender_signal_, stop);
    if (moved == Moved::Done)
        moved = receive_value(outbound_, &reply, sender_signal_, stop);
    if (moved == Moved::Done && reply.answer == Answer::Go) {
        moved = part.operation == Operation::Read
                    ? receive_pieces(outbound_, pieces, &done, sender_signal_, stop)
                    : send_pieces(outbound_, pieces, &done, sender_signal_, stop);
        if (moved == Moved::Done)
            moved = receive_value(outbound_, &reply, sender_signal_, stop);
    }
    if (moved == Moved::Done && atomic(part.operation) && reply.answer == Answer::Ok &&
        !write_word(pieces[0], reply.value))
        moved = Moved::Invalid;

    switch (moved) {
    case Moved::Stopped:
        // What is under way cannot be taken up again.
        hang_up();
        return Try::Stopped;
    case Moved::Closed:
        return lost();
    case Moved::Invalid:
        hang_up();
        *status = IBV_WC_LOC_PROT_ERR;
        return Try::Failed;
    case Moved::Done:
        break;
    }
    switch (reply.answer) {
    case Answer::Ok:
        return Try::Done;
    case Answer::NotReady:
        *rnr_timer = reply.rnr_timer;
        return Try::NotReady;
    case Answer::InvalidRequest:
        *status = IBV_WC_REM_INV_REQ_ERR;
        return Try::Failed;
    case Answer::AccessError:
        *status = IBV_WC_REM_ACCESS_ERR;
        return Try::Failed;
    case Answer::OperationError:
        *status = IBV_WC_REM_OP_ERR;
        return Try::Failed;
    default:
        return Try::Lost;
    }
}

} // namespace metrale::emulator::ibv
