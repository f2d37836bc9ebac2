#include "nccl/comm.h"

#include "common/library.h"

#include <chrono>
#include <cuda.h>
#include <unistd.h>

namespace metrale::emulator::nccl
{

namespace
{

struct Table {
    std::mutex mutex;
    uintptr_t next = 0x7c3000001000;
    std::unordered_map<void *, std::shared_ptr<Comm>> live;
};

Table &table()
{
    static Table *only = new Table();
    return *only;
}

bool remote_death_is_silent()
{
    return Configuration::instance().choice("nccl.peer_death", {"remote_error", "silent"}) ==
           "silent";
}

} // namespace

std::shared_ptr<Comm> Comm::create(const ncclConfig_t &config)
{
    auto comm = std::make_shared<Comm>();
    comm->config = config;
    Table &all = table();
    std::lock_guard<std::mutex> lock(all.mutex);
    comm->handle = reinterpret_cast<void *>(all.next);
    all.next += 16;
    all.live[comm->handle] = comm;
    return comm;
}

std::shared_ptr<Comm> Comm::find(ncclComm_t handle)
{
    Table &all = table();
    std::lock_guard<std::mutex> lock(all.mutex);
    auto found = all.live.find(handle);
    return found == all.live.end() ? nullptr : found->second;
}

bool Comm::retire()
{
    Table &all = table();
    std::lock_guard<std::mutex> lock(all.mutex);
    return all.live.erase(handle) != 0;
}

ncclResult_t Comm::ready()
{
    ncclResult_t now = state();
    if (now == ncclInProgress)
        return refuse(ncclInvalidArgument, "Attempt to use communicator before the previous "
                                           "operation returned ncclSuccess");
    return now;
}

void Comm::fail(ncclResult_t result, const std::string &text)
{
    remember(text);
    int now = async.load();
    while (now == ncclSuccess || now == ncclInProgress) {
        if (async.compare_exchange_weak(now, result))
            break;
    }
    std::lock_guard<std::mutex> lock(mutex);
    changed.notify_all();
}

void Comm::watch(const std::function<bool(int)> &awaited)
{
    if (!board || remote_death_is_silent())
        return;
    for (int peer = 0; peer < nranks; ++peer) {
        const Slot &slot = board->slot(peer);
        if (!awaited(peer))
            continue;
        Presence presence = slot.presence.load(std::memory_order_acquire);
        if (peer == rank || presence < Presence::Joined)
            continue;
        bool gone = presence != Presence::Joined;
        if (!gone && slot.pid != getpid())
            gone = process_start(slot.pid) != slot.process_start;
        if (gone) {
            fail(ncclRemoteError, "rank " + std::to_string(peer) +
                                      " is gone: its process exited or left the communicator");
            return;
        }
    }
}

uint64_t Comm::issue()
{
    std::lock_guard<std::mutex> lock(mutex);
    return ++issued;
}

void Comm::stop_running()
{
    std::lock_guard<std::mutex> lock(mutex);
    --running;
}

void Comm::finish(uint64_t ticket)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (ticket <= turn)
        return;
    finished.insert(ticket);
    while (!finished.empty() && *finished.begin() == turn + 1) {
        finished.erase(finished.begin());
        ++turn;
    }
    changed.notify_all();
}

namespace
{

/* Timed without a clock attribute: thread sanitizers do not know the newer call. */
void wait_a_little(std::condition_variable &changed, std::unique_lock<std::mutex> &lock)
{
    changed.wait_until(lock, std::chrono::system_clock::now() + std::chrono::milliseconds(5));
}

} // namespace

bool Comm::await_turn(uint64_t ticket)
{
    std::unique_lock<std::mutex> lock(mutex);
    ++running;
    while (turn + 1 != ticket) {
        if (stopped(ticket) || metrale_emulator_cuda_cancelled() != 0)
            return false;
        wait_a_little(changed, lock);
    }
    return !stopped(ticket);
}

bool Comm::await_all()
{
    std::unique_lock<std::mutex> lock(mutex);
    uint64_t last = issued;
    while (turn < last) {
        if (aborted)
            return false;
        wait_a_little(changed, lock);
    }
    return true;
}

