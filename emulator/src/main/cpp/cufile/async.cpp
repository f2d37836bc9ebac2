#include "state.hpp"

#include <memory>

#include "cuda.hpp"

/* Reading and writing in the order of a stream. */

namespace metrale::gds
{
namespace
{

constexpr unsigned int kKnownStreamFlags =
    CU_FILE_STREAM_FIXED_BUF_OFFSET | CU_FILE_STREAM_FIXED_FILE_OFFSET |
    CU_FILE_STREAM_FIXED_FILE_SIZE | CU_FILE_STREAM_PAGE_ALIGNED_INPUTS;

/* What is not fixed by the stream's flags is read through the caller's pointers when the work runs.
 */
struct Operation {
    CUstream stream;
    Direction direction;
    std::shared_ptr<File> file;
    void *base;
    const std::size_t *bytes;
    const off_t *file_offset;
    const off_t *buffer_offset;
    ssize_t *done;
    unsigned int flags;
    std::size_t fixed_bytes;
    off_t fixed_file_offset;
    off_t fixed_buffer_offset;
    Activity activity;
};

/*
 * What waits on streams, by number. A stream that fails never runs its work; the caller then drops
 * it by deregistering the stream.
 */
struct Pending {
    std::mutex mutex;
    std::uintptr_t last = 0;
    std::map<std::uintptr_t, std::unique_ptr<Operation>> operations;
};

Pending &pending()
{
    static Pending *instance = new Pending;
    return *instance;
}

std::unique_ptr<Operation> take(std::uintptr_t number)
{
    Pending &all = pending();
    const std::lock_guard lock(all.mutex);
    const auto node = all.operations.extract(number);
    return node.empty() ? nullptr : std::move(node.mapped());
}

std::uintptr_t keep(std::unique_ptr<Operation> operation)
{
    Pending &all = pending();
    const std::lock_guard lock(all.mutex);
    const std::uintptr_t number = ++all.last;
    all.operations[number] = std::move(operation);
    return number;
}

bool drop_failed(CUstream stream)
{
    if (!has_failed(stream))
        return false;
    Pending &all = pending();
    const std::lock_guard lock(all.mutex);
    return std::erase_if(all.operations, [stream](const auto &entry) {
               return entry.second->stream == stream;
           }) > 0;
}

void CUDA_CB run(void *argument)
{
    const std::unique_ptr<Operation> operation = take(reinterpret_cast<std::uintptr_t>(argument));
    if (operation == nullptr)
        return;
    const unsigned int flags = operation->flags;
    const std::size_t bytes =
        (flags & CU_FILE_STREAM_FIXED_FILE_SIZE) != 0 ? operation->fixed_bytes : *operation->bytes;
    const off_t file_offset = (flags & CU_FILE_STREAM_FIXED_FILE_OFFSET) != 0
                                  ? operation->fixed_file_offset
                                  : *operation->file_offset;
    const off_t buffer_offset = (flags & CU_FILE_STREAM_FIXED_BUF_OFFSET) != 0
                                    ? operation->fixed_buffer_offset
                                    : *operation->buffer_offset;
    const std::size_t together =
        bytes | static_cast<std::size_t>(file_offset) | static_cast<std::size_t>(buffer_offset);
    if ((flags & CU_FILE_STREAM_PAGE_ALIGNED_INPUTS) != 0 && (together & 4095U) != 0)
        *operation->done = -CU_FILE_INVALID_VALUE;
    else
        *operation->done = transfer(operation->direction, operation->file, operation->base, bytes,
                                    file_offset, buffer_offset);
}

CUfileError_t enqueue(Direction direction, CUfileHandle_t handle, void *base,
                      const std::size_t *bytes, const off_t *file_offset,
                      const off_t *buffer_offset, ssize_t *done, CUstream stream)
{
    if (!is_open())
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    std::shared_ptr<File> file = find_file(handle);
    if (file == nullptr)
        return error(CU_FILE_HANDLE_NOT_REGISTERED);
    if (base == nullptr || bytes == nullptr || file_offset == nullptr || buffer_offset == nullptr ||
        done == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    unsigned int flags = 0;
    {
        Library &target = library();
        const std::lock_guard lock(target.mutex);
        const auto found = target.streams.find(stream);
        flags = found == target.streams.end() ? 0 : found->second;
    }
    const std::uintptr_t number = keep(std::unique_ptr<Operation>(new Operation{stream,
                                                                                direction,
                                                                                std::move(file),
                                                                                base,
                                                                                bytes,
                                                                                file_offset,
                                                                                buffer_offset,
                                                                                done,
                                                                                flags,
                                                                                *bytes,
                                                                                *file_offset,
                                                                                *buffer_offset,
                                                                                {}}));
    const int code = launch(stream, run, reinterpret_cast<void *>(number));
    if (code == 0)
        return kSuccess;
    (void)take(number);
    return error(CU_FILE_CUDA_DRIVER_ERROR, static_cast<CUresult>(code));
}

} // namespace
} // namespace metrale::gds

using metrale::gds::Direction;
using metrale::gds::error;
using metrale::gds::kSuccess;

CUfileError_t cuFileReadAsync(CUfileHandle_t handle, void *base, size_t *bytes, off_t *file_offset,
                              off_t *buffer_offset, ssize_t *done, CUstream stream)
{
    METRALE_GDS_FAULT();
    return metrale::gds::enqueue(Direction::read, handle, base, bytes, file_offset, buffer_offset,
                                 done, stream);
}

CUfileError_t cuFileWriteAsync(CUfileHandle_t handle, void *base, size_t *bytes, off_t *file_offset,
                               off_t *buffer_offset, ssize_t *done, CUstream stream)
{
    METRALE_GDS_FAULT();
    return metrale::gds::enqueue(Direction::write, handle, base, bytes, file_offset, buffer_offset,
                                 done, stream);
}

CUfileError_t cuFileStreamRegister(CUstream stream, unsigned flags)
{
    METRALE_GDS_FAULT();
    if ((flags & ~metrale::gds::kKnownStreamFlags) != 0)
        return error(CU_FILE_INVALID_VALUE);
    const CUfileError_t opened = metrale::gds::open_implicitly();
    if (opened.err != CU_FILE_SUCCESS)
        return opened;
    auto &target = metrale::gds::library();
    const std::lock_guard lock(target.mutex);
    return target.streams.emplace(stream, flags).second ? kSuccess : error(CU_FILE_INVALID_VALUE);
}

CUfileError_t cuFileStreamDeregister(CUstream stream)
{
    METRALE_GDS_FAULT();
    if (!metrale::gds::is_open())
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    const bool dropped = metrale::gds::drop_failed(stream);
    auto &target = metrale::gds::library();
    const std::lock_guard lock(target.mutex);
    return target.streams.erase(stream) == 1 || dropped ? kSuccess : error(CU_FILE_INVALID_VALUE);
}
