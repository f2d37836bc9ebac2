#include "rig.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <sys/mman.h>

namespace
{

Settings sharing(uint32_t depth)
{
    Settings with;
    with.shared_depth = depth;
    return with;
}

// Two clients whose peers share their receives. The server's queue pair in hand is the second's.
struct Three {
    explicit Three(uint32_t depth, Settings clients = {})
        : server(sharing(depth)), one(clients), other(clients)
    {
        first = join(one);
        second = join(other);
    }

    ~Three()
    {
        if (first != nullptr)
            ibv_destroy_qp(first);
    }

    ibv_qp *join(End &client)
    {
        if (server.qp->state != IBV_QPS_RESET)
            server.make_pair();
        CHECK(server.connect(client.address()) == 0);
        CHECK(client.connect(server.address()) == 0);
        return server.qp;
    }

    int send(End &from, uint64_t id, uint32_t length)
    {
        return from.transfer(id, IBV_WR_SEND, Address(), 0, length, 0);
    }

    ibv_srq_attr query()
    {
        ibv_srq_attr attr{};
        CHECK(ibv_query_srq(server.srq, &attr) == 0);
        return attr;
    }

    int limit(uint32_t requests)
    {
        ibv_srq_attr attr{};
        attr.srq_limit = requests;
        return ibv_modify_srq(server.srq, &attr, IBV_SRQ_LIMIT);
    }

    End server;
    End one;
    End other;
    ibv_qp *first = nullptr;
    ibv_qp *second = nullptr;
};

// Memory of which half is not there: a message of it takes its receive and never comes whole.
struct Half {
    static constexpr uint32_t kBytes = 1 << 20;

