#include "rig.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <endian.h>
#include <sys/mman.h>
#include <unistd.h>

TEST_CASE("READ and WRITE move the bytes, of any length")
{
    Settings big;
    big.bytes = (3 << 20) + 77;
    Pair pair(big, big);
    REQUIRE(pair.client_error == 0);
    REQUIRE(pair.server_error == 0);
    for (uint32_t length : {1U, 4096U, 65537U, (1U << 20), (3U << 20) + 77U}) {
        pair.server.fill(length);
        std::fill(pair.client.memory.begin(), pair.client.memory.end(), 0);
        REQUIRE(pair.client.transfer(length, IBV_WR_RDMA_READ, pair.remote, 0, length, 0) == 0);
        ibv_wc wc = pair.client.next();
        REQUIRE(wc.status == IBV_WC_SUCCESS);
        CHECK(wc.wr_id == length);
        CHECK(wc.opcode == IBV_WC_RDMA_READ);
        CHECK(wc.byte_len == length);
        CHECK(wc.qp_num == pair.client.qp->qp_num);
        CHECK(std::memcmp(pair.client.memory.data(), pair.server.memory.data(), length) == 0);

        pair.client.fill(length + 1);
        REQUIRE(pair.client.transfer(7, IBV_WR_RDMA_WRITE, pair.remote, 0, length, 0) == 0);
        REQUIRE(pair.client.next().status == IBV_WC_SUCCESS);
        CHECK(std::memcmp(pair.client.memory.data(), pair.server.memory.data(), length) == 0);
    }
    // Both directions at once.
    pair.server.transfer(9, IBV_WR_RDMA_READ, pair.client.address(), 0, 1 << 20, 0);
    pair.client.transfer(8, IBV_WR_RDMA_WRITE, pair.remote, 2 << 20, 1 << 20, 2 << 20);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
    CHECK(pair.server.next().status == IBV_WC_SUCCESS);
}

TEST_CASE("nothing moves for length 0, and that is a completion")
{
    Pair pair;
    ibv_send_wr wr{};
    wr.wr_id = 4;
    wr.opcode = IBV_WR_RDMA_WRITE;
    CHECK(pair.client.post(wr) == 0);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
}

TEST_CASE("gathers and scatters, and copies inline data at once")
{
    Pair pair;
    pair.client.fill(3);
    ibv_sge pieces[3] = {pair.client.piece(0, 100), pair.client.piece(1000, 1),
                         pair.client.piece(5000, 3000)};
    ibv_send_wr wr = pair.client.request(1, IBV_WR_RDMA_WRITE, pieces, pair.remote, 10);
    wr.num_sge = 3;
    CHECK(pair.client.post(wr) == 0);
    REQUIRE(pair.client.next().status == IBV_WC_SUCCESS);
    CHECK(std::memcmp(&pair.server.memory[10], &pair.client.memory[0], 100) == 0);
    CHECK(pair.server.memory[110] == pair.client.memory[1000]);
    CHECK(std::memcmp(&pair.server.memory[111], &pair.client.memory[5000], 3000) == 0);

    char text[] = "in the request itself";
    ibv_sge sge = {reinterpret_cast<uint64_t>(text), sizeof(text), 0};
    wr = pair.client.request(2, IBV_WR_RDMA_WRITE, &sge, pair.remote);
    wr.send_flags |= IBV_SEND_INLINE;
    CHECK(pair.client.post(wr) == 0);
    std::memset(text, 'x', sizeof(text));
    REQUIRE(pair.client.next().status == IBV_WC_SUCCESS);
    CHECK(std::memcmp(pair.server.memory.data(), "in the request", 14) == 0);
    sge.length = 257;
    CHECK(pair.client.post(wr) == EINVAL);
}

TEST_CASE("SEND needs a receive, and immediate data arrives")
{
    Pair pair;
    pair.client.fill(9);
    // The receiver is late: the sender is told to come again.
    ibv_sge sge = pair.client.piece(0, 500);
    ibv_send_wr wr = pair.client.request(1, IBV_WR_SEND_WITH_IMM, &sge, pair.remote);
    wr.imm_data = htobe32(0x1234);
    CHECK(pair.client.post(wr) == 0);
    CHECK(pair.client.next(20).status == kNone);
    CHECK(pair.server.receive(77, 0, 1000) == 0);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
    ibv_wc wc = pair.server.next();
    CHECK(wc.status == IBV_WC_SUCCESS);
    CHECK(wc.wr_id == 77);
    CHECK(wc.opcode == IBV_WC_RECV);
    CHECK(wc.byte_len == 500);
    CHECK(wc.wc_flags == IBV_WC_WITH_IMM);
    CHECK(wc.imm_data == htobe32(0x1234));
    CHECK(std::memcmp(pair.server.memory.data(), pair.client.memory.data(), 500) == 0);

    CHECK(pair.server.receive(78, 0, 1000) == 0);
    wr = pair.client.request(2, IBV_WR_RDMA_WRITE_WITH_IMM, &sge, pair.remote, 2000);
    wr.imm_data = htobe32(7);
    CHECK(pair.client.post(wr) == 0);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
    wc = pair.server.next();
    CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
    CHECK(wc.imm_data == htobe32(7));
    CHECK(std::memcmp(&pair.server.memory[2000], pair.client.memory.data(), 500) == 0);
}

