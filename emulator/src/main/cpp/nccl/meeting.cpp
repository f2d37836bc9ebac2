#include "nccl/engine.h"

#include "nccl/reduce.h"

#include <algorithm>
#include <cstring>

namespace metrale::emulator::nccl
{

namespace
{

constexpr int kSlice = 64; /* elements: ranks work on whole cache lines of their own */

class Collective
{
  public:
    Collective(Batch &batch, Operation &operation)
        : batch_(batch), comm_(*batch.comm), board_(*comm_.board), operation_(operation),
          bytes_(element_bytes(operation.type))
    {
    }

    int run()
    {
        uint64_t send = 0;
        uint64_t recv = 0;
        extent(operation_, comm_.rank, comm_.nranks, &send, &recv);
        bool shared = comm_.nranks > 1;
        int result = send > 0 ? send_.open(operation_.send, send, shared) : 0;
        if (result == 0 && recv > 0)
            result = recv_.open(operation_.recv, recv, shared);
        if (result == 0)
            result = describe();
        if (result != 0)
            return result;

        uint64_t number = ++comm_.collectives;
        Slot &own = board_.slot(comm_.rank);
        own.descriptor = mine_;
        own.arrived.store(number, std::memory_order_release);
        board_.announce();
        if (!await(&Slot::arrived, number))
            return 0;
        if (!agreed() || !open_views()) {
            batch_.hang();
            return 0;
        }
        work();
        own.done.store(number, std::memory_order_release);
        board_.announce();
        if (!await(&Slot::done, number))
            return 0;
        recv_.store();
        return 0;
    }

  private:
    bool await(std::atomic<uint64_t> Slot::*counter, uint64_t number)
    {
        int known = 0; // those before it have been seen
        return board_.await(
            [&] {
                while (known < comm_.nranks &&
                       (board_.slot(known).*counter).load(std::memory_order_acquire) >= number)
                    ++known;
                return known == comm_.nranks;
            },
            [&] { return batch_.stopped(); },
            [&] {
                comm_.watch([&](int peer) {
                    return (board_.slot(peer).*counter).load(std::memory_order_acquire) < number;
                });
            });
    }

    int describe()
    {
        mine_ = Descriptor{};
        mine_.kind = operation_.kind;
        mine_.type = operation_.type;
        mine_.op = operation_.op;
        mine_.root = operation_.root;
        mine_.count = operation_.count;
        mine_.send = send_.ref;
        mine_.recv = recv_.ref;
        if (operation_.op == ncclAvg) {
            mine_.op = ncclSum;
            if (is_floating(operation_.type)) {
                mine_.premultiply = 1;
                mine_.scalar = reciprocal(operation_.type, comm_.nranks);
            } else {
                divide_ = comm_.nranks;
            }
        } else if (operation_.op >= ncclNumOps) {
            mine_.op = ncclSum;
            mine_.premultiply = 1;
            return scalar();
        }
        return 0;
    }

    int scalar()
    {
        UserOp user;
        {
            std::lock_guard<std::mutex> lock(comm_.mutex);
            user = comm_.user_ops[static_cast<size_t>(operation_.op - ncclNumOps)];
        }
        mine_.scalar = user.scalar;
        if (user.device == nullptr)
            return 0;
        Local memory;
        int result = memory.open(user.device, bytes_, false);
        if (result == 0)
            std::memcpy(&mine_.scalar, memory.data, bytes_);
        return result;
    }

    /* Every rank compares with every other, so every rank of a mismatch knows. */
    bool agreed()
    {
        bool rooted = operation_.kind == Kind::Broadcast || operation_.kind == Kind::Reduce ||
                      operation_.kind == Kind::Gather || operation_.kind == Kind::Scatter;
        for (int i = 0; i < comm_.nranks; ++i) {
            const Descriptor &other = board_.slot(i).descriptor;
            bool same = other.kind == mine_.kind && other.type == mine_.type &&
                        other.count == mine_.count && other.op == mine_.op &&
                        (!rooted || other.root == mine_.root);
            if (same)
                continue;
            // The real library does not look: it hangs, or worse.
            std::string text = std::string(operation_.name) + ": rank " +
                               std::to_string(comm_.rank) + " and rank " + std::to_string(i) +
                               " differ in operation, count, type or root";
            if (Configuration::instance().choice("nccl.mismatch", {"hang", "error"}) == "error")
                comm_.fail(ncclInvalidUsage, text);
            return false;
        }
        return true;
    }

