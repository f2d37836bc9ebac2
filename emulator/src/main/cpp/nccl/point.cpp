#include "nccl/engine.h"

#include "nccl/group.h"
#include "nccl/reduce.h"

#include <cstring>
#include <cuda.h>

namespace metrale::emulator::nccl
{

struct Exchange::Pending {
    explicit Pending(Operation &of) : operation(of)
    {
    }

    Operation &operation;
    Local memory;
    uint64_t bytes = 0;
    Post *posted = nullptr;
    bool done = false;
    size_t waits = 0; /* descriptors already satisfied */
};

namespace
{

uint64_t signal_key(int from, int index, int context)
{
    return static_cast<uint64_t>(from + 1) << 32 | static_cast<uint64_t>(index) << 16 |
           static_cast<uint64_t>(context);
}

/* The counter of a key in a rank's table, made when it is not there; null: the table is full. */
std::atomic<uint64_t> *counter(Slot &slot, uint64_t key)
{
    size_t start = key * 0x9e3779b97f4a7c15ULL >> 56;
    for (size_t probe = 0; probe < kSignals; ++probe) {
        SignalEntry &entry = slot.signals[(start + probe) % kSignals];
        uint64_t found = entry.key.load(std::memory_order_acquire);
        if (found == 0 && entry.key.compare_exchange_strong(found, key))
            return &entry.count;
        if (found == key)
            return &entry.count;
    }
    return nullptr;
}

} // namespace

Exchange::Exchange(Batch &batch) : batch_(batch)
{
    for (Operation &operation : batch.operations) {
        if (!is_collective(operation.kind))
            pending_.push_back(std::make_unique<Pending>(operation));
    }
}

Exchange::~Exchange()
{
    // What nobody has begun to take can be taken back; else the pins of its reader hold.
    for (const auto &pending : pending_) {
        PostState posted = PostState::Posted;
        if (pending->posted != nullptr && !pending->done)
            pending->posted->state.compare_exchange_strong(posted, PostState::Free);
    }
}

int Exchange::begin()
{
    Comm &comm = *batch_.comm;
    for (const auto &entry : pending_) {
        Pending &pending = *entry;
        uint64_t send = 0;
        uint64_t recv = 0;
        extent(pending.operation, comm.rank, comm.nranks, &send, &recv);
        pending.bytes = send + recv;
        const void *user =
            pending.operation.kind == Kind::Recv ? pending.operation.recv : pending.operation.send;
        int result = pending.bytes > 0 ? pending.memory.open(user, pending.bytes, true) : 0;
        if (result != 0)
            return result;
    }
    for (const auto &entry : pending_) {
        Kind kind = entry->operation.kind;
        if (kind == Kind::Send)
            post(*entry);
        if (kind == Kind::Put || kind == Kind::Signal) {
            int result = put(*entry);
            if (result != 0)
                return result;
        }
    }
    return 0;
}

int Exchange::finish()
{
    if (pending_.empty())
        return 0;
    Comm &comm = *batch_.comm;
    bool done = comm.board->await([this] { return step(); }, [this] { return batch_.stopped(); },
                                  [this] { watch(); });
    if (!done)
        return 0;
    for (const auto &pending : pending_) {
        if (pending->operation.kind == Kind::Recv)
            pending->memory.store();
    }
    return 0;
}

void Exchange::watch()
{
    batch_.comm->watch([this](int peer) {
        for (const auto &pending : pending_) {
            bool named = pending->operation.root == peer;
            for (const ncclWaitSignalDesc_t &wait : pending->operation.waits)
                named = named || wait.peer == peer;
            if (named && !pending->done)
                return true;
        }
        return false;
    });
}

bool Exchange::step()
{
    bool all = true;
    for (const auto &entry : pending_) {
        Pending &pending = *entry;
        if (pending.done)
            continue;
        switch (pending.operation.kind) {
        case Kind::Send:
            if (pending.posted == nullptr) {
                post(pending);
            } else if (pending.posted->state.load(std::memory_order_acquire) == PostState::Done) {
                pending.posted->state.store(PostState::Free, std::memory_order_release);
                pending.done = true;
            }
            break;
        case Kind::Recv:
            receive(pending);
            break;
        case Kind::WaitSignal:
            pending.done = signalled(pending);
            break;
        default:
            pending.done = true;
        }
        all = all && pending.done;
    }
    return all;
}

void Exchange::post(Pending &pending)
{
    Comm &comm = *batch_.comm;
    for (Post &entry : comm.board->slot(comm.rank).outbox) {
        PostState free = PostState::Free;
        if (!entry.state.compare_exchange_strong(free, PostState::Filling))
            continue;
        entry.to = pending.operation.root;
        entry.sequence = pending.operation.pair_sequence;
        entry.bytes = pending.bytes;
        entry.ref = pending.memory.ref;
        entry.state.store(PostState::Posted, std::memory_order_release);
        pending.posted = &entry;
        comm.board->announce();
        return;
    }
}

void Exchange::receive(Pending &pending)
{
    Comm &comm = *batch_.comm;
    int from = pending.operation.root;
    for (Post &entry : comm.board->slot(from).outbox) {
        if (entry.state.load(std::memory_order_acquire) != PostState::Posted ||
            entry.to != comm.rank || entry.sequence != pending.operation.pair_sequence)
            continue;
        // Different lengths never match: both sides hang, as with the real library.
        if (entry.bytes != pending.bytes) {
            if (Configuration::instance().choice("nccl.mismatch", {"hang", "error"}) == "error")
                comm.fail(ncclInvalidUsage, "ncclRecv: rank " + std::to_string(from) + " sends " +
                                                std::to_string(entry.bytes) +
                                                " bytes, expected are " +
                                                std::to_string(pending.bytes));
            return;
        }
        PostState posted = PostState::Posted;
        if (!entry.state.compare_exchange_strong(posted, PostState::Busy))
            return;
        View view;
        bool reached = comm.mappings.open(entry.ref, &view);
        if (reached && pending.bytes > 0)
            std::memcpy(pending.memory.data, view.data, pending.bytes);
        if (!reached)
            comm.fail(ncclRemoteError,
                      "memory of rank " + std::to_string(from) + " cannot be reached");
        pending.done = reached;
        entry.state.store(PostState::Done, std::memory_order_release);
        comm.board->announce();
        return;
    }
}

int Exchange::put(Pending &pending)
{
    Comm &comm = *batch_.comm;
    const Operation &operation = pending.operation;
    Slot &target = comm.board->slot(operation.root);
    const ncclWaitSignalDesc_t &signal = operation.waits[0];

    if (pending.bytes > 0) {
        const WindowEntry &window = target.windows[operation.window];
        bool inside = window.valid.load(std::memory_order_acquire) != 0 &&
                      pending.bytes <= window.bytes &&
                      operation.offset <= window.bytes - pending.bytes;
        View view;
        if (!inside || !comm.mappings.open(window.ref, &view))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        std::memcpy(view.data + operation.offset, pending.memory.data, pending.bytes);
    }
    std::atomic<uint64_t> *count =
        counter(target, signal_key(comm.rank, signal.sigIdx, signal.ctx));
    if (count == nullptr) {
        comm.fail(ncclInternalError, "too many signals in use");
        return 0;
    }
    count->fetch_add(1, std::memory_order_release);
    comm.board->announce();
    pending.done = true;
    return 0;
}

bool Exchange::signalled(Pending &pending)
{
    Comm &comm = *batch_.comm;
    Slot &own = comm.board->slot(comm.rank);
    const std::vector<ncclWaitSignalDesc_t> &waits = pending.operation.waits;
    for (; pending.waits < waits.size(); ++pending.waits) {
        const ncclWaitSignalDesc_t &wait = waits[pending.waits];
        uint64_t key = signal_key(wait.peer, wait.sigIdx, wait.ctx);
        std::atomic<uint64_t> *count = counter(own, key);
        uint64_t &taken = comm.signals_taken[key];
        auto wanted = taken + static_cast<uint64_t>(wait.opCnt);
        if (count == nullptr || count->load(std::memory_order_acquire) < wanted)
            return false;
        taken = wanted;
    }
    return true;
}

} // namespace metrale::emulator::nccl
