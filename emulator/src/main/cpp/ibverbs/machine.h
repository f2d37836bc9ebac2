#ifndef METRALE_EMULATOR_IBVERBS_MACHINE_H
#define METRALE_EMULATOR_IBVERBS_MACHINE_H

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace metrale::emulator::ibv
{

struct Context;
using RawGid = std::array<uint8_t, 16>;

/* One place of a GID table; an unused place has a zero GID. */
struct Gid {
    RawGid raw{};
    uint32_t type = IBV_GID_TYPE_IB;
    uint32_t ifindex = 0;

    bool used() const
    {
        return raw != RawGid{};
    }
    bool operator==(const Gid &other) const = default;
};

struct Port {
    bool up = true;
    int active_mtu = IBV_MTU_4096;
    int max_mtu = IBV_MTU_4096;
    uint16_t lid = 0;
    std::vector<Gid> gids;
    std::vector<uint16_t> pkeys;
};

struct Limits {
    uint64_t max_mr_bytes = ~0ULL;
    uint32_t max_message_bytes = 1U << 30;
    int max_qp = 131072;
    int max_qp_wr = 8192;
    int max_sge = 30;
    int max_cq = 16777216;
    int max_cqe = 4194303;
    int max_mr = 16777216;
    int max_pd = 8388608;
    int max_srq = 8388608;
    int max_srq_wr = 32767;
    int max_srq_sge = 31;
    int max_rd_atomic = 16;
    int max_inline_bytes = 1024;
    int comp_vectors = 4;
    int vendor_id = 0x02c9;
    bool dma_buf = true;
};

/* An emulated adapter. Everything that a configuration change can touch is below the mutex. */
class Device
{
  public:
    explicit Device(int device_index);

    const int index;
    ibv_device handle{};
    bool infiniband = false;
    Limits limits;
    std::atomic<bool> fatal{false};

    /* What counts against the limits, for all contexts of this process. */
    std::atomic<int> queue_pairs{0};
    std::atomic<int> completion_queues{0};
    std::atomic<int> shared_receive_queues{0};
    std::atomic<int> regions{0};
    std::atomic<int> domains{0};

    int port_count() const
    {
        return port_count_;
    }
    Port port(uint32_t number) const;
    bool link_up(uint32_t number) const;

    void opened(Context *context);
    void closed(Context *context);

    /* Reads the configuration again and tells every open context what changed. */
    void reconfigure();
    /* The device is lost: queue pairs go to the error state, everything else is refused. */
    void fail();

    /* When the next `bytes` may count as sent, under the configured rate. */
    std::chrono::steady_clock::time_point pace(uint64_t bytes);

  private:
    Port read_port(uint32_t number) const;
    void tell(ibv_event_type type, int port_number);

    int port_count_ = 1;
    mutable std::mutex mutex_;
    std::vector<Port> ports_;
    std::vector<Context *> contexts_;
    std::atomic<uint64_t> bytes_per_second_{0};
    std::chrono::steady_clock::time_point busy_until_{};
};

/* All devices, made when first asked for. */
class Machine
{
  public:
    static Machine &instance();

    const std::vector<std::unique_ptr<Device>> &devices() const
    {
        return devices_;
    }
    /* Part of every address, so that tests side by side do not meet. */
    std::string domain() const;
    /* The simulated limit of locked memory. */
    bool lock_memory(uint64_t bytes);
    void unlock_memory(uint64_t bytes);

    void reconfigure();
    /* Begins to count for `ibv.at` lines. */
    void start_clock();

  private:
    Machine();

    std::vector<std::unique_ptr<Device>> devices_;
    std::mutex mutex_;
    uint64_t locked_bytes_ = 0;
    std::once_flag clock_;
};

} // namespace metrale::emulator::ibv

#endif
