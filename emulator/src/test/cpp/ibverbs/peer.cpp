// The other process: serves its memory until its input ends.
//   peer DEVICE GID_INDEX SEED
// Reads the client's Address, writes its own, fills its memory from the seed; for each byte read
// afterwards it writes the sum of its memory.
#include "rig.h"

#include <cstdlib>
#include <numeric>
#include <unistd.h>

namespace
{

bool read_all(void *to, size_t bytes)
{
    auto *at = static_cast<char *>(to);
    while (bytes > 0) {
        ssize_t count = read(0, at, bytes);
        if (count <= 0)
            return false;
        at += count;
        bytes -= static_cast<size_t>(count);
    }
    return true;
}

} // namespace

int main(int, char **argv)
{
    Settings with;
    with.device = std::strtoul(argv[1], nullptr, 10);
    with.gid_index = std::atoi(argv[2]);
    End end(with);
    end.fill(static_cast<unsigned>(std::atoi(argv[3])));
    Address client;
    Address own = end.address();
    if (!read_all(&client, sizeof(client)) || end.connect(client) != 0 ||
        write(1, &own, sizeof(own)) != sizeof(own))
        return 1;
    char byte;
    while (read_all(&byte, 1)) {
        // Asking the queue pair orders this thread after the writes it answered.
        if (end.state() != IBV_QPS_RTS && end.state() != IBV_QPS_ERR)
            return 1;
        uint64_t sum = std::accumulate(end.memory.begin(), end.memory.end(), uint64_t{0});
        if (write(1, &sum, sizeof(sum)) != sizeof(sum))
            return 1;
    }
    return 0;
}
