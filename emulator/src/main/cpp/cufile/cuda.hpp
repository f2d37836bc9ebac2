#ifndef METRALE_EMULATOR_CUFILE_CUDA_HPP
#define METRALE_EMULATOR_CUFILE_CUDA_HPP

#include <cstddef>
#include <cstdint>

#include <cuda.h>

/* What cuFile needs of CUDA, taken from the emulator's libcuda where that can be had. */
namespace metrale::gds
{

/* Loads libcuda once. False where there is none. */
bool cuda_present();

/* 0, or the code of cuInit. */
int cuda_init();

enum class MemoryKind { pageable, host, device };

/* A range of memory that cannot go away as long as this lives. */
class Memory
{
  public:
    /* Of any address; an unknown one counts as pageable. */
    Memory(const void *address, std::size_t bytes);
    ~Memory();
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    MemoryKind kind() const
    {
        return kind_;
    }
    /* Begins in an allocation and leaves it. */
    bool out_of_range() const
    {
        return out_of_range_;
    }
    /* Ordinal; 0 for host memory. */
    int device() const
    {
        return device_;
    }

  private:
    MemoryKind kind_ = MemoryKind::pageable;
    bool out_of_range_ = false;
    int device_ = 0;
    void *pin_ = nullptr;
};

/* Puts a function on a stream; it never runs if the stream fails before. Answers a CUDA code. */
int launch(CUstream stream, CUhostFn function, void *argument);

/* Whether the stream is in error, so that what waits on it never runs. */
bool has_failed(CUstream stream);

} // namespace metrale::gds

#endif