void Comm::cancel_issued()
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        cancelled_through.store(issued, std::memory_order_release);
        changed.notify_all();
    }
    if (board)
        board->announce();
}

ncclResult_t Comm::exchange(const HostMessage &mine, std::vector<HostMessage> *all)
{
    std::lock_guard<std::mutex> lock(host_mutex);
    Slot &own = board->slot(rank);
    uint64_t number = ++exchanges;
    auto cancelled = [this] { return aborted.load() || state() == ncclRemoteError; };
    auto reached = [&](std::atomic<uint64_t> Slot::*counter) {
        for (int i = 0; i < nranks; ++i) {
            if ((board->slot(i).*counter).load(std::memory_order_acquire) < number)
                return false;
        }
        return true;
    };
    auto look = [&](std::atomic<uint64_t> Slot::*counter) {
        watch([&](int peer) {
            return (board->slot(peer).*counter).load(std::memory_order_acquire) < number;
        });
    };

    own.message = mine;
    own.host_arrived.store(number, std::memory_order_release);
    board->announce();
    if (!board->await([&] { return reached(&Slot::host_arrived); }, cancelled,
                      [&] { look(&Slot::host_arrived); }))
        return refuse(ncclRemoteError, "a rank did not take part");
    all->clear();
    for (int i = 0; i < nranks; ++i)
        all->push_back(board->slot(i).message);
    own.host_done.store(number, std::memory_order_release);
    board->announce();
    if (!board->await([&] { return reached(&Slot::host_done); }, cancelled,
                      [&] { look(&Slot::host_done); }))
        return refuse(ncclRemoteError, "a rank did not take part");
    return ncclSuccess;
}

namespace
{

uint64_t key_of(int device)
{
    CUuuid uuid;
    uint64_t key = 0;
    if (cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS) {
        for (char byte : uuid.bytes)
            key = key * 31 + static_cast<unsigned char>(byte);
    }
    return key;
}

} // namespace

ncclResult_t Comm::join(const BoardId &id)
{
    const char *text = "";
    board = Board::open(id, &text);
    if (!board) {
        bool nonsense = text[0] == 't' && text[4] == 'u';
        return refuse(nonsense ? ncclInvalidArgument : ncclSystemError, text);
    }

    Header &header = board->header();
    int32_t expected = 0;
    if (!header.nranks.compare_exchange_strong(expected, nranks) && expected != nranks) {
        header.failed = 1;
        board->announce();
        return refuse(ncclInvalidArgument, "rank " + std::to_string(rank) + " asks for " +
                                               std::to_string(nranks) + " ranks, others for " +
                                               std::to_string(expected));
    }
    Slot &own = board->slot(rank);
    Presence absent = Presence::Absent;
    if (!own.presence.compare_exchange_strong(absent, Presence::Claimed)) {
        board.reset();
        return refuse(ncclInvalidUsage,
                      "rank " + std::to_string(rank) + " has joined with this id already");
    }
    own.pid = getpid();
    own.process_start = process_start(own.pid);
    own.device = device;
    own.device_key = key_of(device);
    own.presence.store(Presence::Joined, std::memory_order_release);
    header.joined.fetch_add(1);
    board->announce();

    bool complete = board->await([&] { return header.joined.load() >= nranks || header.failed; },
                                 [&] { return aborted.load(); }, [] {});
    Board::sweep();
    if (!complete)
        return refuse(ncclInternalError, "aborted while waiting for the other ranks");
    if (header.joined.load() < nranks)
        return refuse(ncclRemoteError, "another rank gave up joining");

    // Every rank finds the same pair, so all of them refuse.
    bool share = Configuration::instance().flag("nccl.share_devices", false);
    for (int i = 0; i < nranks && !share; ++i) {
        for (int j = i + 1; j < nranks; ++j) {
            if (board->slot(i).device_key == board->slot(j).device_key)
                return refuse(ncclInvalidUsage, "Duplicate GPU detected : rank " +
                                                    std::to_string(i) + " and rank " +
                                                    std::to_string(j) + " both on CUDA device " +
                                                    std::to_string(board->slot(i).device));
        }
    }
    return ncclSuccess;
}

} // namespace metrale::emulator::nccl
