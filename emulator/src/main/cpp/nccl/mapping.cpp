#include "nccl/mapping.h"

#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace metrale::emulator::nccl
{

namespace
{

/* Mapped memory of another process stays allocated although its owner freed it: not too much. */
constexpr size_t kKeptMappings = 32;

std::shared_ptr<void> map_file(const Ref &ref)
{
    char path[64];
    struct stat info;

    std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", ref.pid, ref.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return nullptr;
    void *address = MAP_FAILED;
    size_t bytes = 0;
    if (fstat(fd, &info) == 0 && static_cast<uint64_t>(info.st_size) >= ref.bytes) {
        bytes = static_cast<size_t>(info.st_size);
        address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    }
    close(fd);
    if (address == MAP_FAILED)
        return nullptr;
    return std::shared_ptr<void>(address, [bytes](void *start) { munmap(start, bytes); });
}

} // namespace

View::~View()
{
    if (pin_ != nullptr)
        metrale_emulator_cuda_unpin(pin_);
}

View::View(View &&other) noexcept
    : data(other.data), pin_(std::exchange(other.pin_, nullptr)),
      mapping_(std::move(other.mapping_))
{
}

View &View::operator=(View &&other) noexcept
{
    std::swap(data, other.data);
    std::swap(pin_, other.pin_);
    std::swap(mapping_, other.mapping_);
    return *this;
}

bool Mappings::open(const Ref &ref, View *out)
{
    View view;
    if (ref.address == 0) {
        *out = std::move(view);
        return true;
    }
    if (ref.pid == getpid()) {
        struct metrale_emulator_range range;
        if (metrale_emulator_cuda_range(ref.address, 0, 1, &range) != 0)
            return false;
        view.pin_ = range.pin;
        view.data = reinterpret_cast<char *>(ref.address);
        if (range.id != ref.id)
            return false;
        *out = std::move(view);
        return true;
    }

    std::lock_guard<std::mutex> lock(mutex_);
    for (auto entry = recent_.begin(); entry != recent_.end(); ++entry) {
        if (entry->pid == ref.pid && entry->id == ref.id) {
            recent_.splice(recent_.begin(), recent_, entry);
            view.mapping_ = entry->mapping;
            break;
        }
    }
    if (!view.mapping_) {
        view.mapping_ = map_file(ref);
        if (!view.mapping_)
            return false;
        recent_.push_front({ref.pid, ref.id, view.mapping_});
        if (recent_.size() > kKeptMappings)
            recent_.pop_back();
    }
    view.data = static_cast<char *>(view.mapping_.get()) + (ref.address - ref.base);
    *out = std::move(view);
    return true;
}

Local::~Local()
{
    if (pin_ != nullptr)
        metrale_emulator_cuda_unpin(pin_);
    if (stand_in_ != 0)
        metrale_emulator_cuda_drop(stand_in_);
}

int Local::open(const void *address, uint64_t bytes, bool shared)
{
    struct metrale_emulator_range range;
    auto number = reinterpret_cast<uint64_t>(address);

    if (metrale_emulator_cuda_range(number, bytes, 1, &range) != 0)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    pin_ = range.pin;
    data = reinterpret_cast<char *>(number);
    original_ = data;
    bytes_ = bytes;
    // The user may unmap registered memory under another rank's hands.
    if (range.kind == METRALE_EMULATOR_REGISTERED || (shared && range.fd < 0)) {
        int result = metrale_emulator_cuda_scratch(bytes, &stand_in_);
        if (result != 0)
            return result;
        number = stand_in_;
        if (metrale_emulator_cuda_range(number, bytes, 0, &range) != 0)
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        data = reinterpret_cast<char *>(stand_in_);
        load();
    }
    ref.address = number;
    ref.base = range.base;
    ref.bytes = range.bytes;
    ref.id = range.id;
    ref.pid = getpid();
    ref.fd = range.fd;
    return 0;
}

void Local::load()
{
    if (stand_in_ != 0)
        std::memcpy(data, original_, bytes_);
}

void Local::store()
{
    if (stand_in_ != 0)
        std::memcpy(original_, data, bytes_);
}

} // namespace metrale::emulator::nccl
