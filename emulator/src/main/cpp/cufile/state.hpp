#ifndef METRALE_EMULATOR_CUFILE_STATE_HPP
#define METRALE_EMULATOR_CUFILE_STATE_HPP

#include <cufile.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "nvml/settings.hpp"

namespace metrale::gds
{

/* Which way the bytes of a file go. */
enum class Path { nvfs, p2pdma, compat };

/* A registered file. The user's descriptor stays the user's: only `buffered` is ours. */
struct File {
    int fd = -1;
    int buffered = -1; /* the same file without O_DIRECT, or -1 */
    bool direct = false;
    Path path = Path::compat;
    std::size_t alignment = 4096;

    File() = default;
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    ~File();
};

struct Buffer {
    std::size_t bytes = 0;
    int device = 0;
};

struct BatchQueue;

/* Parameters, as staged before the driver is opened and as they are then used. */
struct Parameters {
    std::array<std::size_t, 12> sizes{};
    std::array<bool, 14> flags{};
    std::array<std::string, 4> texts;
    std::vector<std::size_t> posix_sizes;
    std::vector<std::size_t> posix_counts;
    std::vector<std::size_t> bounce_sizes;
    std::vector<std::size_t> bounce_counts;
    std::map<int, int> p2p_flags;
};

struct Library {
    std::mutex mutex;
    long uses = 0;
    unsigned long active = 0; /* calls that use the driver */
    std::map<CUfileHandle_t, std::shared_ptr<File>> files;
    std::map<std::uintptr_t, Buffer> buffers;
    std::uint64_t registered_bytes = 0;
    std::map<CUstream, unsigned int> streams;
    std::map<CUfileBatchHandle_t, std::shared_ptr<BatchQueue>> batches;
    Parameters parameters;
    bool nvfs = false;
    bool p2pdma = false;
};

Library &library();

constexpr CUfileError_t error(CUfileOpError code, CUresult cuda = CUDA_SUCCESS)
{
    return {code, cuda};
}

constexpr CUfileError_t kSuccess = {CU_FILE_SUCCESS, CUDA_SUCCESS};

/* What the fault configuration asks this call to answer instead, in `code`. */
bool fault_of(const char *function, int *code);
/* Of a number with either sign. */
CUfileOpError code_of(int number);

/* Opens the driver if nobody has: most calls do so by themselves. */
CUfileError_t open_implicitly();
bool is_open();

/* Counts as active, so that the driver does not close under it. */
class Activity
{
  public:
    Activity();
    ~Activity();
    Activity(const Activity &) = delete;
    Activity &operator=(const Activity &) = delete;
    bool open() const
    {
        return open_;
    }

  private:
    bool open_;
};

std::shared_ptr<File> find_file(CUfileHandle_t handle);

/* Defaults, configuration file of cuFile, its variables. */
void load_parameters(Parameters &parameters);
bool compat_allowed(const Parameters &parameters);
bool compat_forced(const Parameters &parameters);

enum class Direction { read, write };

/* One transfer: bytes done, -1 with errno, or minus a cuFile code. */
ssize_t transfer(Direction direction, const std::shared_ptr<File> &file, void *base,
                 std::size_t bytes, off_t file_offset, off_t buffer_offset);

/* Whether [address, address + bytes) begins in a registered buffer and leaves it. */
bool leaves_registered(std::uintptr_t base, off_t offset, std::size_t bytes);

} // namespace metrale::gds

/* First line of a control call: answers the fault's code, if one is asked for. */
#define METRALE_GDS_FAULT()                                                                        \
    do {                                                                                           \
        int metrale_code = 0;                                                                      \
        if (metrale::gds::fault_of(__func__, &metrale_code))                                       \
            return metrale::gds::error(metrale::gds::code_of(metrale_code));                       \
    } while (false)

#endif