TEST_CASE("a message longer than the receive fails both ends")
{
    Pair pair;
    CHECK(pair.server.receive(1, 0, 10) == 0);
    CHECK(pair.client.transfer(2, IBV_WR_SEND, pair.remote, 0, 11, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_REM_INV_REQ_ERR);
    CHECK(pair.server.next().status == IBV_WC_LOC_LEN_ERR);
    CHECK(pair.server.state() == IBV_QPS_ERR);
}

TEST_CASE("a receiver that is never ready ends with 13")
{
    Settings impatient;
    impatient.rnr_retry = 2;
    Pair pair(impatient);
    CHECK(pair.client.transfer(2, IBV_WR_SEND, pair.remote, 0, 11, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_CASE("atomics return the old value and are atomic")
{
    Pair first;
    auto *word = reinterpret_cast<uint64_t *>(first.server.memory.data());
    *word = 40;
    ibv_sge sge = first.client.piece(64, 8);
    ibv_send_wr wr = first.client.request(1, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, first.remote);
    wr.wr.atomic.remote_addr = first.remote.buffer;
    wr.wr.atomic.rkey = first.remote.rkey;
    wr.wr.atomic.compare_add = 2;
    for (int i = 0; i < 50; ++i)
        REQUIRE(first.client.post(wr) == 0);
    for (int i = 0; i < 50; ++i)
        REQUIRE(first.client.next().status == IBV_WC_SUCCESS);
    CHECK(*word == 140);
    uint64_t before;
    std::memcpy(&before, &first.client.memory[64], 8);
    CHECK(before == 138);

    wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    wr.wr.atomic.compare_add = 140;
    wr.wr.atomic.swap = 5;
    CHECK(first.client.post(wr) == 0);
    ibv_wc wc = first.client.next();
    CHECK(wc.status == IBV_WC_SUCCESS);
    CHECK(wc.opcode == IBV_WC_COMP_SWAP);
    CHECK(*word == 5);
    CHECK(first.client.post(wr) == 0);
    CHECK(first.client.next().status == IBV_WC_SUCCESS);
    CHECK(*word == 5);

    wr.wr.atomic.remote_addr += 4;
    CHECK(first.client.post(wr) == 0);
    CHECK(first.client.next().status == IBV_WC_REM_INV_REQ_ERR);
}

TEST_CASE("completes in order, and unsignaled requests give their place back with the next")
{
    Settings quiet;
    quiet.signal_all = false;
    quiet.send_depth = 8;
    Pair pair(quiet);
    ibv_sge sge = pair.client.piece(0, 64);
    for (uint64_t round = 0; round < 20; ++round) {
        for (uint64_t i = 0; i < 8; ++i) {
            ibv_send_wr wr =
                pair.client.request(round * 8 + i, IBV_WR_RDMA_READ, &sge, pair.remote);
            wr.send_flags = i == 3 || i == 7 ? IBV_SEND_SIGNALED : 0;
            REQUIRE(pair.client.post(wr) == 0);
        }
        ibv_wc first = pair.client.next();
        CHECK(first.wr_id == round * 8 + 3);
        CHECK(pair.client.next().wr_id == round * 8 + 7);
    }
    // Never signaled: the queue fills for good.
    for (uint64_t i = 0; i < 8; ++i) {
        ibv_send_wr wr = pair.client.request(i, IBV_WR_RDMA_READ, &sge, pair.remote);
        wr.send_flags = 0;
        REQUIRE(pair.client.post(wr) == 0);
    }
    ibv_send_wr wr = pair.client.request(9, IBV_WR_RDMA_READ, &sge, pair.remote);
    CHECK(pair.client.post(wr) == ENOMEM);
}

TEST_CASE("a full send queue refuses at the right place until completions are polled")
{
    Settings small;
    small.send_depth = 4;
    Pair pair(small);
    ibv_sge sge = pair.client.piece(0, 64);
    ibv_send_wr wr[6];
    for (int i = 0; i < 6; ++i) {
        wr[i] = pair.client.request(static_cast<uint64_t>(i), IBV_WR_RDMA_WRITE, &sge, pair.remote);
        wr[i].next = i < 5 ? &wr[i + 1] : nullptr;
    }
    ibv_send_wr *bad = nullptr;
    CHECK(ibv_post_send(pair.client.qp, wr, &bad) == ENOMEM);
    CHECK(bad == &wr[4]);
    CHECK(pair.client.next().wr_id == 0);
    CHECK(ibv_post_send(pair.client.qp, &wr[4], &bad) == ENOMEM);
    CHECK(bad == &wr[5]);
    for (uint64_t id = 1; id <= 4; ++id)
        CHECK(pair.client.next().wr_id == id);
}

TEST_CASE("a wrong key, bounds, rights or domain end with 10 and both ends in the error state")
{
    for (int fault = 0; fault < 4; ++fault) {
        CAPTURE(fault);
        Settings server;
        if (fault == 3)
            server.region_access = IBV_ACCESS_REMOTE_READ;
        Pair pair({}, server);
        Address to = pair.remote;
        uint64_t offset = 0;
        if (fault == 0)
            to.rkey ^= 0x100;
        if (fault == 1)
            offset = pair.server.memory.size() - 4;
        if (fault == 2)
            to.rkey = pair.client.mr->rkey, to.buffer = pair.client.address().buffer;
        CHECK(pair.client.transfer(1, IBV_WR_RDMA_WRITE, to, 0, 8, offset) == 0);
        CHECK(pair.client.transfer(2, IBV_WR_RDMA_WRITE, pair.remote, 0, 8, 0) == 0);
        ibv_wc wc = pair.client.next();
        CHECK(wc.wr_id == 1);
        CHECK(wc.status == IBV_WC_REM_ACCESS_ERR);
        CHECK(wc.vendor_err != 0);
        wc = pair.client.next();
        CHECK(wc.wr_id == 2);
        CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
        CHECK(pair.client.state() == IBV_QPS_ERR);
        CHECK(pair.server.state() == IBV_QPS_ERR);
        CHECK(pair.server.next_event() == IBV_EVENT_QP_ACCESS_ERR);
        // Posting goes on to be accepted, and flushed.
        CHECK(pair.client.transfer(3, IBV_WR_RDMA_WRITE, pair.remote, 0, 8, 0) == 0);
        CHECK(pair.client.next().status == IBV_WC_WR_FLUSH_ERR);
        CHECK(pair.server.receive(4, 0, 8) == 0);
        CHECK(pair.server.next().status == IBV_WC_WR_FLUSH_ERR);
    }
}

TEST_CASE("a queue pair without the right refuses as an invalid request")
{
    Settings read_only;
    read_only.qp_access = IBV_ACCESS_REMOTE_READ;
    Pair pair({}, read_only);
    CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
    CHECK(pair.client.transfer(2, IBV_WR_RDMA_WRITE, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_REM_INV_REQ_ERR);
    CHECK(pair.server.next_event() == IBV_EVENT_QP_REQ_ERR);
}

TEST_CASE("a wrong local key is 4, a region that may not be written too")
{
    for (bool rights : {false, true}) {
        Settings read_only;
        if (rights)
            read_only.region_access = 0;
        Pair pair(read_only);
        ibv_sge sge = pair.client.piece(0, 8);
        if (!rights)
            sge.lkey ^= 0x200;
        CHECK(pair.client.post(pair.client.request(1, IBV_WR_RDMA_READ, &sge, pair.remote)) == 0);
        CHECK(pair.client.next().status == IBV_WC_LOC_PROT_ERR);
        CHECK(pair.server.state() == IBV_QPS_RTS);
    }
}

TEST_CASE("a message above the port's limit is a local length error")
{
    Pair pair;
    ibv_sge sge = pair.client.piece(0, (1U << 30) + 1);
    CHECK(pair.client.post(pair.client.request(1, IBV_WR_RDMA_READ, &sge, pair.remote)) == 0);
    CHECK(pair.client.next().status == IBV_WC_LOC_LEN_ERR);
}

TEST_CASE("ends with different MTUs understand each other up to one packet")
{
    Settings small;
    small.mtu = IBV_MTU_1024;
    Pair pair({}, small);
    CHECK(pair.client.transfer(1, IBV_WR_RDMA_WRITE, pair.remote, 0, 1024, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
    CHECK(pair.client.transfer(2, IBV_WR_RDMA_WRITE, pair.remote, 0, 1025, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_REM_INV_REQ_ERR);
}

TEST_CASE("what would be lost on the wire ends with 12 after the timeout")
{
    enum { Psn, Number, Type, PeerInit, PeerError, PeerGone };
    for (int fault : {Psn, Number, Type, PeerInit, PeerError, PeerGone}) {
        CAPTURE(fault);
        Settings quick;
        quick.timeout = 13;
        quick.retry = 2;
        Settings server_with;
        if (fault == Type)
            server_with.gid_index = 2;
        End client(quick);
        End server(server_with);
        Address to_client = client.address();
        Address to_server = server.address();
        if (fault == Psn)
            to_client.psn += 5;
        if (fault == Number)
            to_client.qpn ^= 1;
        CHECK(server.to_init() == 0);
        if (fault != PeerInit)
            CHECK(server.to_receive(to_client) == 0);
        CHECK(client.connect(to_server) == 0);
        if (fault == PeerError)
            CHECK(server.to(IBV_QPS_ERR) == 0);
        if (fault == PeerGone) {
            ibv_destroy_qp(server.qp);
            server.qp = nullptr;
        }
        auto begin = std::chrono::steady_clock::now();
        CHECK(client.transfer(1, IBV_WR_RDMA_READ, to_server, 0, 8, 0) == 0);
        CHECK(client.next().status == IBV_WC_RETRY_EXC_ERR);
        // 3 tries of 4.096 us * 2^13.
        CHECK(millis_since(begin) >= 95);
        CHECK(millis_since(begin) < 2000);
    }
}

TEST_CASE("a peer that becomes ready in time is waited for")
{
    Settings patient;
    patient.timeout = 18;
    End client(patient);
    End server;
    Address to_server = server.address();
    CHECK(client.connect(to_server) == 0);
    CHECK(client.transfer(1, IBV_WR_RDMA_READ, to_server, 0, 8, 0) == 0);
    CHECK(client.next(30).status == kNone);
    CHECK(server.connect(client.address()) == 0);
    CHECK(client.next().status == IBV_WC_SUCCESS);
}

TEST_CASE("deregistering under traffic gives errors and no crash")
{
    for (bool remote : {true, false}) {
        CAPTURE(remote);
        Settings big;
        big.bytes = 16 << 20;
        Pair pair(big, big);
        auto bytes = static_cast<uint32_t>(big.bytes);
        for (uint64_t i = 0; i < 20; ++i)
            REQUIRE(pair.client.transfer(i, IBV_WR_RDMA_WRITE, pair.remote, 0, bytes, 0) == 0);
        CHECK(pair.client.next().status == IBV_WC_SUCCESS);
        End &end = remote ? pair.server : pair.client;
        CHECK(ibv_dereg_mr(end.mr) == 0);
        end.mr = nullptr;
        std::vector<uint8_t>().swap(end.memory);
        ibv_wc wc;
        do {
            wc = pair.client.next();
        } while (wc.status == IBV_WC_SUCCESS);
        CHECK(wc.status == (remote ? IBV_WC_REM_ACCESS_ERR : IBV_WC_LOC_PROT_ERR));
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("pages that went away under a registration are an error and no crash")
{
    Pair pair;
    const size_t bytes = 1 << 20;
    void *there = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ibv_mr *mr = (ibv_reg_mr)(pair.server.pd, there, bytes, kAll);
    REQUIRE(mr != nullptr);
    munmap(there, bytes);
    Address to = pair.remote;
    to.rkey = mr->rkey;
    to.buffer = reinterpret_cast<uint64_t>(there);
    CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, to, 0, bytes, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_REM_ACCESS_ERR);
    CHECK(ibv_dereg_mr(mr) == 0);
}
#endif

TEST_CASE("an event announces a completion, once for each request for one")
{
    Settings with_channel;
    with_channel.with_channel = true;
    Pair pair(with_channel);
    struct pollfd ready = {pair.client.channel->fd, POLLIN, 0};

    CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.next().status == IBV_WC_SUCCESS);
    CHECK(poll(&ready, 1, 0) == 0);
    CHECK(ibv_req_notify_cq(pair.client.cq, 0) == 0);
    CHECK(pair.client.transfer(2, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.transfer(3, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(poll(&ready, 1, 10000) == 1);
    ibv_cq *cq = nullptr;
    void *cq_context = nullptr;
    CHECK(ibv_get_cq_event(pair.client.channel, &cq, &cq_context) == 0);
    CHECK(cq == pair.client.cq);
    ibv_ack_cq_events(cq, 1);
    CHECK(pair.client.next().wr_id == 2);
    CHECK(pair.client.next().wr_id == 3);
    CHECK(poll(&ready, 1, 0) == 0);

    // Only solicited or failed ones.
    CHECK(ibv_req_notify_cq(pair.client.cq, 1) == 0);
    CHECK(pair.client.transfer(4, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(pair.client.next().wr_id == 4);
    CHECK(poll(&ready, 1, 0) == 0);
    CHECK(pair.client.to(IBV_QPS_ERR) == 0);
    CHECK(pair.client.transfer(5, IBV_WR_RDMA_READ, pair.remote, 0, 8, 0) == 0);
    CHECK(poll(&ready, 1, 10000) == 1);
}

TEST_CASE("works over InfiniBand addresses")
{
    // The devices of this process are RoCE; the other kind runs in the process test.
    Pair pair;
    CHECK(pair.client.address().lid == 0);
}
