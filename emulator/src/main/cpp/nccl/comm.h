#ifndef METRALE_EMULATOR_NCCL_COMM_H
#define METRALE_EMULATOR_NCCL_COMM_H

#include "nccl/board.h"
#include "nccl/mapping.h"

#include "common/config.h"
#include "common/fault.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace metrale::emulator::nccl
{

/* One user operation: multiply, then sum. */
struct UserOp {
    bool live = false;
    int type = 0;
    uint64_t scalar = 0;          /* immediate */
    const void *device = nullptr; /* or read when the operation runs */
};

struct Window {
    int index = 0;
    void *user = nullptr;
    uint64_t bytes = 0;
    std::unique_ptr<Local> memory;
};

/* One operation as the user called it. */
struct Operation {
    const char *name = "";
    Kind kind = Kind::None;
    const void *send = nullptr;
    void *recv = nullptr;
    uint64_t count = 0;
    int type = ncclInt8;
    int op = ncclSum;
    int root = 0; /* root or peer */
    void *stream = nullptr;
    int window = -1;
    uint64_t offset = 0;
    std::vector<ncclWaitSignalDesc_t> waits;
    cudaEvent_t launched = nullptr;
    Fault fault;
    uint64_t pair_sequence = 0;
};

/* A communicator: one rank's side of it. Handles are looked up, never followed. */
class Comm : public std::enable_shared_from_this<Comm>
{
  public:
    static std::shared_ptr<Comm> create(const ncclConfig_t &config);
    static std::shared_ptr<Comm> find(ncclComm_t handle);
    /* Takes it out of the table: true for the one caller that did. */
    bool retire();

    /* ncclSuccess, or why the communicator cannot be used now. */
    ncclResult_t ready();
    ncclResult_t state() const
    {
        return static_cast<ncclResult_t>(async.load(std::memory_order_acquire));
    }
    /* Sets an error that stays; the first one wins. */
    void fail(ncclResult_t result, const std::string &text);

    bool blocking() const
    {
        return config.blocking != 0;
    }
    /* Asked by everything that waits. */
    bool stopped(uint64_t ticket) const
    {
        return aborted.load(std::memory_order_acquire) ||
               ticket <= cancelled_through.load(std::memory_order_acquire);
    }
    /* Notices when a rank that is waited for is there no more; called by what waits. */
    void watch(const std::function<bool(int)> &awaited);

    /* Numbers work in the order it was called; finished work is crossed off. */
    uint64_t issue();
    void finish(uint64_t ticket);
    /* Counts the work as running until stop_running, also when it says false. */
    bool await_turn(uint64_t ticket);
    void stop_running();
    /* Until all issued work is finished; false when aborted first. */
    bool await_all();
    /* Stops what was issued so far. */
    void cancel_issued();

    /*
     * All ranks leave a message and read those of all others. For calls that all ranks make;
     * runs on threads of the host, not on streams.
     */
    ncclResult_t exchange(const HostMessage &mine, std::vector<HostMessage> *all);
    /* Takes its place (rank of nranks) on a board and waits for the others. */
    ncclResult_t join(const BoardId &id);

    void *handle = nullptr;
    ncclConfig_t config;
    std::atomic<int> rank{-1};
    std::atomic<int> nranks{0};
    int device = 0;
    std::shared_ptr<Board> board; /* of the job that joins, until it has ended */
    Mappings mappings;

    std::atomic<int> async{ncclSuccess};
    std::atomic<bool> aborted{false};
    std::atomic<uint64_t> cancelled_through{0};
    std::atomic<bool> revoked{false};
    std::atomic<bool> finalized{false};
    std::atomic<bool> suspended{false};
    std::atomic<bool> connected{false};
    std::atomic<int> jobs{0}; /* running in the background or in other threads */

    std::mutex launch_mutex; /* held while work gets its number and its place on a stream */
    std::mutex mutex;        /* guards what follows */
    std::condition_variable changed;
    uint64_t issued = 0;
    uint64_t turn = 0;
    int running = 0; /* batches that a stream works on */
    std::set<uint64_t> finished;
    std::vector<UserOp> user_ops;
    std::map<void *, std::pair<void *, size_t>> registrations;
    std::map<ncclWindow_t, std::unique_ptr<Window>> windows;
    std::set<int> window_indices;
    std::map<int, uint64_t> sent;
    std::map<int, uint64_t> received;
    std::unique_ptr<BoardId> grow_id;

    // Only touched by the work whose turn it is.
    uint64_t collectives = 0;
    std::map<uint64_t, uint64_t> signals_taken;

    // Only by the one host call that runs at a time.
    std::mutex host_mutex;
    uint64_t exchanges = 0;
    std::map<int, uint64_t> shrinks_seen;
};

/* The text ncclGetLastError hands out, and the environment's log when it is asked for. */
ncclResult_t refuse(ncclResult_t result, const std::string &text);
void remember(const std::string &text);

/* From a CUresult: remembered, and ncclUnhandledCudaError. */
ncclResult_t cuda_failure(int code, const char *what);

/* Checks and completes a user's configuration (null: all defaults, or the parent's). */
ncclResult_t parse_config(const ncclConfig_t *user, const ncclConfig_t *parent, ncclConfig_t *out);
ncclResult_t check_collective_config(const ncclCollConfig_t *config);
/* The version this library says it is. */
int claimed_version();

} // namespace metrale::emulator::nccl

#endif
