/*
 * Flat calls of the file system for the checked cuFile layer. Everything answers 0 or a count, or
 * minus errno, read in the statement after the call.
 */
#ifndef METRALE_FILE_H
#define METRALE_FILE_H
#include <stdint.h>

/* How a file is opened. */
enum metrale_file_flag {
    METRALE_FILE_READ = 1,
    METRALE_FILE_WRITE = 2,
    METRALE_FILE_CREATE = 4,
    METRALE_FILE_TRUNCATE = 8,
    METRALE_FILE_DIRECT = 16
};

#ifndef METRALE_PARSER
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <jni.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Newer than the C library this is built for: Linux 6.1. */
enum {
    METRALE_STATX_DIOALIGN = 0x2000,
    METRALE_STATX_BYTES = 256,
    METRALE_STATX_MEMORY_ALIGNMENT = 152,
    METRALE_STATX_OFFSET_ALIGNMENT = 156
};
#endif

/* A descriptor of the file that a path names, closed on exec. */
static inline int metrale_file_open(const signed char *path, int mode)
#ifndef METRALE_PARSER
{
    const int access = (mode & METRALE_FILE_WRITE) == 0  ? O_RDONLY
                       : (mode & METRALE_FILE_READ) == 0 ? O_WRONLY
                                                         : O_RDWR;
    /* A pipe would make open wait for its other end. */
    const int flags = access | O_CLOEXEC | O_NONBLOCK |
                      ((mode & METRALE_FILE_CREATE) != 0 ? O_CREAT : 0) |
                      ((mode & METRALE_FILE_TRUNCATE) != 0 ? O_TRUNC : 0) |
                      ((mode & METRALE_FILE_DIRECT) != 0 ? O_DIRECT : 0);
    int fd;

    do {
        fd = open(reinterpret_cast<const char *>(path), flags, 0666);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        return -errno;
    }
    /* cuFile refuses a descriptor with that flag. */
    const int kept = fcntl(fd, F_GETFL);
    if (kept < 0 || fcntl(fd, F_SETFL, kept & ~O_NONBLOCK) < 0) {
        const int reason = errno;
        close(fd);
        return -reason;
    }
    return fd;
}
#endif
;

/* The same file once more, with other modes than the descriptor at hand has. */
static inline int metrale_file_reopen(int fd, int mode)
#ifndef METRALE_PARSER
{
    char path[48];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return metrale_file_open(reinterpret_cast<const signed char *>(path), mode);
}
#endif
;

/* How a descriptor was opened, as bits of metrale_file_flag. */
static inline int metrale_file_mode(int fd)
#ifndef METRALE_PARSER
{
    const int flags = fcntl(fd, F_GETFL);

    if (flags < 0) {
        return -errno;
    }
    const int access = flags & O_ACCMODE;
    return (access != O_WRONLY ? METRALE_FILE_READ : 0) |
           (access != O_RDONLY ? METRALE_FILE_WRITE : 0) |
           ((flags & O_DIRECT) != 0 ? METRALE_FILE_DIRECT : 0);
}
#endif
;

static inline int metrale_file_close(int fd)
#ifndef METRALE_PARSER
{
    return close(fd) == 0 ? 0 : -errno;
}
#endif
;

/* A descriptor of our own for a java.nio.channels.FileChannel, or -EBADF. */
#ifndef METRALE_PARSER
static inline int metrale_file_of_channel(JNIEnv *env, jclass, jobject channel)
{
    jclass type = env->GetObjectClass(channel);
    jfieldID outer = env->GetFieldID(type, "fd", "Ljava/io/FileDescriptor;");

    if (outer == nullptr) {
        env->ExceptionClear();
        return -EBADF;
    }
    jobject descriptor = env->GetObjectField(channel, outer);
    if (descriptor == nullptr) {
        return -EBADF;
    }
    jfieldID inner = env->GetFieldID(env->GetObjectClass(descriptor), "fd", "I");
    if (inner == nullptr) {
        env->ExceptionClear();
        return -EBADF;
    }
    const int own = fcntl(env->GetIntField(descriptor, inner), F_DUPFD_CLOEXEC, 0);
    return own >= 0 ? own : -errno;
}
#else
static inline int metrale_file_of_channel(int channel);
#endif

/* Reads until `bytes` are there or the file ends. Answers what it has, if an error comes later. */
static inline int64_t metrale_file_read(int fd, int64_t address, int64_t bytes, int64_t offset)
#ifndef METRALE_PARSER
{
    int64_t done = 0;

    while (done < bytes) {
        const ssize_t moved = pread(fd, reinterpret_cast<char *>(address) + done,
                                    static_cast<size_t>(bytes - done), offset + done);
        if (moved < 0) {
            const int reason = errno;
            if (reason == EINTR) {
                continue;
            }
            return done > 0 ? done : -static_cast<int64_t>(reason);
        }
        if (moved == 0) {
            break;
        }
        done += moved;
    }
    return done;
}
#endif
;

/* Writes until all is written. Answers what was written, if an error comes later. */
static inline int64_t metrale_file_write(int fd, int64_t address, int64_t bytes, int64_t offset)
#ifndef METRALE_PARSER
{
    int64_t done = 0;

    while (done < bytes) {
        const ssize_t moved = pwrite(fd, reinterpret_cast<const char *>(address) + done,
                                     static_cast<size_t>(bytes - done), offset + done);
        if (moved < 0) {
            const int reason = errno;
            if (reason == EINTR) {
                continue;
            }
            return done > 0 ? done : -static_cast<int64_t>(reason);
        }
        if (moved == 0) {
            break;
        }
        done += moved;
    }
    return done;
}
#endif
;

