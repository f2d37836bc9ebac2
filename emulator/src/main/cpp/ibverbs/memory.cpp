/* Registration. */
#include "ibverbs/memory.h"

#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace metrale::emulator::ibv
{

namespace
{

/* Whether every page is there, and writable where asked: what pinning finds out. */
bool pages_there(uint64_t address, uint64_t length, bool writable)
{
    FILE *maps = std::fopen("/proc/self/maps", "re");
    if (maps == nullptr)
        return true;
    uint64_t at = address;
    uint64_t end = address + length;
    char line[PATH_MAX + 128];
    while (at < end && std::fgets(line, sizeof(line), maps) != nullptr) {
        uint64_t from = 0;
        uint64_t to = 0;
        char rights[5] = "";
        if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &to, rights) != 3 || to <= at)
            continue;
        if (from > at || rights[0] != 'r' || (writable && rights[1] != 'w'))
            break;
        at = to;
    }
    std::fclose(maps);
    return at >= end;
}

int check(const Domain &domain, uint64_t address, uint64_t length, uint64_t iova, unsigned access)
{
    const unsigned remote_changes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    const unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
                           IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;

    if (domain.context->device.fatal)
        return ENODEV;
    if ((access & ~known) != 0)
        return EOPNOTSUPP;
    if (length == 0 || address + length < address || iova + length < iova ||
        length > domain.context->device.limits.max_mr_bytes)
        return EINVAL;
    if ((access & remote_changes) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0)
        return EINVAL;
    return 0;
}

ibv_mr *enter(Domain &domain, std::shared_ptr<Region> region)
{
    Device &device = domain.context->device;
    if (++device.regions > device.limits.max_mr) {
        --device.regions;
        errno = ENOMEM;
        return nullptr;
    }
    Region *raw = region.get();
    raw->domain = &domain;
    raw->handle.context = domain.context->handle();
    raw->handle.pd = &domain.handle;
    raw->handle.length = raw->length;
    ++domain.children;
    ++live(Kind::Region);
    RegionTable::instance().add(std::move(region));
    return &raw->handle;
}

} // namespace

ibv_mr *register_memory(Domain &domain, void *address, size_t length, uint64_t iova,
                        unsigned access)
{
    auto start = reinterpret_cast<uint64_t>(address);
    int error = check(domain, start, length, iova, access);
    if (error == 0 && !pages_there(start, length, (access & IBV_ACCESS_LOCAL_WRITE) != 0))
        error = EFAULT;
    if (error == 0 && !Machine::instance().lock_memory(length))
        error = ENOMEM;
    if (error != 0) {
        errno = error;
        return nullptr;
    }

    auto region = std::make_shared<Region>();
    region->handle.addr = address;
    region->iova = iova;
    region->length = length;
    region->base = static_cast<uint8_t *>(address);
    region->access = access;
    ibv_mr *handle = enter(domain, std::move(region));
    if (handle == nullptr)
        Machine::instance().unlock_memory(length);
    return handle;
}

ibv_mr *register_dma_buf(Domain &domain, uint64_t offset, size_t length, uint64_t iova, int fd,
                         int access)
{
    char link[64];
    char name[64] = "";
    struct stat file;
    auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    int error = check(domain, offset, length, iova, static_cast<unsigned>(access));

    // Only the emulated driver's memory is a dma-buf here.
    std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, name, sizeof(name) - 1);
    if (error == 0 && !domain.context->device.limits.dma_buf)
        error = EOPNOTSUPP;
    else if (error == 0 && fstat(fd, &file) != 0)
        error = EBADF;
    else if (error == 0 && (count <= 0 || std::strncmp(name, "/memfd:metrale-emulator", 23) != 0))
        error = EINVAL;
    else if (error == 0 && (offset + length > static_cast<uint64_t>(file.st_size) ||
                            (offset & (page - 1)) != (iova & (page - 1))))
        error = EINVAL;
    if (error != 0) {
        errno = error;
        return nullptr;
    }

    uint64_t aligned = offset & ~(page - 1);
    size_t mapped_bytes = length + (offset - aligned);
    void *mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        static_cast<off_t>(aligned));
    if (mapped == MAP_FAILED)
        return nullptr;
    auto region = std::make_shared<Region>();
    region->mapped = mapped;
    region->mapped_bytes = mapped_bytes;
    region->iova = iova;
    region->length = length;
    region->base = static_cast<uint8_t *>(mapped) + (offset - aligned);
    region->access = static_cast<unsigned>(access);
    return enter(domain, std::move(region));
}

int deregister(Region *region)
{
    Domain *domain = region->domain;
    uint64_t locked = region->mapped == nullptr ? region->length : 0;
    if (!RegionTable::instance().remove(region))
        return EINVAL;
    Machine::instance().unlock_memory(locked);
    --domain->context->device.regions;
    --domain->children;
    --live(Kind::Region);
    return 0;
}

} // namespace metrale::emulator::ibv
