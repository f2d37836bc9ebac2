#ifndef METRALE_EMULATOR_NCCL_BOARD_H
#define METRALE_EMULATOR_NCCL_BOARD_H

#include "nccl/api.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace metrale::emulator::nccl
{

constexpr int kMaxRanks = 1024;
constexpr int kOutbox = 64;
constexpr int kWindows = 64;
constexpr int kSignals = 256;

/* Memory of a rank, as other ranks find it: by address in the same process, else by file. */
struct Ref {
    uint64_t address;
    uint64_t base;  /* of the allocation */
    uint64_t bytes; /* of the allocation */
    uint64_t id;    /* of the allocation, unique in its process */
    int32_t pid;
    int32_t fd;
};

enum class Kind : uint32_t {
    None,
    AllReduce,
    Broadcast,
    Reduce,
    AllGather,
    ReduceScatter,
    AlltoAll,
    Gather,
    Scatter,
    Send,
    Recv,
    Put,
    Signal,
    WaitSignal
};

/* What a rank says about the collective it has come to. */
struct Descriptor {
    Kind kind;
    int32_t type;
    int32_t op; /* built-in operation after ncclAvg and user operations are resolved */
    int32_t root;
    uint64_t count;
    uint64_t scalar; /* pre-multiplier in the element type's bits */
    int32_t premultiply;
    int32_t padding;
    Ref send;
    Ref recv;
};

enum class PostState : uint32_t { Free, Filling, Posted, Busy, Done };

/* A message waiting in its sender's outbox until the receiver copied it away. */
struct Post {
    std::atomic<PostState> state;
    int32_t to;
    uint64_t sequence; /* of this pair */
    uint64_t bytes;
    Ref ref;
};

struct WindowEntry {
    std::atomic<uint32_t> valid;
    uint32_t padding;
    uint64_t bytes;
    Ref ref;
};

struct SignalEntry {
    std::atomic<uint64_t> key; /* 0: free */
    std::atomic<uint64_t> count;
};

/* 128 bytes that lead to a board. */
struct BoardId {
    char magic[8];
    int32_t pid;
    int32_t fd;
    uint64_t start;
    uint64_t nonce;
    char padding[96];
};
static_assert(sizeof(BoardId) == NCCL_UNIQUE_ID_BYTES);

struct HostMessage {
    int64_t numbers[4];
    BoardId id;
};

enum class Presence : uint32_t { Absent, Claimed, Joined, Left, Aborted };

/* One rank's part of the board. Only `presence` of others is ever written by anyone else. */
struct alignas(64) Slot {
    std::atomic<Presence> presence;
    int32_t pid;
    int32_t device;
    int32_t padding;
    uint64_t process_start;
    uint64_t device_key;

    alignas(64) std::atomic<uint64_t> arrived; /* collectives begun */
    std::atomic<uint64_t> done;
    Descriptor descriptor;

    alignas(64) std::atomic<uint64_t> host_arrived; /* exchanges between hosts */
    std::atomic<uint64_t> host_done;
    HostMessage message;

    alignas(64) std::atomic<uint64_t> shrinks; /* published by the leader of a shrink */
    uint64_t shrink_members;
    BoardId shrink_id;

    alignas(64) Post outbox[kOutbox];
    WindowEntry windows[kWindows];
    SignalEntry signals[kSignals];
};

struct Header {
    uint64_t nonce;
    std::atomic<uint32_t> event; /* changes with everything one can wait for */
    std::atomic<uint32_t> sleepers;
    std::atomic<int32_t> nranks;
    std::atomic<int32_t> joined;
    std::atomic<int32_t> failed;
};

/*
 * The memory the ranks of one communicator share, whatever process they are in: a file without
 * a name, found by process and descriptor, that is gone with its last user. Mapped once per
 * process.
 */
class Board
{
  public:
    static std::shared_ptr<Board> create(BoardId *id);
    /* Null: the id is nonsense or its creator has gone; `text` says which. */
    static std::shared_ptr<Board> open(const BoardId &id, const char **text);
    /* The creator lets go of boards that all ranks have found. */
    static void sweep();

    ~Board();
    Board(const Board &) = delete;
    Board &operator=(const Board &) = delete;

    Header &header() const
    {
        return layout_->header;
    }
    Slot &slot(int rank) const
    {
        return layout_->slots[rank];
    }

    /* Tells all who wait that something changed. */
    void announce();
    /* Sleeps until something changed since `seen`, or some milliseconds. */
    void sleep(uint32_t seen, int milliseconds);

    /*
     * Waits for `ready`; false when `cancelled` said so first. `watch` is called now and then
     * while it takes long.
     */
    template <typename Ready, typename Cancelled, typename Watch>
    bool await(Ready ready, Cancelled cancelled, Watch watch)
    {
        for (int spin = 0; spin < 64; ++spin) {
            if (ready())
                return true;
        }
        for (int rounds = 1;; ++rounds) {
            uint32_t seen = header().event.load(std::memory_order_acquire);
            if (ready())
                return true;
            if (cancelled())
                return false;
            if (rounds % 8 == 0)
                watch();
            sleep(seen, 5);
        }
    }

  private:
    struct Layout {
        Header header;
        Slot slots[kMaxRanks];
    };

    Board(Layout *layout, int fd) : layout_(layout), fd_(fd)
    {
    }

    Layout *layout_;
    int fd_; /* kept by the creator until all have joined */
};

/* Start time of a process, 0 when it is not there (or only its entry is left). */
uint64_t process_start(int pid);

} // namespace metrale::emulator::nccl

#endif
