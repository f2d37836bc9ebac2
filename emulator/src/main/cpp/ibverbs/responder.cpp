/* Answers the peer's requests, with the checks of an adapter. */
#include "ibverbs/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace metrale::emulator::ibv
{

namespace
{

uint64_t mtu_bytes(uint32_t code)
{
    return 128ULL << code;
}

} // namespace

void QueuePair::answer_loop()
{
    std::vector<Inbound> peers;
    uint64_t generation = 0;
    auto drop = [](Inbound &peer) {
        close(peer.fd);
        peer.fd = -1;
    };

    for (;;) {
        std::vector<pollfd> fds = {{responder_signal_.fd(), POLLIN, 0}, {listener_, POLLIN, 0}};
        for (const Inbound &peer : peers)
            fds.push_back({peer.fd, POLLIN, 0});
        if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR)
            break;
        if (fds[0].revents != 0)
            responder_signal_.take();
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (closing_)
                break;
        }
        if (generation != generation_ || !answering_) {
            // A reset or an error ends what was connected; those who only knock may stay.
            generation = generation_;
            for (Inbound &peer : peers) {
                if (peer.greeted)
                    drop(peer);
            }
        }
        Stop reset = [this, generation] { return generation_ != generation; };
        Stop stop = [this, generation] { return generation_ != generation || !answering_; };
        for (size_t i = 0; i < peers.size(); ++i) {
            Inbound &peer = peers[i];
            if (peer.fd < 0 || fds[i + 2].revents == 0)
                continue;
            if (!peer.greeted) {
                if (!answer_hello(peer, reset)) {
                    drop(peer);
                    continue;
                }
                // A connection has one peer: the newest.
                for (Inbound &other : peers) {
                    if (&other != &peer && other.greeted && other.fd >= 0)
                        drop(other);
                }
            } else if (!answer_request(peer, stop)) {
                drop(peer);
            }
        }
        if (fds[1].revents != 0) {
            int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
            if (fd >= 0 && same_user(fd)) {
                int bytes = 1 << 20;
                setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
                peers.push_back({fd});
            } else if (fd >= 0) {
                close(fd);
            }
        }
        peers.erase(std::remove_if(peers.begin(), peers.end(),
                                   [](const Inbound &peer) { return peer.fd < 0; }),
                    peers.end());
    }
    for (Inbound &peer : peers)
        drop(peer);
}

bool QueuePair::reply(int fd, Answer answer, const Stop &stop, uint64_t value)
{
    Reply reply;
    reply.answer = answer;
    reply.value = value;
    return send_value(fd, reply, responder_signal_, stop) == Moved::Done;
}

bool QueuePair::answer_hello(Inbound &peer, const Stop &stop)
{
    Hello hello;
    if (receive_value(peer.fd, &hello, responder_signal_, stop) != Moved::Done ||
        hello.magic != kMagic)
        return false;

    ibv_qp_attr attr;
    Gid gid;
    uint32_t received;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        attr = attr_;
        gid = source_gid_;
        received = messages_received_;
    }
    bool meant = answering_ && attr.dest_qp_num == hello.source_qpn &&
                 attr.ah_attr.is_global == hello.global;
    if (meant) {
        Port port = device_.port(attr.port_num);
        if (hello.global != 0) {
            bool ours = std::any_of(port.gids.begin(), port.gids.end(), [&](const Gid &own) {
                return own.raw == hello.destination_gid && own.type == hello.gid_type;
            });
            meant = ours && gid.type == hello.gid_type &&
                    std::memcmp(attr.ah_attr.grh.dgid.raw, hello.source_gid.data(),
                                hello.source_gid.size()) == 0;
        } else {
            meant = hello.destination_lid == port.lid;
        }
        meant = meant && port.up;
    }
    // The request under way when a connection broke comes again.
    uint32_t ahead = (attr.rq_psn + received - hello.psn) & 0xffffff;
    meant = meant && ahead <= 1;
    peer.greeted = meant;
    peer.path_mtu = hello.path_mtu;
    return reply(peer.fd, meant ? Answer::Ok : Answer::Drop, stop) && meant;
}

