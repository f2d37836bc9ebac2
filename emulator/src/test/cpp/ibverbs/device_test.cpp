#include "rig.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <dlfcn.h>
#include <fcntl.h>
#include <net/if.h>
#include <sys/mman.h>
#include <unistd.h>

#include <endian.h>

TEST_CASE("lists two devices with names and GUIDs of their own")
{
    int count = 0;
    ibv_device **list = ibv_get_device_list(&count);
    REQUIRE(count == 2);
    CHECK(std::string(ibv_get_device_name(list[0])) == "mlx5_0");
    CHECK(std::string(ibv_get_device_name(list[1])) == "mlx5_1");
    CHECK(ibv_get_device_guid(list[0]) != ibv_get_device_guid(list[1]));
    CHECK(ibv_get_device_index(list[1]) == 1);
    CHECK(list[2] == nullptr);
    ibv_free_device_list(list);
}

TEST_CASE("is marked as an emulator")
{
    void *marker = dlsym(RTLD_DEFAULT, "metrale_emulator_marker");
    REQUIRE(marker != nullptr);
    CHECK(std::string(static_cast<const char *>(marker)).find("emulator") != std::string::npos);
}

TEST_CASE("describes its port and its typed GID table")
{
    ibv_context *context = open_device(1);
    ibv_port_attr port;
    REQUIRE(ibv_query_port(context, 1, &port) == 0);
    CHECK(port.state == IBV_PORT_ACTIVE);
    CHECK(port.active_mtu == IBV_MTU_4096);
    CHECK(port.link_layer == IBV_LINK_LAYER_ETHERNET);
    CHECK(port.gid_tbl_len == 6);
    CHECK((port.flags & IBV_QPF_GRH_REQUIRED) != 0);
    CHECK(ibv_query_port(context, 2, &port) == EINVAL);
    CHECK(ibv_query_port(context, 0, &port) == EINVAL);

    std::vector<ibv_gid_entry> entries(8);
    REQUIRE(ibv_query_gid_table(context, entries.data(), entries.size(), 0) == 6);
    CHECK(entries[0].gid.raw[0] == 0xfe);
    CHECK(entries[0].gid_type == IBV_GID_TYPE_ROCE_V1);
    CHECK(entries[3].gid_type == IBV_GID_TYPE_ROCE_V2);
    CHECK(entries[3].gid.raw[12] == 10);
    CHECK(entries[3].gid.raw[14] == 1);
    CHECK(entries[3].gid_index == 3);
    CHECK(entries[3].ndev_ifindex == 7);
    CHECK(entries[5].gid.raw[0] == 0xfd);
    CHECK(ibv_query_gid_table(context, entries.data(), 5, 0) == -EINVAL);

    ibv_gid_entry entry;
    CHECK(ibv_query_gid_ex(context, 1, 3, &entry, 0) == 0);
    CHECK(std::memcmp(&entry, &entries[3], sizeof(entry)) == 0);
    CHECK(ibv_query_gid_ex(context, 1, 6, &entry, 0) == EINVAL);
    ibv_gid gid;
    CHECK(ibv_query_gid(context, 1, 3, &gid) == 0);
    CHECK(std::memcmp(&gid, &entry.gid, sizeof(gid)) == 0);
    __be16 pkey;
    CHECK(ibv_query_pkey(context, 1, 0, &pkey) == 0);
    CHECK(pkey == htobe16(0xffff));
    CHECK(ibv_query_pkey(context, 1, 1, &pkey) == -1);

    ibv_device_attr attr;
    CHECK(ibv_query_device(context, &attr) == 0);
    CHECK(attr.max_qp_wr == 8192);
    CHECK(attr.phys_port_cnt == 1);
    CHECK(ibv_close_device(context) == 0);
}

