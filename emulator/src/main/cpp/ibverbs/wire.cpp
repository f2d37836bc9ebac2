#include "ibverbs/wire.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

namespace metrale::emulator::ibv
{

namespace
{

constexpr uint64_t kCallBytes = 256 * 1024;

socklen_t name_socket(uint32_t number, sockaddr_un *address)
{
    // The first zero byte puts the name beside the file system: it goes with its last owner.
    address->sun_family = AF_UNIX;
    int length = std::snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
                               "metrale-ibv/%s/%06x", Machine::instance().domain().c_str(), number);
    length = std::min(length, static_cast<int>(sizeof(address->sun_path)) - 2);
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

/* One non-blocking call at a time, with the region held. */
template <typename Call>
Moved move_pieces(int fd, const std::vector<Piece> &pieces, uint64_t *done, short events,
                  Signal &signal, const Stop &stop, Call call)
{
    for (const Piece &piece : pieces) {
        uint64_t at = 0;
        while (at < piece.length) {
            ssize_t count;
            int error;
            {
                std::shared_lock<std::shared_mutex> lock(piece.region->mutex);
                if (!piece.region->valid)
                    return Moved::Invalid;
                count = call(piece.data + at, std::min(piece.length - at, kCallBytes));
                error = errno;
            }
            if (count > 0) {
                at += static_cast<uint64_t>(count);
                *done += static_cast<uint64_t>(count);
                continue;
            }
            if (count < 0 && error == EFAULT)
                return Moved::Invalid;
            if (count == 0 || (error != EAGAIN && error != EINTR))
                return Moved::Closed;
            Moved waited = wait_ready(fd, events, signal, stop);
            if (waited != Moved::Done)
                return waited;
        }
    }
    return Moved::Done;
}

/* Whether a word is there and writable, without a signal when it is not. */
bool touchable(uint8_t *data)
{
    uint64_t word;
    iovec mine = {&word, sizeof(word)};
    iovec theirs = {data, sizeof(word)};
    return process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0) == sizeof(word) || errno != EFAULT;
}

} // namespace

Moved wait_ready(int fd, short events, Signal &signal, const Stop &stop)
{
    for (;;) {
        struct pollfd fds[2] = {{fd, events, 0}, {signal.fd(), POLLIN, 0}};
        if (::poll(fds, 2, -1) < 0 && errno != EINTR)
            return Moved::Closed;
        if (fds[1].revents != 0)
            signal.take();
        if (stop())
            return Moved::Stopped;
        if (fds[0].revents != 0)
            return Moved::Done;
    }
}

Moved sleep_until(std::chrono::steady_clock::time_point end, Signal &signal, const Stop &stop)
{
    for (;;) {
        if (stop())
            return Moved::Stopped;
        auto left = end - std::chrono::steady_clock::now();
        if (left <= std::chrono::nanoseconds(0))
            return Moved::Done;
        auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
        struct timespec wait = {static_cast<time_t>(nanos / 1000000000),
                                static_cast<long>(nanos % 1000000000)};
        struct pollfd ready = {signal.fd(), POLLIN, 0};
        if (ppoll(&ready, 1, &wait, nullptr) > 0)
            signal.take();
    }
}

Moved send_all(int fd, const void *data, size_t bytes, Signal &signal, const Stop &stop)
{
    const char *from = static_cast<const char *>(data);
    while (bytes > 0) {
        ssize_t count = send(fd, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) {
            from += count;
            bytes -= static_cast<size_t>(count);
        } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            Moved waited = wait_ready(fd, POLLOUT, signal, stop);
            if (waited != Moved::Done)
                return waited;
        } else {
            return Moved::Closed;
        }
    }
    return Moved::Done;
}

Moved receive_all(int fd, void *data, size_t bytes, Signal &signal, const Stop &stop)
{
    char *to = static_cast<char *>(data);
    while (bytes > 0) {
        ssize_t count = recv(fd, to, bytes, MSG_DONTWAIT);
        if (count > 0) {
            to += count;
            bytes -= static_cast<size_t>(count);
        } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            Moved waited = wait_ready(fd, POLLIN, signal, stop);
            if (waited != Moved::Done)
                return waited;
        } else {
            return Moved::Closed;
        }
    }
    return Moved::Done;
}