static inline int64_t metrale_file_size(int fd)
#ifndef METRALE_PARSER
{
    struct stat status;

    return fstat(fd, &status) == 0 ? static_cast<int64_t>(status.st_size) : -errno;
}
#endif
;

/* Whether the descriptor is of a regular file or a block device, which can be read anywhere. */
static inline int metrale_file_is_storage(int fd)
#ifndef METRALE_PARSER
{
    struct stat status;

    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    return S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) ? 1 : 0;
}
#endif
;

static inline int metrale_file_sync(int fd)
#ifndef METRALE_PARSER
{
    return fdatasync(fd) == 0 ? 0 : -errno;
}
#endif
;

/* The kernel's number for the kind of file system. */
static inline int64_t metrale_file_system(int fd)
#ifndef METRALE_PARSER
{
    struct statfs system;

    return fstatfs(fd, &system) == 0 ? static_cast<int64_t>(system.f_type) & 0xffffffff : -errno;
}
#endif
;

/*
 * What direct transfers must be aligned to, as the file system says it: memory above, offset and
 * length below. 0 if it says that there are none, -EOPNOTSUPP if it says nothing.
 */
static inline int64_t metrale_file_alignment(int fd)
#ifndef METRALE_PARSER
{
    alignas(8) char status[METRALE_STATX_BYTES] = {};
    uint32_t mask = 0;
    uint32_t memory = 0;
    uint32_t offset = 0;

    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, METRALE_STATX_DIOALIGN, status) != 0) {
        return errno == ENOSYS ? -EOPNOTSUPP : -errno;
    }
    memcpy(&mask, status, sizeof(mask));
    if ((mask & METRALE_STATX_DIOALIGN) == 0) {
        return -EOPNOTSUPP;
    }
    memcpy(&memory, status + METRALE_STATX_MEMORY_ALIGNMENT, sizeof(memory));
    memcpy(&offset, status + METRALE_STATX_OFFSET_ALIGNMENT, sizeof(offset));
    return static_cast<int64_t>(static_cast<uint64_t>(memory) << 32 | offset);
}
#endif
;

static inline int64_t metrale_file_block_bytes(int fd)
#ifndef METRALE_PARSER
{
    struct stat status;

    return fstat(fd, &status) == 0 ? static_cast<int64_t>(status.st_blksize) : -errno;
}
#endif
;

static inline int64_t metrale_file_page_bytes(void)
#ifndef METRALE_PARSER
{
    return sysconf(_SC_PAGESIZE);
}
#endif
;

/* Path of an open descriptor into `out`, without a NUL; its bytes. */
static inline int64_t metrale_file_path(int fd, signed char *out, int bytes)
#ifndef METRALE_PARSER
{
    char path[48];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const ssize_t length =
        readlink(path, reinterpret_cast<char *>(out), static_cast<size_t>(bytes));
    return length >= 0 ? length : -errno;
}
#endif
;

/* The name of an errno that files meet, or null. */
static inline const char *metrale_errno_name(int number)
#ifndef METRALE_PARSER
{
#define METRALE_ERRNO(name)                                                                        \
    case name:                                                                                     \
        return #name;
    switch (number) {
        METRALE_ERRNO(EPERM)
        METRALE_ERRNO(ENOENT)
        METRALE_ERRNO(EINTR)
        METRALE_ERRNO(EIO)
        METRALE_ERRNO(ENXIO)
        METRALE_ERRNO(EBADF)
        METRALE_ERRNO(EAGAIN)
        METRALE_ERRNO(ENOMEM)
        METRALE_ERRNO(EACCES)
        METRALE_ERRNO(EFAULT)
        METRALE_ERRNO(EBUSY)
        METRALE_ERRNO(EEXIST)
        METRALE_ERRNO(ENODEV)
        METRALE_ERRNO(ENOTDIR)
        METRALE_ERRNO(EISDIR)
        METRALE_ERRNO(EINVAL)
        METRALE_ERRNO(ENFILE)
        METRALE_ERRNO(EMFILE)
        METRALE_ERRNO(ETXTBSY)
        METRALE_ERRNO(EFBIG)
        METRALE_ERRNO(ENOSPC)
        METRALE_ERRNO(ESPIPE)
        METRALE_ERRNO(EROFS)
        METRALE_ERRNO(EPIPE)
        METRALE_ERRNO(ENAMETOOLONG)
        METRALE_ERRNO(ENOSYS)
        METRALE_ERRNO(ELOOP)
        METRALE_ERRNO(EOVERFLOW)
        METRALE_ERRNO(EOPNOTSUPP)
        METRALE_ERRNO(ETIMEDOUT)
        METRALE_ERRNO(ESTALE)
        METRALE_ERRNO(EDQUOT)
        METRALE_ERRNO(ECANCELED)
        METRALE_ERRNO(EREMOTEIO)
    default:
        return nullptr;
    }
#undef METRALE_ERRNO
}
#endif
;

/* The C library's words for an errno. */
static inline const char *metrale_errno_text(int number)
#ifndef METRALE_PARSER
{
    static thread_local char text[128];

    snprintf(text, sizeof(text), "unknown error %d", number);
    return strerror_r(number, text, sizeof(text));
}
#endif
;

/* The errno values that are compared with. */
static inline int metrale_errno_invalid(void)
#ifndef METRALE_PARSER
{
    return EINVAL;
}
#endif
;

static inline int metrale_errno_timed_out(void)
#ifndef METRALE_PARSER
{
    return ETIMEDOUT;
}
#endif
;

static inline int metrale_errno_unsupported(void)
#ifndef METRALE_PARSER
{
    return EOPNOTSUPP;
}
#endif
;
#endif