    bool open_views()
    {
        auto count = static_cast<size_t>(comm_.nranks);
        sends_.resize(count);
        recvs_.resize(count);
        bool reads = operation_.kind != Kind::Reduce || operation_.count > 0;
        bool writes = operation_.kind == Kind::AllReduce || operation_.kind == Kind::Reduce;
        for (int i = 0; i < comm_.nranks; ++i) {
            const Descriptor &other = board_.slot(i).descriptor;
            auto at = static_cast<size_t>(i);
            bool opened = (!reads || comm_.mappings.open(other.send, &sends_[at])) &&
                          (!writes || comm_.mappings.open(other.recv, &recvs_[at]));
            if (!opened) {
                comm_.fail(ncclRemoteError,
                           "memory of rank " + std::to_string(i) + " cannot be reached");
                return false;
            }
        }
        return true;
    }

    char *send_of(int rank) const
    {
        return sends_[static_cast<size_t>(rank)].data;
    }

    void copy(char *to, const char *from, uint64_t bytes) const
    {
        if (to != from && bytes > 0)
            std::memcpy(to, from, bytes);
    }

    std::vector<Input> inputs(uint64_t offset) const
    {
        std::vector<Input> all;
        for (int i = 0; i < comm_.nranks; ++i) {
            const Descriptor &other = board_.slot(i).descriptor;
            all.push_back({send_of(i) + offset, other.scalar, other.premultiply != 0});
        }
        return all;
    }

    /* Each rank reduces its share of the elements, for all who want the result. */
    void reduce_share(int first, int last)
    {
        auto ranks = static_cast<uint64_t>(comm_.nranks);
        uint64_t slices = (operation_.count + kSlice - 1) / kSlice;
        auto at = static_cast<uint64_t>(comm_.rank);
        uint64_t begin = std::min(slices * at / ranks * kSlice, operation_.count);
        uint64_t end = std::min(slices * (at + 1) / ranks * kSlice, operation_.count);
        if (begin >= end)
            return;
        std::vector<char *> outputs;
        for (int i = first; i < last; ++i)
            outputs.push_back(recvs_[static_cast<size_t>(i)].data + begin * bytes_);
        reduce(operation_.type, mine_.op, inputs(begin * bytes_), outputs, end - begin, divide_);
    }

    void work()
    {
        uint64_t one = operation_.count * bytes_;
        auto at = static_cast<uint64_t>(comm_.rank);
        bool root = comm_.rank == operation_.root;

        switch (operation_.kind) {
        case Kind::AllReduce:
            reduce_share(0, comm_.nranks);
            break;
        case Kind::Reduce:
            reduce_share(operation_.root, operation_.root + 1);
            break;
        case Kind::ReduceScatter:
            reduce(operation_.type, mine_.op, inputs(at * one), {recv_.data}, operation_.count,
                   divide_);
            break;
        case Kind::Broadcast:
            copy(recv_.data, send_of(operation_.root), one);
            break;
        case Kind::Scatter:
            copy(recv_.data, send_of(operation_.root) + at * one, one);
            break;
        case Kind::AllGather:
        case Kind::Gather:
            for (int i = 0; i < comm_.nranks; ++i) {
                if (operation_.kind == Kind::AllGather || root)
                    copy(recv_.data + static_cast<uint64_t>(i) * one, send_of(i), one);
            }
            break;
        case Kind::AlltoAll:
            for (int i = 0; i < comm_.nranks; ++i)
                copy(recv_.data + static_cast<uint64_t>(i) * one, send_of(i) + at * one, one);
            break;
        default:
            break;
        }
    }

    Batch &batch_;
    Comm &comm_;
    Board &board_;
    Operation &operation_;
    uint64_t bytes_;
    int divide_ = 1;
    Descriptor mine_{};
    Local send_;
    Local recv_;
    std::vector<View> sends_;
    std::vector<View> recvs_;
};

} // namespace

int run_collective(Batch &batch, Operation &operation)
{
    return Collective(batch, operation).run();
}

} // namespace metrale::emulator::nccl
