// What the tests share: an adapter opened, a region, a queue pair, and waiting for completions.
#ifndef METRALE_EMULATOR_TEST_IBVERBS_RIG_H
#define METRALE_EMULATOR_TEST_IBVERBS_RIG_H

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

extern "C" void metrale_emulator_ibverbs_configure(const char *lines);
extern "C" int metrale_emulator_ibverbs_live(int kind);

constexpr unsigned kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                          IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

inline ibv_context *open_device(size_t index)
{
    ibv_device **list = ibv_get_device_list(nullptr);
    ibv_context *context = ibv_open_device(list[index]);
    ibv_free_device_list(list);
    return context;
}

// Instead of a completion; the type holds numbers up to 31 and the library uses those to 23.
constexpr auto kNone = static_cast<ibv_wc_status>(31);
constexpr auto kPollFailed = static_cast<ibv_wc_status>(30);

// What one end tells the other.
struct Address {
    uint32_t qpn = 0;
    uint32_t psn = 0;
    ibv_gid gid{};
    uint16_t lid = 0;
    uint64_t buffer = 0;
    uint32_t rkey = 0;
};

struct Settings {
    size_t device = 0;
    int gid_index = 3;
    size_t bytes = 1 << 20;
    unsigned region_access = kAll;
    unsigned qp_access = kAll;
    ibv_mtu mtu = IBV_MTU_4096;
    uint32_t send_depth = 64;
    uint32_t receive_depth = 16;
    /* 0 for receives of each queue pair's own. */
    uint32_t shared_depth = 0;
    int cq_depth = 256;
    uint8_t timeout = 10;
    uint8_t retry = 7;
    uint8_t rnr_retry = 7;
    bool signal_all = true;
    bool with_channel = false;
};

class End
{
  public:
    explicit End(Settings with = {}) : settings(with), memory(with.bytes)
    {
        context = open_device(settings.device);
        pd = ibv_alloc_pd(context);
        mr = (ibv_reg_mr)(pd, memory.data(), memory.size(),
                          static_cast<int>(settings.region_access));
        if (settings.with_channel)
            channel = ibv_create_comp_channel(context);
        cq = ibv_create_cq(context, settings.cq_depth, nullptr, channel, 0);
        if (settings.shared_depth > 0) {
            ibv_srq_init_attr init{};
            init.attr = {settings.shared_depth, 1, 0};
            srq = ibv_create_srq(pd, &init);
        }
        make_pair();
    }

    ~End()
    {
        if (qp != nullptr)
            ibv_destroy_qp(qp);
        if (srq != nullptr)
            ibv_destroy_srq(srq);
        ibv_destroy_cq(cq);
        if (channel != nullptr)
            ibv_destroy_comp_channel(channel);
        if (mr != nullptr)
            ibv_dereg_mr(mr);
        ibv_dealloc_pd(pd);
        ibv_close_device(context);
    }

    End(const End &) = delete;
    End &operator=(const End &) = delete;

    void make_pair()
    {
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = cq;
        init.srq = srq;
        init.cap = {settings.send_depth, settings.receive_depth, 4, 4, 256};
        init.qp_type = IBV_QPT_RC;
        init.sq_sig_all = settings.signal_all;
        qp = ibv_create_qp(pd, &init);
        psn = qp->qp_num ^ 0x5a5a5a;
    }

    Address address() const
    {
        Address own;
        own.qpn = qp->qp_num;
        own.psn = psn & 0xffffff;
        ibv_query_gid(context, 1, settings.gid_index, &own.gid);
        ibv_port_attr port;
        ibv_query_port(context, 1, &port);
        own.lid = port.lid;
        own.buffer = reinterpret_cast<uint64_t>(memory.data());
        own.rkey = mr != nullptr ? mr->rkey : 0;
        return own;
    }

