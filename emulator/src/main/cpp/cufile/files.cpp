#include "state.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "stats.hpp"

/* Registered files. */

namespace metrale::gds
{
namespace
{

constexpr long kTmpfs = 0x01021994;
constexpr long kRamfs = 0x858458f6;
constexpr long kProc = 0x9fa0;

/* Memory is not a disk: there is nothing a device could be read by. */
bool storage_can_do_gds(int fd)
{
    const std::string asked = telemetry::setting_or("cufile.filesystem", "");
    if (!asked.empty())
        return asked != "unsupported";
    struct statfs system = {};
    if (fstatfs(fd, &system) != 0)
        return false;
    const long type = static_cast<long>(system.f_type);
    return type != kTmpfs && type != kRamfs && type != kProc;
}

CUfileError_t check_descriptor(int fd, int *flags)
{
    struct stat status = {};
    if (fd < 0)
        return error(CU_FILE_INVALID_VALUE);
    *flags = fcntl(fd, F_GETFL);
    if (*flags == -1 || fstat(fd, &status) != 0)
        return error(CU_FILE_INVALID_FILE_TYPE);
    if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
        return error(CU_FILE_INVALID_FILE_TYPE);
    return kSuccess;
}

int reopen_buffered(int fd, int flags)
{
    char path[48];
    std::snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, (flags & O_ACCMODE) | O_CLOEXEC);
}

/* What the handle is worth under the driver's modes, or why it is refused. */
CUfileError_t choose_path(const Library &target, int fd, File &file)
{
    const bool compat = compat_allowed(target.parameters) || compat_forced(target.parameters);
    const bool storage = storage_can_do_gds(fd);
    file.path = target.nvfs ? Path::nvfs : target.p2pdma ? Path::p2pdma : Path::compat;
    if (!storage || !file.direct)
        file.path = Path::compat;
    if (file.path != Path::compat || compat)
        return kSuccess;
    return error(storage ? CU_FILE_INVALID_FILE_OPEN_FLAG : CU_FILE_IO_NOT_SUPPORTED);
}

CUfileError_t register_file(CUfileHandle_t *handle, const CUfileDescr_t *descriptor)
{
    if (handle == nullptr || descriptor == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    const CUfileError_t opened = open_implicitly();
    if (opened.err != CU_FILE_SUCCESS)
        return opened;
    if (descriptor->type == CU_FILE_HANDLE_TYPE_OPAQUE_WIN32 ||
        descriptor->type == CU_FILE_HANDLE_TYPE_USERSPACE_FS)
        return error(CU_FILE_IO_NOT_SUPPORTED);
    if (descriptor->type != CU_FILE_HANDLE_TYPE_OPAQUE_FD)
        return error(CU_FILE_INVALID_VALUE);

    const int fd = descriptor->handle.fd;
    int flags = 0;
    const CUfileError_t checked = check_descriptor(fd, &flags);
    if (checked.err != CU_FILE_SUCCESS)
        return checked;
    auto file = std::make_shared<File>();
    file->fd = fd;
    file->direct = (flags & O_DIRECT) != 0;
    file->alignment = static_cast<std::size_t>(telemetry::setting_number("cufile.alignment", 4096));
    file->buffered = reopen_buffered(fd, flags);

    Library &target = library();
    const std::lock_guard lock(target.mutex);
    for (const auto &[other, registered] : target.files)
        if (registered->fd == fd)
            return error(CU_FILE_HANDLE_ALREADY_REGISTERED);
    const CUfileError_t chosen = choose_path(target, fd, *file);
    if (chosen.err != CU_FILE_SUCCESS)
        return chosen;
    *handle = file.get();
    target.files[*handle] = std::move(file);
    return kSuccess;
}

} // namespace

File::~File()
{
    if (buffered >= 0)
        close(buffered);
}

std::shared_ptr<File> find_file(CUfileHandle_t handle)
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    const auto found = target.files.find(handle);
    return found == target.files.end() ? nullptr : found->second;
}

} // namespace metrale::gds

using metrale::gds::Operation;

CUfileError_t cuFileHandleRegister(CUfileHandle_t *handle, CUfileDescr_t *descriptor)
{
    METRALE_GDS_FAULT();
    const CUfileError_t answer = metrale::gds::register_file(handle, descriptor);
    metrale::gds::count(Operation::handle_register, answer.err == CU_FILE_SUCCESS);
    return answer;
}

void cuFileHandleDeregister(CUfileHandle_t handle)
{
    int code = 0;
    if (metrale::gds::fault_of(__func__, &code))
        return;
    std::shared_ptr<metrale::gds::File> last; /* closes after the lock is given back */
    bool found = false;
    {
        auto &target = metrale::gds::library();
        const std::lock_guard lock(target.mutex);
        const auto at = target.files.find(handle);
        found = at != target.files.end();
        if (found) {
            last = std::move(at->second);
            target.files.erase(at);
        }
    }
    metrale::gds::count(Operation::handle_deregister, found);
}