    explicit Half(End &of)
        : end(of),
          memory(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
          mr((ibv_reg_mr)(of.pd, memory, kBytes, IBV_ACCESS_LOCAL_WRITE))
    {
        munmap(static_cast<char *>(memory) + kBytes / 2, kBytes / 2);
    }

    ~Half()
    {
        CHECK(ibv_dereg_mr(mr) == 0);
        munmap(memory, kBytes / 2);
    }

    Half(const Half &) = delete;
    Half &operator=(const Half &) = delete;

    void send()
    {
        ibv_sge sge = {reinterpret_cast<uint64_t>(memory), kBytes, mr->lkey};
        CHECK(end.post(end.request(1, IBV_WR_SEND, &sge, Address())) == 0);
        CHECK(end.next().status == IBV_WC_LOC_PROT_ERR);
    }

    End &end;
    void *memory;
    ibv_mr *mr;
};

} // namespace

TEST_CASE("several queue pairs take the oldest shared receive each, and say who did")
{
    Three three(4);
    three.one.fill(1);
    three.other.fill(2);
    for (uint64_t i = 0; i < 4; ++i)
        CHECK(three.server.share(70 + i, 100 * i, 100) == 0);
    End *senders[] = {&three.one, &three.other, &three.other, &three.one};
    for (uint64_t i = 0; i < 4; ++i) {
        CHECK(three.send(*senders[i], i, 50) == 0);
        CHECK(senders[i]->next().status == IBV_WC_SUCCESS);
        ibv_wc wc = three.server.next();
        CHECK(wc.status == IBV_WC_SUCCESS);
        CHECK(wc.wr_id == 70 + i);
        CHECK(wc.opcode == IBV_WC_RECV);
        CHECK(wc.byte_len == 50);
        CHECK(wc.qp_num == (senders[i] == &three.one ? three.first : three.second)->qp_num);
        CHECK(std::memcmp(&three.server.memory[100 * i], senders[i]->memory.data(), 50) == 0);
    }
}

TEST_CASE("a shared queue is full at its length, and a place is free when its completion is polled")
{
    Three three(2);
    CHECK(three.server.share(1, 0, 8) == 0);
    CHECK(three.server.share(2, 0, 8) == 0);
    CHECK(three.server.share(3, 0, 8) == ENOMEM);
    CHECK(three.send(three.one, 1, 8) == 0);
    CHECK(three.one.next().status == IBV_WC_SUCCESS);
    CHECK(three.server.share(3, 0, 8) == ENOMEM);
    CHECK(three.server.next().wr_id == 1);
    CHECK(three.server.share(3, 0, 8) == 0);
    CHECK(three.server.receive(4, 0, 8) == EINVAL);
}

TEST_CASE("an empty shared queue is not ready, in time or for ever")
{
    Three three(2);
    CHECK(three.send(three.one, 1, 8) == 0);
    CHECK(three.one.next(20).status == kNone);
    CHECK(three.server.share(1, 0, 8) == 0);
    CHECK(three.one.next().status == IBV_WC_SUCCESS);

    Settings impatient;
    impatient.rnr_retry = 1;
    Three hasty(2, impatient);
    CHECK(hasty.send(hasty.one, 1, 8) == 0);
    CHECK(hasty.one.next().status == IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_CASE("a queue pair that fails leaves shared receives to the others")
{
    Three three(4);
    for (uint64_t i = 0; i < 3; ++i)
        CHECK(three.server.share(70 + i, 100 * i, 64) == 0);
    // Too long for the receive: both ends fail, and that receive with them.
    CHECK(three.send(three.other, 1, 65) == 0);
    CHECK(three.other.next().status == IBV_WC_REM_INV_REQ_ERR);
    ibv_wc wc = three.server.next();
    CHECK(wc.status == IBV_WC_LOC_LEN_ERR);
    CHECK(wc.wr_id == 70);
    CHECK(wc.qp_num == three.second->qp_num);
    CHECK(three.server.next_event() == IBV_EVENT_QP_REQ_ERR);
    CHECK(three.server.next_event() == IBV_EVENT_QP_LAST_WQE_REACHED);
    CHECK(three.server.next(20).status == kNone);
    for (uint64_t i = 1; i < 3; ++i) {
        CHECK(three.send(three.one, i, 64) == 0);
        CHECK(three.one.next().status == IBV_WC_SUCCESS);
        CHECK(three.server.next().wr_id == 70 + i);
    }
}

TEST_CASE("a shared receive that was taken when its queue pair fails is flushed, and no other")
{
    Three three(4);
    CHECK(three.server.share(70, 0, Half::kBytes) == 0);
    CHECK(three.server.share(71, 0, Half::kBytes) == 0);
    Half half(three.other);
    half.send();
    CHECK(three.server.next(20).status == kNone);

    CHECK(three.server.to(IBV_QPS_ERR) == 0);
    ibv_wc wc = three.server.next();
    CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
    CHECK(wc.wr_id == 70);
    CHECK(wc.qp_num == three.second->qp_num);
    CHECK(three.server.next_event() == IBV_EVENT_QP_LAST_WQE_REACHED);
    CHECK(three.send(three.one, 1, 64) == 0);
    CHECK(three.one.next().status == IBV_WC_SUCCESS);
    CHECK(three.server.next().wr_id == 71);
}

TEST_CASE("the limit is told once, when fewer are left")
{
    Three three(4);
    for (uint64_t i = 0; i < 4; ++i)
        CHECK(three.server.share(i, 0, 8) == 0);
    CHECK(three.limit(5) == EINVAL);
    CHECK(three.limit(3) == 0);
    CHECK(three.query().srq_limit == 3);
    for (int i = 0; i < 2; ++i) {
        CHECK(three.server.next_event(0) == -1);
        CHECK(three.send(three.one, 1, 8) == 0);
        CHECK(three.one.next().status == IBV_WC_SUCCESS);
        CHECK(three.server.next().status == IBV_WC_SUCCESS);
    }
    CHECK(three.server.next_event() == IBV_EVENT_SRQ_LIMIT_REACHED);
    CHECK(three.query().srq_limit == 0);
    CHECK(three.send(three.one, 1, 8) == 0);
    CHECK(three.one.next().status == IBV_WC_SUCCESS);
    CHECK(three.server.next_event(20) == -1);
}

TEST_CASE("a shared queue is destroyed after its queue pairs, and with what it still has")
{
    int before = metrale_emulator_ibverbs_live(6);
    {
        Three three(4);
        CHECK(metrale_emulator_ibverbs_live(6) == before + 1);
        CHECK(three.server.share(1, 0, 8) == 0);
        CHECK(three.server.qp->srq == three.server.srq);
        CHECK(ibv_destroy_srq(three.server.srq) == EBUSY);
        CHECK(ibv_destroy_qp(three.first) == 0);
        three.first = nullptr;
        CHECK(ibv_destroy_srq(three.server.srq) == EBUSY);
        CHECK(three.query().max_wr == 4);
    }
    CHECK(metrale_emulator_ibverbs_live(6) == before);
}

TEST_CASE("completions that go with their queue pair give their places back")
{
    Three three(1);
    CHECK(three.server.share(1, 0, 8) == 0);
    CHECK(three.send(three.one, 1, 8) == 0);
    CHECK(three.one.next().status == IBV_WC_SUCCESS);
    CHECK(three.server.share(2, 0, 8) == ENOMEM);
    CHECK(ibv_destroy_qp(three.first) == 0);
    three.first = nullptr;
    CHECK(three.server.next(20).status == kNone);
    CHECK(three.server.share(2, 0, 8) == 0);
}

TEST_CASE("what a queue pair has taken and not completed gives its place back when that is gone")
{
    for (bool reset : {true, false}) {
        Three three(1);
        CHECK(three.server.share(70, 0, Half::kBytes) == 0);
        Half half(three.other);
        half.send();
        CHECK(three.server.share(71, 0, 8) == ENOMEM);
        if (reset) {
            CHECK(three.server.to(IBV_QPS_RESET) == 0);
        } else {
            CHECK(ibv_destroy_qp(three.server.qp) == 0);
            three.server.qp = nullptr;
        }
        CHECK(three.server.share(71, 0, 8) == 0);
        CHECK(three.send(three.one, 1, 8) == 0);
        CHECK(three.one.next().status == IBV_WC_SUCCESS);
        CHECK(three.server.next().wr_id == 71);
    }
}

TEST_CASE("limits of shared queues are the device's, and their length can be changed")
{
    End end;
    ibv_device_attr device{};
    CHECK(ibv_query_device(end.context, &device) == 0);
    CHECK(device.max_srq > 0);
    ibv_srq_init_attr init{};
    init.attr.max_wr = static_cast<uint32_t>(device.max_srq_wr) + 1;
    CHECK(ibv_create_srq(end.pd, &init) == nullptr);
    CHECK(errno == EINVAL);
    init.attr = {8, static_cast<uint32_t>(device.max_srq_sge) + 1, 0};
    CHECK(ibv_create_srq(end.pd, &init) == nullptr);
    init.attr = {0, 1, 0};
    CHECK(ibv_create_srq(end.pd, &init) == nullptr);

    Three three(2);
    CHECK(three.server.share(1, 0, 8) == 0);
    CHECK(three.server.share(2, 0, 8) == 0);
    ibv_srq_attr attr{};
    attr.max_wr = 1;
    CHECK(ibv_modify_srq(three.server.srq, &attr, IBV_SRQ_MAX_WR) == EINVAL);
    attr.max_wr = 3;
    CHECK(ibv_modify_srq(three.server.srq, &attr, IBV_SRQ_MAX_WR) == 0);
    CHECK(three.query().max_wr == 3);
    CHECK(three.server.share(3, 0, 8) == 0);
    CHECK(ibv_modify_srq(three.server.srq, &attr, 4) == EINVAL);
}

TEST_CASE("each call on a shared queue can be made to fail")
{
    {
        With failing("fault = ibverbs.ibv_create_srq code=12", "");
        End end;
        ibv_srq_init_attr init{};
        init.attr = {1, 1, 0};
        CHECK(ibv_create_srq(end.pd, &init) == nullptr);
        CHECK(errno == ENOMEM);
    }
    Three three(2);
    With failing("fault = ibverbs.ibv_modify_srq call=1 code=5\n"
                 "fault = ibverbs.ibv_query_srq call=1 code=19\n"
                 "fault = ibverbs.ibv_post_srq_recv call=1 code=12\n"
                 "fault = ibverbs.ibv_destroy_srq call=1 code=16\n"
                 "fault = ibverbs.shared_receive call=2 async=14",
                 "");
    ibv_srq_attr attr{};
    CHECK(three.limit(1) == EIO);
    CHECK(ibv_query_srq(three.server.srq, &attr) == ENODEV);
    CHECK(three.server.share(1, 0, 8) == ENOMEM);
    CHECK(ibv_destroy_srq(three.server.srq) == EBUSY);
    CHECK(three.server.share(1, 0, 8) == 0);
    CHECK(three.server.share(2, 0, 8) == 0);
    CHECK(three.send(three.one, 1, 8) == 0);
    CHECK(three.one.next().status == IBV_WC_SUCCESS);
    // The queue fails with the second, and gives nothing out any more.
    CHECK(three.send(three.one, 1, 8) == 0);
    CHECK(three.server.next_event() == IBV_EVENT_SRQ_ERR);
    CHECK(three.one.next(20).status == kNone);
}