    int to_init()
    {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags = settings.qp_access;
        return ibv_modify_qp(qp, &attr,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    }

    int to_receive(const Address &to)
    {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = settings.mtu;
        attr.dest_qp_num = to.qpn;
        attr.rq_psn = to.psn;
        attr.max_dest_rd_atomic = 16;
        attr.min_rnr_timer = 1;
        attr.ah_attr.port_num = 1;
        attr.ah_attr.dlid = to.lid;
        if (to.lid == 0) {
            attr.ah_attr.is_global = 1;
            attr.ah_attr.grh.dgid = to.gid;
            attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(settings.gid_index);
            attr.ah_attr.grh.hop_limit = 64;
        }
        return ibv_modify_qp(qp, &attr,
                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    }

    int to_send()
    {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RTS;
        attr.timeout = settings.timeout;
        attr.retry_cnt = settings.retry;
        attr.rnr_retry = settings.rnr_retry;
        attr.sq_psn = psn & 0xffffff;
        attr.max_rd_atomic = 16;
        return ibv_modify_qp(qp, &attr,
                             IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }

    int connect(const Address &to)
    {
        int error = to_init();
        if (error == 0)
            error = to_receive(to);
        return error != 0 ? error : to_send();
    }

    int to(ibv_qp_state state)
    {
        ibv_qp_attr attr{};
        attr.qp_state = state;
        return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
    }

    ibv_qp_state state() const
    {
        ibv_qp_attr attr{};
        ibv_qp_init_attr init{};
        ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
        return attr.qp_state;
    }

    ibv_sge piece(uint64_t offset, uint32_t length) const
    {
        return {reinterpret_cast<uint64_t>(memory.data()) + offset, length, mr ? mr->lkey : 0};
    }

    ibv_send_wr request(uint64_t id, ibv_wr_opcode opcode, ibv_sge *sge, const Address &to,
                        uint64_t remote_offset = 0) const
    {
        ibv_send_wr wr{};
        wr.wr_id = id;
        wr.opcode = opcode;
        wr.sg_list = sge;
        wr.num_sge = 1;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma.remote_addr = to.buffer + remote_offset;
        wr.wr.rdma.rkey = to.rkey;
        return wr;
    }

    int post(ibv_send_wr wr)
    {
        ibv_send_wr *bad;
        return ibv_post_send(qp, &wr, &bad);
    }

    int transfer(uint64_t id, ibv_wr_opcode opcode, const Address &to, uint64_t offset,
                 uint32_t length, uint64_t remote_offset)
    {
        ibv_sge sge = piece(offset, length);
        return post(request(id, opcode, &sge, to, remote_offset));
    }

    int receive(uint64_t id, uint64_t offset, uint32_t length)
    {
        return post_receive(ibv_post_recv, qp, id, offset, length);
    }

    int share(uint64_t id, uint64_t offset, uint32_t length)
    {
        return post_receive(ibv_post_srq_recv, srq, id, offset, length);
    }

    template <typename Queue>
    int post_receive(int (*call)(Queue *, ibv_recv_wr *, ibv_recv_wr **), Queue *queue, uint64_t id,
                     uint64_t offset, uint32_t length)
    {
        ibv_sge sge = piece(offset, length);
        ibv_recv_wr wr{};
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        ibv_recv_wr *bad;
        return call(queue, &wr, &bad);
    }

    // The next completion; kNone when none comes in time, kPollFailed.
    ibv_wc next(int millis = 10000)
    {
        ibv_wc wc{};
        auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(millis);
        for (;;) {
            int count = ibv_poll_cq(cq, 1, &wc);
            if (count == 1)
                return wc;
            if (count < 0 || std::chrono::steady_clock::now() > end) {
                wc.status = count < 0 ? kPollFailed : kNone;
                return wc;
            }
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }

    // The next event's type; -1 when none comes in time. It is acknowledged.
    int next_event(int millis = 10000)
    {
        struct pollfd ready = {context->async_fd, POLLIN, 0};
        if (poll(&ready, 1, millis) <= 0)
            return -1;
        ibv_async_event event;
        if (ibv_get_async_event(context, &event) != 0)
            return -2;
        ibv_ack_async_event(&event);
        return event.event_type;
    }

    void fill(unsigned seed)
    {
        for (size_t i = 0; i < memory.size(); ++i)
            memory[i] = static_cast<uint8_t>(seed + i * 7 + i / 251);
    }

    Settings settings;
    std::vector<uint8_t> memory;
    ibv_context *context = nullptr;
    ibv_pd *pd = nullptr;
    ibv_mr *mr = nullptr;
    ibv_comp_channel *channel = nullptr;
    ibv_cq *cq = nullptr;
    ibv_srq *srq = nullptr;
    ibv_qp *qp = nullptr;
    uint32_t psn = 0;
};

// Two ends in one process, connected.
struct Pair {
    explicit Pair(Settings client_with = {}, Settings server_with = {})
        : client(client_with), server(server_with)
    {
        server_error = server.connect(client.address());
        client_error = client.connect(server.address());
        remote = server.address();
    }

    End client;
    End server;
    Address remote;
    int client_error = 0;
    int server_error = 0;
};

// Configuration lines that hold for one test; what they set must have a default to go back to.
class With
{
  public:
    With(const char *lines, const char *undo) : undo_(undo)
    {
        metrale_emulator_ibverbs_configure(lines);
    }
    ~With()
    {
        metrale_emulator_ibverbs_configure(nullptr);
        metrale_emulator_ibverbs_configure(undo_);
    }

  private:
    const char *undo_;
};

inline long millis_since(std::chrono::steady_clock::time_point begin)
{
    return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                 std::chrono::steady_clock::now() - begin)
                                 .count());
}

#endif
