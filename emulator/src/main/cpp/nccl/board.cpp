#include "nccl/board.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace metrale::emulator::nccl
{

namespace
{

const char kMagic[8] = {'m', 'e', 't', 'r', 'a', 'l', 'e', '1'};

struct Boards {
    std::mutex mutex;
    std::map<uint64_t, std::weak_ptr<Board>> mapped;
    std::map<uint64_t, std::shared_ptr<Board>> created; /* not all ranks have joined yet */
};

Boards &boards()
{
    static Boards *only = new Boards();
    return *only;
}

uint64_t random_number()
{
    std::random_device source;
    uint64_t high = source();
    return (high << 32 | source()) | 1;
}

uint64_t own_start()
{
    static const uint64_t start = process_start(getpid());
    return start;
}

} // namespace

uint64_t process_start(int pid)
{
    char path[64];
    char content[1024];

    std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, content, sizeof(content) - 1);
    close(fd);
    if (length <= 0)
        return 0;
    content[length] = '\0';
    // The name may hold anything, blanks and brackets too: count from its end.
    const char *field = std::strrchr(content, ')');
    if (field == nullptr || field[1] == '\0')
        return 0;
    char state = field[2];
    if (state == 'Z' || state == 'X')
        return 0;
    unsigned long long start = 0;
    int number = 2;
    for (; *field != '\0' && number < 22; ++field) {
        if (*field == ' ')
            ++number;
    }
    return std::sscanf(field, "%llu", &start) == 1 ? start + 1 : 0;
}

std::shared_ptr<Board> Board::create(BoardId *id)
{
    int fd = memfd_create("metrale-emulator-board", MFD_CLOEXEC);
    if (fd < 0)
        return nullptr;
    void *address = MAP_FAILED;
    if (ftruncate(fd, sizeof(Layout)) == 0)
        address = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                       fd, 0);
    if (address == MAP_FAILED) {
        close(fd);
        return nullptr;
    }

    // A fresh file is all zero, which is the start state of everything in it.
    std::shared_ptr<Board> board(new Board(static_cast<Layout *>(address), fd));
    board->header().nonce = random_number();
    std::memset(id, 0, sizeof(*id));
    std::memcpy(id->magic, kMagic, sizeof(kMagic));
    id->pid = getpid();
    id->fd = fd;
    id->start = own_start();
    id->nonce = board->header().nonce;

    Boards &all = boards();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.mapped[id->nonce] = board;
    all.created[id->nonce] = board;
    return board;
}

std::shared_ptr<Board> Board::open(const BoardId &id, const char **text)
{
    Boards &all = boards();
    struct stat info;
    char path[64];

    if (std::memcmp(id.magic, kMagic, sizeof(kMagic)) != 0) {
        *text = "the unique id is not one of ncclGetUniqueId's";
        return nullptr;
    }
    std::lock_guard<std::mutex> lock(all.mutex);
    auto found = all.mapped.find(id.nonce);
    if (found != all.mapped.end()) {
        if (std::shared_ptr<Board> board = found->second.lock())
            return board;
        all.mapped.erase(found);
    }

    *text = "the process that made the unique id has gone, or the id was used up";
    if (process_start(id.pid) != id.start)
        return nullptr;
    std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", id.pid, id.fd);
    int fd = ::open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return nullptr;
    void *address = MAP_FAILED;
    if (fstat(fd, &info) == 0 && info.st_size == static_cast<off_t>(sizeof(Layout)))
        address = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                       fd, 0);
    close(fd);
    if (address == MAP_FAILED)
        return nullptr;
    std::shared_ptr<Board> board(new Board(static_cast<Layout *>(address), -1));
    if (board->header().nonce != id.nonce)
        return nullptr;
    all.mapped[id.nonce] = board;
    return board;
}

void Board::sweep()
{
    Boards &all = boards();
    std::lock_guard<std::mutex> lock(all.mutex);
    std::erase_if(all.created, [](const auto &entry) {
        Header &header = entry.second->header();
        int nranks = header.nranks.load();
        bool complete = nranks > 0 && header.joined.load() >= nranks;
        if (complete) {
            close(entry.second->fd_);
            entry.second->fd_ = -1;
        }
        return complete;
    });
    std::erase_if(all.mapped, [](const auto &entry) { return entry.second.expired(); });
}

Board::~Board()
{
    munmap(layout_, sizeof(Layout));
    if (fd_ >= 0)
        close(fd_);
}

void Board::announce()
{
    header().event.fetch_add(1, std::memory_order_seq_cst);
    if (header().sleepers.load(std::memory_order_seq_cst) == 0)
        return;
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&header().event), FUTEX_WAKE, INT_MAX, nullptr,
            nullptr, 0);
}

void Board::sleep(uint32_t seen, int milliseconds)
{
    struct timespec limit;
    limit.tv_sec = 0;
    limit.tv_nsec = milliseconds * 1000000L;
    header().sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (header().event.load(std::memory_order_seq_cst) == seen)
        syscall(SYS_futex, reinterpret_cast<uint32_t *>(&header().event), FUTEX_WAIT, seen, &limit,
                nullptr, 0);
    header().sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace metrale::emulator::nccl
