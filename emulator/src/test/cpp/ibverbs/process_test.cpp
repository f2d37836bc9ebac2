// Between processes. The peer is started as a program of its own, as a second JVM would be.
#include "rig.h"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

class Peer
{
  public:
    Peer(const char *device, const char *gid_index, const char *seed)
    {
        int in[2];
        int out[2];
        REQUIRE(pipe(in) == 0);
        REQUIRE(pipe(out) == 0);
        pid_ = fork();
        if (pid_ == 0) {
            dup2(in[0], 0);
            dup2(out[1], 1);
            for (int fd : {in[0], in[1], out[0], out[1]})
                close(fd);
            execl(METRALE_PEER, METRALE_PEER, device, gid_index, seed, nullptr);
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        to_ = in[1];
        from_ = out[0];
    }

    ~Peer()
    {
        close(to_);
        close(from_);
        if (pid_ > 0) {
            int status = 0;
            waitpid(pid_, &status, 0);
            CHECK((killed_ || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
        }
    }

    Address exchange(const Address &own)
    {
        Address peer;
        REQUIRE(write(to_, &own, sizeof(own)) == sizeof(own));
        REQUIRE(read(from_, &peer, sizeof(peer)) == sizeof(peer));
        return peer;
    }

    uint64_t sum()
    {
        uint64_t value = 0;
        REQUIRE(write(to_, "s", 1) == 1);
        REQUIRE(read(from_, &value, sizeof(value)) == sizeof(value));
        return value;
    }

    void signal(int number)
    {
        killed_ = killed_ || number == SIGKILL;
        kill(pid_, number);
    }

  private:
    pid_t pid_ = -1;
    int to_ = -1;
    int from_ = -1;
    bool killed_ = false;
};

} // namespace

TEST_CASE("moves bytes between processes")
{
    Peer peer("1", "3", "77");
    End client;
    Address remote = peer.exchange(client.address());
    REQUIRE(client.connect(remote) == 0);
    auto bytes = static_cast<uint32_t>(client.memory.size());
    REQUIRE(client.transfer(1, IBV_WR_RDMA_READ, remote, 0, bytes, 0) == 0);
    REQUIRE(client.next().status == IBV_WC_SUCCESS);
    std::vector<uint8_t> got = client.memory;
    client.fill(77);
    CHECK(got == client.memory);

    client.fill(78);
    REQUIRE(client.transfer(2, IBV_WR_RDMA_WRITE, remote, 0, bytes, 0) == 0);
    REQUIRE(client.next().status == IBV_WC_SUCCESS);
    CHECK(peer.sum() == std::accumulate(client.memory.begin(), client.memory.end(), uint64_t{0}));

    Address wrong = remote;
    wrong.rkey ^= 0x1000;
    REQUIRE(client.transfer(3, IBV_WR_RDMA_WRITE, wrong, 0, 8, 0) == 0);
    CHECK(client.next().status == IBV_WC_REM_ACCESS_ERR);
}

TEST_CASE("a peer that is killed ends with 12 after the timeout")
{
    Peer peer("0", "3", "1");
    Settings quick;
    quick.timeout = 14;
    quick.retry = 1;
    End client(quick);
    Address remote = peer.exchange(client.address());
    REQUIRE(client.connect(remote) == 0);
    REQUIRE(client.transfer(1, IBV_WR_RDMA_READ, remote, 0, 8, 0) == 0);
    REQUIRE(client.next().status == IBV_WC_SUCCESS);
    peer.signal(SIGKILL);
    auto begin = std::chrono::steady_clock::now();
    REQUIRE(client.transfer(2, IBV_WR_RDMA_READ, remote, 0, 8, 0) == 0);
    REQUIRE(client.transfer(3, IBV_WR_RDMA_READ, remote, 0, 8, 0) == 0);
    ibv_wc wc = client.next();
    // A signal takes its time: the first may still have been answered.
    if (wc.status == IBV_WC_SUCCESS)
        wc = client.next();
    CHECK(wc.status == IBV_WC_RETRY_EXC_ERR);
    CHECK(millis_since(begin) >= 130);
    CHECK(millis_since(begin) < 3000);
}

TEST_CASE("a peer that is stopped holds transfers up until it continues")
{
    Peer peer("0", "3", "1");
    End client;
    Address remote = peer.exchange(client.address());
    REQUIRE(client.connect(remote) == 0);
    REQUIRE(client.transfer(1, IBV_WR_RDMA_READ, remote, 0, 8, 0) == 0);
    REQUIRE(client.next().status == IBV_WC_SUCCESS);
    peer.signal(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    REQUIRE(client.transfer(2, IBV_WR_RDMA_READ, remote, 0, 1 << 20, 0) == 0);
    CHECK(client.next(100).status == kNone);
    peer.signal(SIGCONT);
    CHECK(client.next().status == IBV_WC_SUCCESS);
}

TEST_CASE("InfiniBand, and a configuration from the environment with a timetable")
{
    // A program of its own, since the devices of this one are RoCE.
    int status = std::system("METRALE_EMULATOR_IBV_KIND=infiniband METRALE_EMULATOR_IBV_DEVICES=1 "
                             "METRALE_EMULATOR_IBV_AT='30 ibv.0.state = down' " METRALE_INFINIBAND);
    CHECK(status == 0);
}
