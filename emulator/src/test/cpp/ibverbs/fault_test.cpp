#include "rig.h"

#include <doctest/doctest.h>

#include <cerrno>

namespace
{

using Clock = std::chrono::steady_clock;

} // namespace

TEST_CASE("a link that is down loses packets, and a link that returns in time carries on")
{
    Settings patient;
    patient.timeout = 16;
    patient.retry = 7;
    Pair pair(patient, {.device = 1});
    {
        With down("ibv.1.state = down", "ibv.1.state = active");
        CHECK(pair.server.next_event() == IBV_EVENT_PORT_ERR);
        CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
        CHECK(pair.client.next(50).status == kNone);
    }
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);

    Settings quick;
    quick.timeout = 12;
    quick.retry = 1;
    Pair other(quick);
    With down("ibv.0.state = down", "ibv.0.state = active");
    CHECK(other.client.transfer(1, IBV_WR_RDMA_READ, other.remote, 0, 8, 0) == 0);
    CHECK(other.client.transfer(2, IBV_WR_RDMA_READ, other.remote, 0, 8, 0) == 0);
    CHECK(other.client.next().status == IBV_WC_RETRY_EXC_ERR);
    CHECK(other.client.next().status == IBV_WC_WR_FLUSH_ERR);
}

TEST_CASE("timeout 0 waits for ever, and the error state ends it")
{
    Settings endless;
    endless.timeout = 0;
    Pair pair(endless);
    With down("ibv.0.state = down", "ibv.0.state = active");
    CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.next(100).status == kNone);
    CHECK(pair.client.to(IBV_QPS_ERR) == 0);
    CHECK(pair.client.next().status == IBV_WC_WR_FLUSH_ERR);
}

