#ifndef METRALE_EMULATOR_NCCL_MAPPING_H
#define METRALE_EMULATOR_NCCL_MAPPING_H

#include "nccl/board.h"

#include <list>
#include <memory>
#include <mutex>

namespace metrale::emulator::nccl
{

/*
 * Memory of another rank, readable and writable here while this object lives, even when its
 * owner frees it meanwhile: memory of this process is pinned, that of others is mapped.
 */
class View
{
  public:
    View() = default;
    ~View();
    View(View &&other) noexcept;
    View &operator=(View &&other) noexcept;

    char *data = nullptr;

  private:
    friend class Mappings;
    void *pin_ = nullptr;
    std::shared_ptr<void> mapping_;
};

/* Other processes' allocations, kept mapped: mapping anew for each operation costs faults. */
class Mappings
{
  public:
    /* False: the memory has gone, or its process has. */
    bool open(const Ref &ref, View *out);

  private:
    struct Entry {
        int32_t pid;
        uint64_t id;
        std::shared_ptr<void> mapping;
    };

    std::mutex mutex_;
    std::list<Entry> recent_; /* newest first */
};

/*
 * Own memory, checked and pinned, in the form other ranks can use. Memory that has no file
 * (registered by the user, or out of descriptors) is stood in for by a copy.
 */
class Local
{
  public:
    Local() = default;
    ~Local();
    Local(const Local &) = delete;
    Local &operator=(const Local &) = delete;

    /* CUresult as int: 700 for what is not GPU-accessible memory of that length. */
    int open(const void *address, uint64_t bytes, bool shared);
    /* Refreshes the stand-in from the user's memory, and the other way round. */
    void load();
    void store();

    Ref ref{};
    char *data = nullptr;

  private:
    void *pin_ = nullptr;
    char *original_ = nullptr;
    uint64_t bytes_ = 0;
    uint64_t stand_in_ = 0;
};

} // namespace metrale::emulator::nccl

#endif
