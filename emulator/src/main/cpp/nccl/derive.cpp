#include "nccl/init.h"

#include <algorithm>
#include <cstring>

using namespace metrale::emulator;
using namespace metrale::emulator::nccl;

namespace
{

/* The members of one new communicator meet on a board that `leader` makes. */
ncclResult_t meet(Comm &parent, const std::shared_ptr<Comm> &child, int color)
{
    std::vector<HostMessage> all;
    HostMessage mine{};

    ncclResult_t result = parent.exchange(
        HostMessage{{color, child ? child->rank.load() : 0, 0, 0}, BoardId{}}, &all);
    if (result != ncclSuccess)
        return result;
    // Sorted by key, then by old rank: the key was put where the new rank will be.
    std::vector<int> members;
    for (int i = 0; i < parent.nranks; ++i) {
        if (all[static_cast<size_t>(i)].numbers[0] == color)
            members.push_back(i);
    }
    std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
        return all[static_cast<size_t>(a)].numbers[1] < all[static_cast<size_t>(b)].numbers[1];
    });
    bool leads = child && members[0] == parent.rank;
    if (leads && !Board::create(&mine.id))
        return refuse(ncclSystemError, "no shared memory for a new communicator");
    result = parent.exchange(mine, &all);
    if (result != ncclSuccess || !child)
        return result;

    auto own = std::find(members.begin(), members.end(), parent.rank.load());
    child->rank = static_cast<int>(own - members.begin());
    child->nranks = static_cast<int>(members.size());
    return child->join(all[static_cast<size_t>(members[0])].id);
}

/* What split, shrink and grow have in common before they start. */
ncclResult_t new_child(const std::shared_ptr<Comm> &parent, ncclComm_t *out,
                       const ncclConfig_t *user, std::shared_ptr<Comm> *child)
{
    ncclConfig_t config;
    ncclResult_t result = parse_config(user, &parent->config, &config);
    if (result != ncclSuccess)
        return result;
    *child = Comm::create(config);
    (*child)->device = parent->device;
    __atomic_store_n(out, static_cast<ncclComm_t>((*child)->handle), __ATOMIC_RELEASE);
    return ncclSuccess;
}

} // namespace

ncclResult_t ncclCommSplit(ncclComm_t handle, int color, int key, ncclComm_t *out,
                           ncclConfig_t *user)
{
    return with_comm(
        __func__, handle,
        [&](const std::shared_ptr<Comm> &parent) -> ncclResult_t {
            std::shared_ptr<Comm> child;
            ncclResult_t result = parent->ready();
            if (result != ncclSuccess)
                return result;
            if (out == nullptr || color < NCCL_SPLIT_NOCOLOR)
                return refuse(ncclInvalidArgument, "CommSplit : invalid color or newcomm");
            *out = nullptr;
            if (color == NCCL_SPLIT_NOCOLOR)
                return start({parent, nullptr,
                              [parent] { return meet(*parent, nullptr, NCCL_SPLIT_NOCOLOR); }});
            result = new_child(parent, out, user, &child);
            if (result != ncclSuccess)
                return result;
            child->rank = key;
            return start({child, parent, [parent, child, out, color] {
                              return settle_new(child, out, meet(*parent, child, color));
                          }});
        },
        Waiting::InJob);
}

namespace
{

uint64_t hash_of(const std::vector<int> &members)
{
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (int member : members)
        hash = (hash ^ static_cast<uint64_t>(member + 1)) * 0x100000001b3ULL;
    return hash;
}

/* Excluded ranks may be dead: only the members look at each other, through their first one. */
ncclResult_t shrink(Comm &parent, Comm &child, const std::vector<int> &members)
{
    uint64_t hash = hash_of(members);
    Slot &leader = parent.board->slot(members[0]);
    std::lock_guard<std::mutex> lock(parent.host_mutex);
    uint64_t &seen = parent.shrinks_seen[members[0]];

    if (members[0] == parent.rank) {
        BoardId id;
        if (!Board::create(&id))
            return refuse(ncclSystemError, "no shared memory for a new communicator");
        leader.shrink_id = id;
        leader.shrink_members = hash;
        leader.shrinks.store(++seen, std::memory_order_release);
        parent.board->announce();
        return child.join(id);
    }
    auto published = [&] {
        uint64_t now = leader.shrinks.load(std::memory_order_acquire);
        return now > seen && leader.shrink_members == hash;
    };
    bool found = parent.board->await(
        published, [&] { return child.aborted.load() || parent.aborted.load(); }, [] {});
    if (!found)
        return refuse(ncclInternalError, "aborted while waiting for the other ranks");
    seen = leader.shrinks.load(std::memory_order_acquire);
    return child.join(leader.shrink_id);
}

} // namespace