Moved send_pieces(int fd, const std::vector<Piece> &pieces, uint64_t *done, Signal &signal,
                  const Stop &stop)
{
    return move_pieces(fd, pieces, done, POLLOUT, signal, stop,
                       [fd](uint8_t *data, uint64_t bytes) {
                           return send(fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
                       });
}

Moved receive_pieces(int fd, const std::vector<Piece> &pieces, uint64_t *done, Signal &signal,
                     const Stop &stop)
{
    return move_pieces(fd, pieces, done, POLLIN, signal, stop, [fd](uint8_t *data, uint64_t bytes) {
        return recv(fd, data, bytes, MSG_DONTWAIT);
    });
}

bool write_word(const Piece &piece, uint64_t value)
{
    std::shared_lock<std::shared_mutex> lock(piece.region->mutex);
    if (!piece.region->valid)
        return false;
    iovec mine = {&value, sizeof(value)};
    iovec theirs = {piece.data, sizeof(value)};
    if (process_vm_writev(getpid(), &mine, 1, &theirs, 1, 0) == sizeof(value))
        return true;
    if (errno == EFAULT)
        return false;
    // Not allowed here: without the check, then.
    std::memcpy(piece.data, &value, sizeof(value));
    return true;
}

bool atomic_word(const Piece &piece, const Request &request, uint64_t *before)
{
    std::shared_lock<std::shared_mutex> lock(piece.region->mutex);
    if (!piece.region->valid || !touchable(piece.data))
        return false;
    auto *word = reinterpret_cast<uint64_t *>(piece.data);
    if (request.operation == Operation::FetchAdd) {
        *before = __atomic_fetch_add(word, request.compare_add, __ATOMIC_SEQ_CST);
    } else {
        *before = request.compare_add;
        __atomic_compare_exchange_n(word, before, request.swap, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    }
    return true;
}

Moved send_zeros(int fd, uint64_t bytes, Signal &signal, const Stop &stop)
{
    static const char zeros[16384] = {};
    while (bytes > 0) {
        size_t count = std::min<uint64_t>(bytes, sizeof(zeros));
        Moved moved = send_all(fd, zeros, count, signal, stop);
        if (moved != Moved::Done)
            return moved;
        bytes -= count;
    }
    return Moved::Done;
}

Moved discard(int fd, uint64_t bytes, Signal &signal, const Stop &stop)
{
    char scratch[16384];
    while (bytes > 0) {
        size_t count = std::min<uint64_t>(bytes, sizeof(scratch));
        Moved moved = receive_all(fd, scratch, count, signal, stop);
        if (moved != Moved::Done)
            return moved;
        bytes -= count;
    }
    return Moved::Done;
}

int listen_as(uint32_t number)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    sockaddr_un address{};
    socklen_t length = name_socket(number, &address);
    if (bind(fd, reinterpret_cast<sockaddr *>(&address), length) != 0 || listen(fd, 16) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

int connect_to(uint32_t number)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    sockaddr_un address{};
    socklen_t length = name_socket(number, &address);
    if (connect(fd, reinterpret_cast<sockaddr *>(&address), length) != 0 || !same_user(fd)) {
        close(fd);
        return -1;
    }
    int bytes = 1 << 20;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    return fd;
}

bool same_user(int fd)
{
    ucred peer{};
    socklen_t length = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == getuid();
}

std::vector<Piece> part_of(const std::vector<Piece> &pieces, uint64_t offset, uint64_t length)
{
    std::vector<Piece> part;
    for (const Piece &piece : pieces) {
        if (offset >= piece.length) {
            offset -= piece.length;
            continue;
        }
        uint64_t count = std::min(piece.length - offset, length);
        if (count > 0)
            part.push_back({piece.region, piece.data + offset, count});
        length -= count;
        offset = 0;
        if (length == 0)
            break;
    }
    return part;
}

} // namespace metrale::emulator::ibv
