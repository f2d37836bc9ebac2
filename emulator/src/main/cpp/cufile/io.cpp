#include "state.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>

#include <unistd.h>

#include "cuda.hpp"
#include "stats.hpp"

/* Reading and writing in the calling thread. */

namespace metrale::gds
{
namespace
{

using Clock = std::chrono::steady_clock;

std::uint64_t microseconds_since(Clock::time_point start)
{
    const auto elapsed =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
    return static_cast<std::uint64_t>(elapsed.count());
}

ssize_t once(Direction direction, int fd, std::uintptr_t address, std::size_t bytes, off_t offset)
{
    auto *memory = reinterpret_cast<void *>(address);
    while (true) {
        const ssize_t done = direction == Direction::read ? pread(fd, memory, bytes, offset)
                                                          : pwrite(fd, memory, bytes, offset);
        if (done >= 0 || errno != EINTR)
            return done;
    }
}

bool is_aligned(const File &file, std::uintptr_t address, std::size_t bytes, off_t offset)
{
    const std::size_t mask = std::max<std::size_t>(file.alignment, 1) - 1;
    return ((address | bytes | static_cast<std::size_t>(offset)) & mask) == 0;
}

/*
 * The kernel moves the bytes straight to or from the caller's address, so a wrong address is EFAULT
 * and never a fault of ours. What is aligned goes through the caller's descriptor, the rest through
 * the buffered one.
 */
ssize_t move(Direction direction, const File &file, std::uintptr_t address, std::size_t bytes,
             off_t offset)
{
    const std::size_t chunk = 16U << 20U;
    std::size_t done = 0;
    while (done < bytes) {
        const std::size_t wanted = std::min(chunk, bytes - done);
        const off_t at = offset + static_cast<off_t>(done);
        const bool whole = !file.direct || is_aligned(file, address + done, wanted, at);
        int fd = whole || file.buffered < 0 ? file.fd : file.buffered;
        ssize_t moved = once(direction, fd, address + done, wanted, at);
        if (moved < 0 && errno == EINVAL && fd == file.fd && file.buffered >= 0)
            moved = once(direction, file.buffered, address + done, wanted, at);
        if (moved < 0)
            return done > 0 ? static_cast<ssize_t>(done) : -1;
        done += static_cast<std::size_t>(moved);
        if (moved == 0)
            break;
    }
    return static_cast<ssize_t>(done);
}

} // namespace

ssize_t transfer(Direction direction, const std::shared_ptr<File> &file, void *base,
                 std::size_t bytes, off_t file_offset, off_t buffer_offset)
{
    if (base == nullptr || file_offset < 0 || buffer_offset < 0 ||
        bytes > static_cast<std::size_t>(std::numeric_limits<ssize_t>::max()) ||
        file_offset > std::numeric_limits<off_t>::max() - static_cast<off_t>(bytes))
        return -CU_FILE_INVALID_VALUE;
    const auto start = reinterpret_cast<std::uintptr_t>(base);
    if (leaves_registered(start, buffer_offset, bytes))
        return -CU_FILE_INVALID_MAPPING_RANGE;
    const std::uintptr_t address = start + static_cast<std::uintptr_t>(buffer_offset);
    const Memory memory(reinterpret_cast<void *>(address), bytes);
    if (memory.out_of_range())
        return -CU_FILE_CUDA_POINTER_RANGE_ERROR;

    const Clock::time_point begun = Clock::now();
    const ssize_t done = move(direction, *file, address, bytes, file_offset);
    const int reason = errno;
    count_transfer(direction, *file, memory.device(), done,
                   is_aligned(*file, address, bytes, file_offset), microseconds_since(begun));
    errno = reason;
    return done;
}

namespace
{

/* A fault's -1 is a file system error; which one, a setting says. */
bool faulty(const char *function, ssize_t *answer)
{
    int code = 0;
    if (!fault_of(function, &code))
        return false;
    if (code == -1)
        errno = static_cast<int>(telemetry::setting_number("cufile.fault_errno", EIO));
    *answer = code > 0 ? -static_cast<ssize_t>(code) : code;
    return true;
}

ssize_t single(const char *function, Direction direction, CUfileHandle_t handle, void *base,
               std::size_t bytes, off_t file_offset, off_t buffer_offset)
{
    ssize_t answer = 0;
    if (faulty(function, &answer))
        return answer;
    const Activity activity;
    if (!activity.open())
        return -CU_FILE_DRIVER_NOT_INITIALIZED;
    const std::shared_ptr<File> file = find_file(handle);
    if (file == nullptr)
        return -CU_FILE_HANDLE_NOT_REGISTERED;
    return transfer(direction, file, base, bytes, file_offset, buffer_offset);
}

ssize_t vectored(const char *function, Direction direction, CUfileHandle_t handle,
                 const CUfileIOVec_t *vectors, std::size_t count, off_t offset, unsigned int flags)
{
    ssize_t answer = 0;
    if (faulty(function, &answer))
        return answer;
    const Activity activity;
    if (!activity.open())
        return -CU_FILE_DRIVER_NOT_INITIALIZED;
    const std::shared_ptr<File> file = find_file(handle);
    if (file == nullptr)
        return -CU_FILE_HANDLE_NOT_REGISTERED;
    if (flags != 0 || (vectors == nullptr && count > 0) || count > 1024 || offset < 0)
        return -CU_FILE_INVALID_VALUE;
    const Clock::time_point begun = Clock::now();
    ssize_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (vectors[i].len == 0)
            continue;
        const ssize_t done =
            transfer(direction, file, vectors[i].base, vectors[i].len, offset + total, 0);
        if (done < 0) {
            total = total > 0 ? total : done;
            break;
        }
        total += done;
        if (static_cast<std::size_t>(done) < vectors[i].len)
            break;
    }
    const int reason = errno;
    count_vector(direction, total, microseconds_since(begun));
    errno = reason;
    return total;
}

} // namespace
} // namespace metrale::gds

using metrale::gds::Direction;

ssize_t cuFileRead(CUfileHandle_t handle, void *base, size_t bytes, off_t file_offset,
                   off_t buffer_offset)
{
    return metrale::gds::single(__func__, Direction::read, handle, base, bytes, file_offset,
                                buffer_offset);
}

ssize_t cuFileWrite(CUfileHandle_t handle, const void *base, size_t bytes, off_t file_offset,
                    off_t buffer_offset)
{
    return metrale::gds::single(__func__, Direction::write, handle, const_cast<void *>(base), bytes,
                                file_offset, buffer_offset);
}

ssize_t cuFileReadv(CUfileHandle_t handle, const CUfileIOVec_t *vectors, size_t count, off_t offset,
                    unsigned flags)
{
    return metrale::gds::vectored(__func__, Direction::read, handle, vectors, count, offset, flags);
}

ssize_t cuFileWritev(CUfileHandle_t handle, const CUfileIOVec_t *vectors, size_t count,
                     off_t offset, unsigned flags)
{
    return metrale::gds::vectored(__func__, Direction::write, handle, vectors, count, offset,
                                  flags);
}