ncclResult_t ncclCommShrink(ncclComm_t handle, int *excluded, int count, ncclComm_t *out,
                            ncclConfig_t *user, int flags)
{
    return with_comm(
        __func__, handle,
        [&](const std::shared_ptr<Comm> &parent) -> ncclResult_t {
            std::shared_ptr<Comm> child;
            if (out == nullptr || excluded == nullptr || count <= 0 || count >= parent->nranks ||
                (flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT))
                return refuse(ncclInvalidArgument, "CommShrink : invalid arguments");
            std::vector<int> members;
            for (int i = 0; i < parent->nranks; ++i) {
                if (std::find(excluded, excluded + count, i) == excluded + count)
                    members.push_back(i);
            }
            auto own = std::find(members.begin(), members.end(), parent->rank.load());
            if (own == members.end())
                return refuse(ncclInvalidArgument, "CommShrink : the caller is among the excluded");
            if (static_cast<int>(members.size()) + count != parent->nranks)
                return refuse(ncclInvalidArgument, "CommShrink : excluded ranks are invalid");

            // An error of the parent is what shrinking with abort is for.
            ncclResult_t result = parent->ready();
            if (flags == NCCL_SHRINK_ABORT && parent->state() != ncclInProgress) {
                parent->cancel_issued();
                parent->async = ncclSuccess;
            } else if (result != ncclSuccess) {
                return result;
            }
            result = new_child(parent, out, user, &child);
            if (result != ncclSuccess)
                return result;
            child->rank = static_cast<int>(own - members.begin());
            child->nranks = static_cast<int>(members.size());
            return start({child, parent, [parent, child, out, members] {
                              return settle_new(child, out, shrink(*parent, *child, members));
                          }});
        },
        Waiting::InJob);
}

ncclResult_t ncclCommGetUniqueId(ncclComm_t handle, ncclUniqueId *out)
{
    return with_comm(__func__, handle, [&](const std::shared_ptr<Comm> &comm) -> ncclResult_t {
        ncclResult_t result = comm->ready();
        if (result != ncclSuccess)
            return result;
        if (out == nullptr)
            return refuse(ncclInvalidArgument, "CommGetUniqueId : uniqueId argument is NULL");
        std::lock_guard<std::mutex> lock(comm->mutex);
        if (comm->grow_id)
            return refuse(ncclInvalidUsage, "CommGetUniqueId : the last id was not used yet");
        BoardId id;
        if (!Board::create(&id))
            return refuse(ncclSystemError, "no shared memory for a new communicator");
        comm->grow_id = std::make_unique<BoardId>(id);
        std::memcpy(out, &id, sizeof(id));
        return ncclSuccess;
    });
}

namespace
{

/* Existing ranks learn the id from the one that has it, then all join the new board. */
ncclResult_t grow(Comm &parent, Comm &child, bool root, const BoardId &id)
{
    std::vector<HostMessage> all;
    ncclResult_t result = parent.exchange(HostMessage{{root ? 1 : 0, 0, 0, 0}, id}, &all);
    if (result != ncclSuccess)
        return result;
    for (const HostMessage &message : all) {
        if (message.numbers[0] != 1)
            continue;
        result = child.join(message.id);
        std::lock_guard<std::mutex> lock(parent.mutex);
        if (result == ncclSuccess)
            parent.grow_id.reset();
        return result;
    }
    return refuse(ncclInvalidUsage, "CommGrow : no rank gave the unique id");
}

} // namespace

ncclResult_t ncclCommGrow(ncclComm_t handle, int nranks, const ncclUniqueId *id, int rank,
                          ncclComm_t *out, ncclConfig_t *user)
{
    const char *function = __func__;
    if (handle == nullptr)
        return guarded([&]() -> ncclResult_t {
            if (id == nullptr)
                return refuse(ncclInvalidArgument, "CommGrow : a new rank needs the unique id");
            return init_rank(function, out, nranks, *id, rank, user);
        });
    return with_comm(
        function, handle,
        [&](const std::shared_ptr<Comm> &parent) -> ncclResult_t {
            std::shared_ptr<Comm> child;
            ncclResult_t result = parent->ready();
            if (result != ncclSuccess)
                return result;
            if (out == nullptr || rank != -1 || nranks <= parent->nranks || nranks > kMaxRanks)
                return refuse(ncclInvalidArgument, "CommGrow : invalid arguments");
            result = new_child(parent, out, user, &child);
            if (result != ncclSuccess)
                return result;
            child->rank = parent->rank.load();
            child->nranks = nranks;
            BoardId known{};
            if (id != nullptr)
                known = board_id(*id);
            bool root = id != nullptr;
            return start({child, parent, [parent, child, out, root, known] {
                              return settle_new(child, out, grow(*parent, *child, root, known));
                          }});
        },
        Waiting::InJob);
}

METRALE_PROFILED(ncclCommSplit);
METRALE_PROFILED(ncclCommShrink);
METRALE_PROFILED(ncclCommGetUniqueId);
METRALE_PROFILED(ncclCommGrow);