Answer QueuePair::check_request(const Request &request, const Inbound &peer,
                                std::vector<Piece> *target)
{
    unsigned access = 0;
    bool reads = false;
    switch (request.operation) {
    case Operation::Read:
        access = IBV_ACCESS_REMOTE_READ;
        reads = true;
        break;
    case Operation::Write:
        access = IBV_ACCESS_REMOTE_WRITE;
        break;
    case Operation::CompareSwap:
    case Operation::FetchAdd:
        access = IBV_ACCESS_REMOTE_ATOMIC;
        reads = true;
        break;
    case Operation::Send:
        break;
    }

    ibv_qp_attr attr;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        attr = attr_;
    }
    if (!device_.link_up(attr.port_num))
        return Answer::Drop;
    // Ends that disagree about the packet size understand each other while one packet is enough.
    uint64_t packet = mtu_bytes(std::min<uint32_t>(peer.path_mtu, attr.path_mtu));
    if (peer.path_mtu != static_cast<uint32_t>(attr.path_mtu) && request.total > packet)
        return Answer::InvalidRequest;
    if ((attr.qp_access_flags & access) != access || (reads && attr.max_dest_rd_atomic == 0))
        return Answer::InvalidRequest;
    if (request.operation == Operation::Send || request.total == 0)
        return Answer::Ok;
    if (reads && request.operation != Operation::Read && (request.address & 7) != 0)
        return Answer::InvalidRequest;
    if (request.offset > request.total || request.length > request.total - request.offset)
        return Answer::InvalidRequest;

    Piece whole;
    if (!RegionTable::instance().find(request.rkey, &domain_, request.address, request.total,
                                      access, &whole))
        return Answer::AccessError;
    *target = part_of({whole}, request.offset, request.length);
    return Answer::Ok;
}

bool QueuePair::refuse(int fd, Answer answer)
{
    uint64_t generation;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (state_ != IBV_QPS_ERR)
            raise_locked(answer == Answer::AccessError ? IBV_EVENT_QP_ACCESS_ERR
                                                       : IBV_EVENT_QP_REQ_ERR);
        // Before the answer: who has seen it must find this end in the error state.
        enter_error_locked();
        generation = generation_;
    }
    return reply(fd, answer, [this, generation] { return generation_ != generation; });
}

bool QueuePair::answer_request(Inbound &peer, const Stop &stop)
{
    Request request;
    std::vector<Piece> target;

    if (receive_value(peer.fd, &request, responder_signal_, stop) != Moved::Done)
        return false;
    Answer checked = check_request(request, peer, &target);
    if (checked == Answer::Drop)
        return reply(peer.fd, Answer::Drop, stop);
    if (checked != Answer::Ok)
        return refuse(peer.fd, checked);

    bool fine = false;
    switch (request.operation) {
    case Operation::Read:
        fine = answer_read(peer.fd, request, target, stop);
        break;
    case Operation::Write:
        fine = answer_write(peer.fd, request, target, stop);
        break;
    case Operation::Send:
        fine = answer_send(peer.fd, request, stop);
        break;
    case Operation::CompareSwap:
    case Operation::FetchAdd:
        fine = answer_atomic(peer.fd, request, target, stop);
        break;
    }
    return fine;
}

bool QueuePair::answer_read(int fd, const Request &request, const std::vector<Piece> &target,
                            const Stop &stop)
{
    uint64_t done = 0;
    if (!reply(fd, Answer::Go, stop))
        return false;
    Moved moved = send_pieces(fd, target, &done, responder_signal_, stop);
    if (moved == Moved::Invalid) {
        // The length is announced: what cannot be read goes as zeros, and the end tells.
        if (send_zeros(fd, request.length - done, responder_signal_, stop) != Moved::Done)
            return false;
        return refuse(fd, Answer::AccessError);
    }
    if (moved != Moved::Done)
        return false;
    if (request.last != 0) {
        std::lock_guard<std::mutex> lock(mutex_);
        ++messages_received_;
    }
    return reply(fd, Answer::Ok, stop);
}

bool QueuePair::answer_not_ready(int fd, const Stop &stop)
{
    Reply reply;
    reply.answer = Answer::NotReady;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        reply.rnr_timer = attr_.min_rnr_timer;
    }
    return send_value(fd, reply, responder_signal_, stop) == Moved::Done;
}

bool QueuePair::received(const ReceiveRequest &request, const Request &from, ibv_wc_status status)
{
    ibv_wc wc{};
    wc.status = status;
    wc.opcode = from.operation == Operation::Write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
    wc.byte_len = static_cast<uint32_t>(from.total);
    if (from.with_imm != 0) {
        wc.wc_flags = IBV_WC_WITH_IMM;
        wc.imm_data = from.imm;
    }
    if (complete_locked(request, wc, from.solicited != 0)) {
        tell_last_receive_locked();
        return true;
    }
    raise_locked(IBV_EVENT_QP_FATAL);
    enter_error_locked();
    return false;
}

