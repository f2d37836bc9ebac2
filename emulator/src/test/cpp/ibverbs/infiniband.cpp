// One InfiniBand device, addressed by LID; its link goes down by the timetable.
#include "rig.h"

#include <cstdio>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main()
{
    Settings with;
    with.gid_index = 0;
    with.timeout = 10;
    with.retry = 1;
    Pair pair(with, with);
    CHECK(pair.client_error == 0);
    CHECK(pair.server_error == 0);
    CHECK(pair.remote.lid == 0x11);
    ibv_port_attr port;
    CHECK(ibv_query_port(pair.client.context, 1, &port) == 0);
    CHECK(port.link_layer == IBV_LINK_LAYER_INFINIBAND);
    CHECK((port.flags & IBV_QPF_GRH_REQUIRED) == 0);
    CHECK(port.gid_tbl_len == 1);
    pair.server.fill(4);
    CHECK(pair.client.transfer(1, IBV_WR_RDMA_READ, pair.remote, 0, 4096, 0) == 0);
    ibv_wc wc = pair.client.next();
    if (wc.status == IBV_WC_SUCCESS)
        CHECK(std::memcmp(pair.client.memory.data(), pair.server.memory.data(), 4096) == 0);
    CHECK(pair.client.next_event() == IBV_EVENT_PORT_ERR);
    CHECK(pair.client.transfer(2, IBV_WR_RDMA_READ, pair.remote, 0, 4096, 0) == 0);
    CHECK(pair.client.next().status != IBV_WC_SUCCESS);
    return 0;
}
