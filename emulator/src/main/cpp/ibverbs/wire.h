#ifndef METRALE_EMULATOR_IBVERBS_WIRE_H
#define METRALE_EMULATOR_IBVERBS_WIRE_H

#include "ibverbs/objects.h"

#include <functional>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * Between two queue pairs: a stream socket from the sender of requests to the queue pair that
 * answers, one request at a time.
 *
 *   Hello                  -> Reply (Ok or Drop)
 *   Request READ           -> Reply (Go), data, Reply (Ok or a refusal)
 *   Request WRITE, SEND    -> Reply (Go)      data -> Reply (Ok or a refusal)
 *   Request atomic         -> Reply (Ok with the old value)
 *
 * A refusal may stand in the place of Go, and nothing follows it then. Both ends run the same
 * build on one machine, so structures travel as they are.
 */
namespace metrale::emulator::ibv
{

constexpr uint32_t kMagic = 0x76626d65;
/* READ and WRITE travel in parts of this size; faults and rates apply between parts. */
constexpr uint64_t kPartBytes = 1 << 20;

struct Hello {
    uint32_t magic = kMagic;
    uint32_t source_qpn = 0;
    uint32_t psn = 0;
    uint32_t path_mtu = 0;
    RawGid source_gid{};
    RawGid destination_gid{};
    uint32_t gid_type = 0;
    uint16_t destination_lid = 0;
    uint8_t global = 0;
    uint8_t reserved = 0;
};

enum class Operation : uint8_t { Read, Write, Send, CompareSwap, FetchAdd };

struct Request {
    Operation operation = Operation::Read;
    uint8_t with_imm = 0;
    uint8_t solicited = 0;
    uint8_t last = 1;
    uint32_t rkey = 0;
    /* Of the whole work request, which is checked at once as an adapter does. */
    uint64_t address = 0;
    uint64_t total = 0;
    /* Of this part. */
    uint64_t offset = 0;
    uint64_t length = 0;
    uint64_t compare_add = 0;
    uint64_t swap = 0;
    uint32_t imm = 0;
    uint32_t reserved = 0;
};

enum class Answer : uint32_t {
    Ok,
    Go,
    Drop, /* as if the packet were lost */
    NotReady,
    InvalidRequest,
    AccessError,
    OperationError
};

struct Reply {
    Answer answer = Answer::Ok;
    uint32_t rnr_timer = 0;
    uint64_t value = 0;
};

/* How moving bytes ended. */
enum class Moved { Done, Closed, Stopped, Invalid };

/* Asked whenever a wait is interrupted: whether to give up. */
using Stop = std::function<bool()>;

/* Waits until `fd` is ready for `events`; the signal interrupts. */
Moved wait_ready(int fd, short events, Signal &signal, const Stop &stop);
/* Sleeps; the signal interrupts. */
Moved sleep_until(std::chrono::steady_clock::time_point end, Signal &signal, const Stop &stop);

Moved send_all(int fd, const void *data, size_t bytes, Signal &signal, const Stop &stop);
Moved receive_all(int fd, void *data, size_t bytes, Signal &signal, const Stop &stop);

/*
 * Between the socket and registered memory; `done` counts the bytes that moved. Invalid when the
 * region was deregistered or its pages are gone: the kernel finds that out, not a signal.
 */
Moved send_pieces(int fd, const std::vector<Piece> &pieces, uint64_t *done, Signal &signal,
                  const Stop &stop);
Moved receive_pieces(int fd, const std::vector<Piece> &pieces, uint64_t *done, Signal &signal,
                     const Stop &stop);
/* One word of registered memory, with the same guarantee. */
bool write_word(const Piece &piece, uint64_t value);
/* Compare and swap, or fetch and add; false when the memory is no good. */
bool atomic_word(const Piece &piece, const Request &request, uint64_t *before);
/* Keeps the stream in step when the memory is no good. */
Moved send_zeros(int fd, uint64_t bytes, Signal &signal, const Stop &stop);
Moved discard(int fd, uint64_t bytes, Signal &signal, const Stop &stop);

template <typename T> Moved send_value(int fd, const T &value, Signal &signal, const Stop &stop)
{
    return send_all(fd, &value, sizeof(value), signal, stop);
}

template <typename T> Moved receive_value(int fd, T *value, Signal &signal, const Stop &stop)
{
    return receive_all(fd, value, sizeof(*value), signal, stop);
}

/* A listening socket under the number's name; -1 when the number is taken. */
int listen_as(uint32_t number);
/* A connection to that queue pair; -1 when there is none. */
int connect_to(uint32_t number);
/* Whether the other end belongs to the same user. */
bool same_user(int fd);

/* The part of the pieces from `offset` on. */
std::vector<Piece> part_of(const std::vector<Piece> &pieces, uint64_t offset, uint64_t length);

} // namespace metrale::emulator::ibv

#endif