bool QueuePair::answer_write(int fd, const Request &request, const std::vector<Piece> &target,
                             const Stop &stop)
{
    bool announces = request.last != 0 && request.with_imm != 0;
    ReceiveRequest receive;
    uint64_t generation = generation_;
    uint64_t done = 0;

    if (announces) {
        std::unique_lock<std::mutex> lock(mutex_);
        if (generation_ != generation)
            return false;
        if (!take_receive_locked(&receive)) {
            lock.unlock();
            return answer_not_ready(fd, stop);
        }
    }
    Moved moved = Moved::Closed;
    if (reply(fd, Answer::Go, stop))
        moved = receive_pieces(fd, target, &done, responder_signal_, stop);
    bool invalid = moved == Moved::Invalid;
    if (invalid)
        moved = discard(fd, request.length - done, responder_signal_, stop);
    if (invalid || moved != Moved::Done) {
        std::lock_guard<std::mutex> lock(mutex_);
        // The data never came whole: the receive is the next one's, or flushed.
        if (announces && generation_ == generation)
            keep_receive_locked(std::move(receive));
    }
    if (moved != Moved::Done)
        return false;
    if (invalid)
        return refuse(fd, Answer::AccessError);
    if (request.last != 0) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (generation_ != generation)
            return false;
        ++messages_received_;
        if (announces && !received(receive, request, IBV_WC_SUCCESS))
            return false;
    }
    return reply(fd, Answer::Ok, stop);
}

bool QueuePair::answer_send(int fd, const Request &request, const Stop &stop)
{
    ReceiveRequest receive;
    uint64_t generation = generation_;
    {
        std::unique_lock<std::mutex> lock(mutex_);
        if (generation_ != generation)
            return false;
        if (!take_receive_locked(&receive)) {
            lock.unlock();
            return answer_not_ready(fd, stop);
        }
    }

    std::vector<Piece> pieces;
    uint64_t room = 0;
    ibv_wc_status status = IBV_WC_SUCCESS;
    for (const ibv_sge &element : receive.elements) {
        Piece piece;
        if (element.length == 0)
            continue;
        if (!RegionTable::instance().find(element.lkey, shared_ ? &shared_->domain() : &domain_,
                                          element.addr, element.length, IBV_ACCESS_LOCAL_WRITE,
                                          &piece)) {
            status = IBV_WC_LOC_PROT_ERR;
            break;
        }
        room += element.length;
        pieces.push_back(std::move(piece));
    }
    if (status == IBV_WC_SUCCESS && room < request.total)
        status = IBV_WC_LOC_LEN_ERR;

    Moved moved = Moved::Done;
    if (status == IBV_WC_SUCCESS) {
        uint64_t done = 0;
        if (!reply(fd, Answer::Go, stop))
            moved = Moved::Closed;
        else
            moved = receive_pieces(fd, part_of(pieces, 0, request.total), &done, responder_signal_,
                                   stop);
        if (moved == Moved::Invalid) {
            status = IBV_WC_LOC_PROT_ERR;
            moved = discard(fd, request.total - done, responder_signal_, stop);
        }
    }

    std::unique_lock<std::mutex> lock(mutex_);
    if (generation_ != generation)
        return false;
    if (moved != Moved::Done) {
        // The message never came: its place is the next one's, or flushed.
        keep_receive_locked(std::move(receive));
        return false;
    }
    ++messages_received_;
    if (!received(receive, request, status))
        return false;
    lock.unlock();
    if (status == IBV_WC_SUCCESS)
        return reply(fd, Answer::Ok, stop);
    return refuse(fd,
                  status == IBV_WC_LOC_LEN_ERR ? Answer::InvalidRequest : Answer::OperationError);
}

bool QueuePair::answer_atomic(int fd, const Request &request, const std::vector<Piece> &target,
                              const Stop &stop)
{
    uint64_t before = 0;
    if (target.size() != 1 || target[0].length != sizeof(before))
        return refuse(fd, Answer::InvalidRequest);
    if (!atomic_word(target[0], request, &before))
        return refuse(fd, Answer::AccessError);
    {
        std::lock_guard<std::mutex> lock(mutex_);
        ++messages_received_;
    }
    return reply(fd, Answer::Ok, stop, before);
}

} // namespace metrale::emulator::ibv