TEST_CASE("refuses what the kernel refuses at registration")
{
    ibv_context *context = open_device(0);
    ibv_pd *pd = ibv_alloc_pd(context);
    std::vector<uint8_t> memory(8192);
    auto refused = [&](void *address, size_t length, int access) {
        errno = 0;
        ibv_mr *mr = (ibv_reg_mr)(pd, address, length, access);
        CHECK(mr == nullptr);
        return errno;
    };

    CHECK(refused(memory.data(), 0, 1) == EINVAL);
    CHECK(refused(memory.data(), ~0ULL, 1) == EINVAL);
    CHECK(refused(memory.data(), 8, IBV_ACCESS_REMOTE_WRITE) == EINVAL);
    void *gone = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(refused(gone, 8192, IBV_ACCESS_LOCAL_WRITE) == EFAULT);
    ibv_mr *read_only = (ibv_reg_mr)(pd, gone, 8192, IBV_ACCESS_REMOTE_READ);
    CHECK(read_only != nullptr);
    CHECK(ibv_dereg_mr(read_only) == 0);
    munmap(gone, 8192);
    CHECK(refused(gone, 8192, 0) == EFAULT);
    {
        With limit("ibv.memlock = 4096", "ibv.memlock = -1");
        CHECK(refused(memory.data(), 8192, 1) == ENOMEM);
        ibv_mr *first = (ibv_reg_mr)(pd, memory.data(), 4096, 1);
        REQUIRE(first != nullptr);
        CHECK(refused(memory.data(), 1, 1) == ENOMEM);
        CHECK(ibv_dereg_mr(first) == 0);
    }
    ibv_mr *mr = (ibv_reg_mr)(pd, memory.data(), 8192, 1);
    CHECK(ibv_dealloc_pd(pd) == EBUSY);
    CHECK(ibv_close_device(context) == -1);
    CHECK(ibv_dereg_mr(mr) == 0);
    CHECK(ibv_dealloc_pd(pd) == 0);
    CHECK(ibv_close_device(context) == 0);
}

TEST_CASE("registers the emulated driver's memory as a dma-buf and nothing else")
{
    ibv_context *context = open_device(0);
    ibv_pd *pd = ibv_alloc_pd(context);
    int ours = memfd_create("metrale-emulator", MFD_CLOEXEC);
    int other = memfd_create("another", MFD_CLOEXEC);
    REQUIRE(ftruncate(ours, 65536) == 0);
    REQUIRE(ftruncate(other, 65536) == 0);

    ibv_mr *mr = ibv_reg_dmabuf_mr(pd, 4096, 8192, 0x7000, ours, kAll);
    REQUIRE(mr != nullptr);
    CHECK(ibv_dereg_mr(mr) == 0);
    CHECK(ibv_reg_dmabuf_mr(pd, 4096, 8192, 0x7001, ours, kAll) == nullptr);
    CHECK(errno == EINVAL);
    CHECK(ibv_reg_dmabuf_mr(pd, 4096, 65536, 0x7000, ours, kAll) == nullptr);
    CHECK(errno == EINVAL);
    CHECK(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, other, kAll) == nullptr);
    CHECK(errno == EINVAL);
    CHECK(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 9999, kAll) == nullptr);
    CHECK(errno == EBADF);
    close(ours);
    close(other);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
}

TEST_CASE("keeps to its limits")
{
    End end;
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = end.cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {8193, 1, 1, 1, 0};
    CHECK(ibv_create_qp(end.pd, &init) == nullptr);
    CHECK(errno == EINVAL);
    init.cap = {1, 1, 31, 1, 0};
    CHECK(ibv_create_qp(end.pd, &init) == nullptr);
    init.cap = {1, 1, 1, 1, 0};
    init.qp_type = IBV_QPT_UD;
    CHECK(ibv_create_qp(end.pd, &init) == nullptr);
    CHECK(errno == EOPNOTSUPP);
    CHECK(ibv_create_cq(end.context, 4194304, nullptr, nullptr, 0) == nullptr);
    CHECK(errno == EINVAL);
    CHECK(ibv_create_cq(end.context, 16, nullptr, nullptr, 4) == nullptr);
    CHECK(ibv_destroy_cq(end.cq) == EBUSY);
}