TEST_CASE("receives are flushed in order with the error state, and go with their queue pair")
{
    Pair pair;
    CHECK(pair.server.receive(1, 0, 10) == 0);
    CHECK(pair.server.receive(2, 0, 10) == 0);
    CHECK(pair.client.transfer(3, IBV_WR_SEND, pair.remote, 0, 10, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
    CHECK(pair.server.to(IBV_QPS_ERR) == 0);
    CHECK(pair.server.receive(4, 0, 10) == 0);
    ibv_wc wc = pair.server.next();
    CHECK(wc.status == IBV_WC_SUCCESS);
    for (uint64_t id : {2, 4}) {
        wc = pair.server.next();
        CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
        CHECK(wc.wr_id == id);
    }

    Pair other;
    CHECK(other.server.receive(5, 0, 10) == 0);
    CHECK(ibv_destroy_qp(other.server.qp) == 0);
    other.server.qp = nullptr;
    CHECK(other.server.next(20).status == kNone);
}

TEST_CASE("an address that moved away loses packets")
{
    Settings quick;
    quick.timeout = 12;
    quick.retry = 1;
    Pair pair(quick, {.device = 1});
    {
        With moved("ibv.0.gids = v2 10.99.0.1",
                   "ibv.0.gids = v1 fe80::a00:27ff:fe00:1 3, v2 "
                   "fe80::a00:27ff:fe00:1 3, v1 10.20.0.1 3, v2 "
                   "10.20.0.1 3, v1 fd00:20:0::1 3, v2 fd00:20:0::1 3");
        CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
        CHECK(pair.client.next().status == IBV_WC_RETRY_EXC_ERR);
    }
}

TEST_CASE("completions that never come are flushed in the end")
{
    Pair pair;
    {
        With hang("fault = ibverbs.transfer call=2 hang", "");
        for (uint64_t id = 1; id <= 3; ++id)
            CHECK(pair.client.transfer(id, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
        CHECK(pair.client.next().wr_id == 1);
        CHECK(pair.client.next(50).status == kNone);
    }
    CHECK(pair.client.to(IBV_QPS_ERR) == 0);
    CHECK(pair.client.next().status == IBV_WC_WR_FLUSH_ERR);
    CHECK(pair.client.next().status == IBV_WC_WR_FLUSH_ERR);
}

TEST_CASE("a completion can be swallowed, given a status, and delayed")
{
    Pair pair;
    pair.server.fill(1);
    With faults("fault = ibverbs.transfer call=1 skip\nfault = ibverbs.transfer call=2 delay=30\n"
                "fault = ibverbs.transfer call=3 code=21",
                "");
    auto begin = Clock::now();
    for (uint64_t id = 1; id <= 3; ++id)
        CHECK(pair.client.transfer(id, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.next().wr_id == 2);
    CHECK(millis_since(begin) >= 30);
    CHECK(std::memcmp(pair.client.memory.data(), pair.server.memory.data(), 8) == 0);
    ibv_wc wc = pair.client.next();
    CHECK(wc.wr_id == 3);
    CHECK(wc.status == IBV_WC_GENERAL_ERR);
    CHECK(pair.client.state() == IBV_QPS_ERR);
}

TEST_CASE("a queue pair can fail by itself, which is an event")
{
    Pair pair;
    With fatal("fault = ibverbs.transfer async=1", "");
    CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.next_event() == IBV_EVENT_QP_FATAL);
    CHECK(pair.client.next().status == IBV_WC_WR_FLUSH_ERR);
}

TEST_CASE("a completion queue that overruns is an error of queue and queue pair")
{
    Settings narrow;
    narrow.cq_depth = 4;
    Pair pair(narrow);
    for (uint64_t id = 0; id < 6; ++id)
        CHECK(pair.client.transfer(id, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    int first = pair.client.next_event();
    int second = pair.client.next_event();
    CHECK(first == IBV_EVENT_CQ_ERR);
    CHECK(second == IBV_EVENT_QP_FATAL);
    CHECK(pair.client.state() == IBV_QPS_ERR);
    for (uint64_t id = 0; id < 4; ++id)
        CHECK(pair.client.next().wr_id == id);
    CHECK(pair.client.next().status == kPollFailed);
}

TEST_CASE("a rate holds transfers back")
{
    Pair pair;
    With slow("ibv.0.bytes_per_second = 10MiB", "ibv.0.bytes_per_second = 0");
    auto begin = Clock::now();
    for (uint64_t id = 0; id < 2; ++id)
        CHECK(pair.client.transfer(id, IBV_WR_RDMA_READ, pair.remote, 0, 1 << 20, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
    CHECK(millis_since(begin) >= 190);
    CHECK(millis_since(begin) < 3000);
}

TEST_CASE("an event that is not acknowledged holds up the destruction")
{
    Pair pair;
    Address wrong = pair.remote;
    wrong.rkey ^= 0x100;
    CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, wrong, 0, 8, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_REM_ACCESS_ERR);
    ibv_async_event event;
    REQUIRE(ibv_get_async_event(pair.server.context, &event) == 0);
    CHECK(event.event_type == IBV_EVENT_QP_ACCESS_ERR);
    CHECK(event.element.qp == pair.server.qp);
    std::atomic<bool> destroyed{false};
    std::thread destroyer([&] {
        ibv_destroy_qp(pair.server.qp);
        destroyed = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(destroyed);
    ibv_ack_async_event(&event);
    destroyer.join();
    pair.server.qp = nullptr;
}

TEST_CASE("connects and closes many times without leaving anything")
{
    int before[7];
    for (int kind = 0; kind < 7; ++kind)
        before[kind] = metrale_emulator_ibverbs_live(kind);
    for (int i = 0; i < 60; ++i) {
        Settings small;
        small.bytes = 4096;
        Pair pair(small, small);
        CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, pair.remote, 0, 4096, 0) == 0);
        if (i % 2 == 0)
            CHECK(pair.client.next().status == IBV_WC_SUCCESS);
        if (i % 3 == 0) {
            // Once more over the same queue pairs.
            CHECK(pair.client.to(IBV_QPS_RESET) == 0);
            CHECK(pair.server.to(IBV_QPS_RESET) == 0);
            CHECK(pair.server.connect(pair.client.address()) == 0);
            CHECK(pair.client.connect(pair.server.address()) == 0);
            CHECK(pair.client.transfer(2, IBV_WR_RDMA_WRITE, pair.remote, 0, 4096, 0) == 0);
            ibv_wc wc = pair.client.next();
            CHECK(wc.status == IBV_WC_SUCCESS);
            CHECK(wc.wr_id == 2);
        }
    }
    for (int kind = 0; kind < 7; ++kind)
        CHECK(metrale_emulator_ibverbs_live(kind) == before[kind]);
    CHECK(metrale_emulator_ibverbs_live(7) == -1);
}

TEST_CASE("many queue pairs at once, from several threads")
{
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&good, t] {
            Settings small;
            small.device = static_cast<size_t>(t % 2);
            small.bytes = 65536;
            Pair pair(small, small);
            for (uint64_t id = 0; id < 50; ++id) {
                auto opcode = id % 2 == 0 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
                if (pair.client.transfer(id, opcode, pair.remote, 0, 65536, 0) != 0)
                    return;
                ibv_wc wc = pair.client.next();
                if (wc.status == IBV_WC_SUCCESS && wc.wr_id == id)
                    ++good;
            }
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    CHECK(good == 200);
}

// Last: the device does not come back.
TEST_CASE("a lost device fails everything and can still be closed")
{
    Pair pair({.device = 1}, {.device = 0});
    With lost("fault = ibverbs.transfer lost device=1", "");
    CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.next_event() == IBV_EVENT_DEVICE_FATAL);
    CHECK(pair.client.next().status == IBV_WC_WR_FLUSH_ERR);
    ibv_port_attr port;
    CHECK(ibv_query_port(pair.client.context, 1, &port) == ENODEV);
    ibv_device_attr attr;
    CHECK(ibv_query_device(pair.client.context, &attr) == ENODEV);
    CHECK(ibv_alloc_pd(pair.client.context) == nullptr);
    CHECK(errno == ENODEV);
    CHECK(open_device(1) == nullptr);
    CHECK(pair.client.transfer(2, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_WR_FLUSH_ERR);
}