TEST_CASE("goes through the states only as the kernel allows")
{
    End a;
    End b;
    CHECK(a.to(IBV_QPS_RTR) == EINVAL);
    CHECK(a.to(IBV_QPS_INIT) == EINVAL);
    CHECK(a.to_init() == 0);
    CHECK(a.to_init() == 0);
    CHECK(a.to_send() == EINVAL);
    CHECK(a.state() == IBV_QPS_INIT);
    CHECK(b.to_init() == 0);
    Address to = b.address();

    a.settings.gid_index = 6;
    CHECK(a.to_receive(to) == EINVAL);
    a.settings.gid_index = 3;
    Address without = to;
    without.lid = 5;
    CHECK(a.to_receive(without) == EINVAL);
    {
        With small("ibv.0.mtu = 1024", "ibv.0.mtu = 4096");
        CHECK(a.to_receive(to) == EINVAL);
    }
    CHECK(a.to_receive(to) == 0);
    CHECK(a.transfer(1, IBV_WR_RDMA_WRITE, to, 0, 8, 0) == EINVAL);
    CHECK(a.to_send() == 0);
    CHECK(a.state() == IBV_QPS_RTS);
    CHECK(a.to_init() == EINVAL);
    CHECK(a.to(IBV_QPS_ERR) == 0);
    CHECK(a.to_send() == EINVAL);
    CHECK(a.to(IBV_QPS_RESET) == 0);
    CHECK(a.transfer(1, IBV_WR_RDMA_WRITE, to, 0, 8, 0) == EINVAL);
    CHECK(a.connect(to) == 0);
}

TEST_CASE("answers with a code where the configuration says so")
{
    ibv_context *context = open_device(0);
    {
        With denied("fault = ibverbs.ibv_alloc_pd code=12\nfault = ibverbs.ibv_open_device code=13",
                    "");
        CHECK(ibv_alloc_pd(context) == nullptr);
        CHECK(errno == ENOMEM);
        CHECK(open_device(0) == nullptr);
        CHECK(errno == EACCES);
    }
    ibv_pd *pd = ibv_alloc_pd(context);
    CHECK(pd != nullptr);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
}

TEST_CASE("raises events when links and addresses change")
{
    End end;
    CHECK(end.next_event(0) == -1);
    {
        With down("ibv.0.state = down", "ibv.0.state = active");
        CHECK(end.next_event() == IBV_EVENT_PORT_ERR);
        ibv_port_attr port;
        CHECK(ibv_query_port(end.context, 1, &port) == 0);
        CHECK(port.state == IBV_PORT_DOWN);
    }
    CHECK(end.next_event() == IBV_EVENT_PORT_ACTIVE);
    {
        With moved("ibv.0.gids = v2 10.9.9.9, -, v2 fe80::1", "ibv.0.gids = v2 10.20.0.1");
        CHECK(end.next_event() == IBV_EVENT_GID_CHANGE);
        ibv_gid_entry entries[3];
        CHECK(ibv_query_gid_table(end.context, entries, 3, 0) == 2);
        ibv_gid_entry entry;
        CHECK(ibv_query_gid_ex(end.context, 1, 1, &entry, 0) == ENODATA);
    }
    CHECK(end.next_event() == IBV_EVENT_GID_CHANGE);
    metrale_emulator_ibverbs_configure(
        "ibv.0.gids = v1 fe80::a00:27ff:fe00:1 3, v2 fe80::a00:27ff:fe00:1 3, v1 10.20.0.1 3, "
        "v2 10.20.0.1 3, v1 fd00:20:0::1 3, v2 fd00:20:0::1 3");
    CHECK(end.next_event() == IBV_EVENT_GID_CHANGE);
    CHECK(end.next_event(0) == -1);
}
