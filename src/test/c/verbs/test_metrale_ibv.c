/* Tests of the shim over the scripted library. Each runs by its own name. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_ibverbs.h"
#include "metrale_ibv.h"

static int checks;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CHECK_IS(actual, expected)                                                                 \
    do {                                                                                           \
        long long a_ = (long long)(actual), e_ = (long long)(expected);                            \
        checks++;                                                                                  \
        if (a_ != e_) {                                                                            \
            fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #actual, a_, \
                    e_);                                                                           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Each call below is tried with each way in which libraries say no. */
#define CHECK_FAILURES(call)                                                                       \
    do {                                                                                           \
        fake.rc = ENODEV, fake.set_errno = 0;                                                      \
        CHECK_IS(call, -ENODEV);                                                                   \
        fake.rc = -1, fake.set_errno = EACCES;                                                     \
        CHECK_IS(call, -EACCES);                                                                   \
        fake.rc = -1, fake.set_errno = 0;                                                          \
        CHECK_IS(call, -EIO);                                                                      \
        fake.rc = -EBUSY, fake.set_errno = EACCES;                                                 \
        CHECK_IS(call, -EBUSY);                                                                    \
        fake.rc = 0, fake.set_errno = 0;                                                           \
    } while (0)

#define CHECK_NULL_FAILURES(call)                                                                  \
    do {                                                                                           \
        fake.rc = 1, fake.set_errno = ENOMEM;                                                      \
        CHECK_IS(call, -ENOMEM);                                                                   \
        fake.rc = 1, fake.set_errno = 0;                                                           \
        CHECK_IS(call, -EIO);                                                                      \
        fake.rc = 0, fake.set_errno = 0;                                                           \
    } while (0)

static void lists_devices(void)
{
    struct metrale_ibv_device described;
    struct ibv_device *device = NULL;
    uint64_t list = 0;

    CHECK_IS(metrale_ibv_get_device_list(&list), 2);
    CHECK_IS(metrale_ibv_device_at(list, 1, &device), 0);
    CHECK(device == &fake.devices[1]);
    CHECK_IS(metrale_ibv_device_at(list, 2, &device), -EINVAL);
    CHECK_IS(metrale_ibv_device_at(list, 100, &device), -EINVAL);
    CHECK_IS(metrale_ibv_device_at(list, -1, &device), -EINVAL);
    CHECK(device == &fake.devices[1]);

    CHECK_IS(metrale_ibv_describe_device(device, &described), 0);
    CHECK(described.guid == 0x0102030405060701);
    CHECK_IS(described.node_type, METRALE_IBV_NODE_CA);
    CHECK_IS(described.transport_type, METRALE_IBV_TRANSPORT_IB);
    CHECK(strcmp(described.name, "fake_1") == 0);

    memset(device->name, 'x', sizeof(device->name));
    CHECK_IS(metrale_ibv_describe_device(device, &described), 0);
    CHECK_IS(strlen(described.name), METRALE_IBV_NAME_BYTES - 1);

    fake.device_index = 9;
    CHECK_IS(metrale_ibv_get_device_index(device), 9);
    fake.device_index = -1;
    CHECK_IS(metrale_ibv_get_device_index(device), -ENODATA);
    CHECK_IS(metrale_ibv_free_device_list(list), 0);

    list = 5;
    CHECK_NULL_FAILURES(metrale_ibv_get_device_list(&list));
    CHECK_IS(list, 5);
}

static void opens_and_closes(void)
{
    struct ibv_context *context = NULL;
    struct ibv_device *device = NULL;

    CHECK_NULL_FAILURES(metrale_ibv_open_device(&fake.devices[0], &context));
    CHECK(context == NULL);
    CHECK_IS(metrale_ibv_open_device(&fake.devices[0], &context), 0);
    CHECK_IS(metrale_ibv_context_device(context, &device), 0);
    CHECK(device == &fake.devices[0]);
    CHECK_IS(metrale_ibv_async_fd(context), 77);
    CHECK_FAILURES(metrale_ibv_close_device(context));
    CHECK_IS(metrale_ibv_close_device(context), 0);
    CHECK_FAILURES(metrale_ibv_fork_init());
    CHECK_IS(metrale_ibv_fork_init(), 0);
    CHECK_IS(metrale_ibv_is_fork_initialized(), 2);
}

static void queries_limits(void)
{
    struct metrale_ibv_device_attr attr;

    memset(fake.device_attr.fw_ver, 'v', sizeof(fake.device_attr.fw_ver));
    fake.device_attr.node_guid = htobe64(0x11);
    fake.device_attr.sys_image_guid = htobe64(0x12);
    fake.device_attr.max_mr_size = UINT64_MAX;
    fake.device_attr.max_qp_wr = 16384;
    fake.device_attr.max_sge = 30;
    fake.device_attr.max_cqe = 4194303;
    fake.device_attr.max_qp_rd_atom = 16;
    fake.device_attr.max_res_rd_atom = 17;
    fake.device_attr.max_qp_init_rd_atom = 18;
    fake.device_attr.max_srq = -3;
    fake.device_attr.max_srq_wr = 32767;
    fake.device_attr.max_srq_sge = 31;
    fake.device_attr.atomic_cap = IBV_ATOMIC_HCA;
    fake.device_attr.phys_port_cnt = 2;
    fake.device_attr.device_cap_flags = 0x80000001;
    CHECK_IS(metrale_ibv_query_device(fake_context(1), &attr), 0);
    CHECK_IS(attr.node_guid, 0x11);
    CHECK_IS(attr.sys_image_guid, 0x12);
    CHECK(attr.max_mr_bytes == UINT64_MAX);
    CHECK_IS(attr.max_qp_wr, 16384);
    CHECK_IS(attr.max_sge, 30);
    CHECK_IS(attr.max_cqe, 4194303);
    CHECK_IS(attr.max_qp_rd_atomic, 16);
    CHECK_IS(attr.max_res_rd_atomic, 17);
    CHECK_IS(attr.max_qp_init_rd_atomic, 18);
    CHECK_IS(attr.max_srq, 0);
    CHECK_IS(attr.max_srq_wr, 32767);
    CHECK_IS(attr.max_srq_sge, 31);
    CHECK_IS(attr.atomic_cap, METRALE_IBV_ATOMIC_HCA);
    CHECK_IS(attr.port_count, 2);
    CHECK_IS(attr.comp_vectors, 3);
    CHECK_IS(attr.device_cap_flags, 0x80000001);
    CHECK_IS(strlen(attr.fw_ver), 63);

    attr.port_count = 99;
    CHECK_FAILURES(metrale_ibv_query_device(fake_context(1), &attr));
    CHECK_IS(attr.port_count, 99);
}

static void queries_ports(void)
{
    struct metrale_ibv_port port;
    int extended;

    fake.port.state = IBV_PORT_ACTIVE;
    fake.port.max_mtu = IBV_MTU_4096;
    fake.port.active_mtu = IBV_MTU_1024;
    fake.port.max_msg_sz = 0x80000000;
    fake.port.gid_tbl_len = 255;
    fake.port.pkey_tbl_len = 128;
    fake.port.lid = 0xfffe;
    fake.port.sm_lid = 7;
    fake.port.active_width = 2;
    fake.port.active_speed = 64;
    fake.port.phys_state = 5;
    fake.port.link_layer = IBV_LINK_LAYER_ETHERNET;
    fake.port.flags = 1;
    for (extended = 0; extended <= 1; extended++) {
        memset(&port, 0xaa, sizeof(port));
        CHECK_IS(metrale_ibv_query_port(fake_context(extended), 1, &port), 0);
        CHECK(strcmp(fake.last_call, extended ? "query_port" : "ibv_query_port") == 0);
        CHECK_IS(port.state, METRALE_IBV_PORT_ACTIVE);
        CHECK_IS(port.max_mtu, METRALE_IBV_MTU_4096);
        CHECK_IS(port.active_mtu, METRALE_IBV_MTU_1024);
        CHECK_IS(port.max_msg_bytes, 0x80000000);
        CHECK_IS(port.gid_table_length, 255);
        CHECK_IS(port.pkey_table_length, 128);
        CHECK_IS(port.lid, 0xfffe);
        CHECK_IS(port.sm_lid, 7);
        CHECK_IS(port.active_width, 2);
        CHECK_IS(port.active_speed, 64);
        CHECK_IS(port.phys_state, 5);
        CHECK_IS(port.link_layer, METRALE_IBV_LINK_LAYER_ETHERNET);
        CHECK_IS(port.flags, METRALE_IBV_PORT_GRH_REQUIRED);
    }
    CHECK_FAILURES(metrale_ibv_query_port(fake_context(1), 1, &port));
    CHECK_IS(metrale_ibv_query_port(fake_context(1), 0, &port), -EINVAL);
    CHECK_IS(metrale_ibv_query_port(fake_context(1), 256, &port), -EINVAL);
    CHECK_IS(metrale_ibv_query_pkey(fake_context(1), 1, 3), 0xffff);
    CHECK_FAILURES(metrale_ibv_query_pkey(fake_context(1), 1, 3));
    CHECK_IS(metrale_ibv_query_pkey(fake_context(1), 1, 65536), -EINVAL);
}

static void queries_gid_tables(void)
{
    _Alignas(8) struct metrale_ibv_gid_entry entries[4];
    int i;

    fake.gid_count = 3;
    for (i = 0; i < 3; i++) {
        memset(fake.gids[i].gid.raw, i + 1, 16);
        fake.gids[i].gid_index = (uint32_t)i;
        fake.gids[i].port_num = 1;
        fake.gids[i].gid_type = (uint32_t)i;
        fake.gids[i].ndev_ifindex = 40 + (uint32_t)i;
    }
    CHECK_IS(metrale_ibv_query_gid_table(fake_context(1), entries, 4), 3);
    CHECK_IS(entries[2].gid[15], 3);
    CHECK_IS(entries[2].gid_index, 2);
    CHECK_IS(entries[2].gid_type, METRALE_IBV_GID_TYPE_ROCE_V2);
    CHECK_IS(entries[2].ndev_ifindex, 42);
    CHECK_IS(metrale_ibv_query_gid_table(fake_context(1), entries, 2), -EINVAL);
    fake.rc = -EOPNOTSUPP;
    CHECK_IS(metrale_ibv_query_gid_table(fake_context(1), entries, 4), -EOPNOTSUPP);
    fake.rc = 0;

    CHECK_IS(metrale_ibv_query_gid_ex(fake_context(1), 1, 1, &entries[0]), 0);
    CHECK_IS(entries[0].gid_type, METRALE_IBV_GID_TYPE_ROCE_V1);
    CHECK_FAILURES(metrale_ibv_query_gid_ex(fake_context(1), 1, 1, &entries[0]));
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void queries_gids_of_an_old_library(void)
{
    static const char *const folders[] = {"/ports", "/ports/1", "/ports/1/gid_attrs",
                                          "/ports/1/gid_attrs/types", "/ports/1/gid_attrs/ndevs"};
    struct metrale_ibv_gid_entry entry;
    char root[] = "/tmp/metrale_ibv_XXXXXX";
    char path[256];
    size_t i;

    CHECK(mkdtemp(root) != NULL);
    for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", root, folders[i]);
        CHECK_IS(mkdir(path, 0700), 0);
    }
    write_file(root, "ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
    write_file(root, "ports/1/gid_attrs/types/1", "RoCE v2\n");
    write_file(root, "ports/1/gid_attrs/types/2", "something new\n");
    write_file(root, "ports/1/gid_attrs/types/3", "");
    write_file(root, "ports/1/gid_attrs/ndevs/1", "lo\n");
    snprintf(fake.devices[0].ibdev_path, sizeof(fake.devices[0].ibdev_path), "%s", root);
    fake.port.gid_tbl_len = 5;
    fake.port.link_layer = IBV_LINK_LAYER_ETHERNET;
    fake.plain_gid.raw[15] = 9;

    CHECK_IS(metrale_ibv_query_gid(fake_context(0), 1, 0, &entry), 0);
    CHECK_IS(entry.gid_type, METRALE_IBV_GID_TYPE_ROCE_V1);
    CHECK_IS(entry.ndev_ifindex, 0);
    CHECK_IS(metrale_ibv_query_gid(fake_context(0), 1, 1, &entry), 0);
    CHECK_IS(entry.gid[15], 9);
    CHECK_IS(entry.gid_index, 1);
    CHECK_IS(entry.port_num, 1);
    CHECK_IS(entry.gid_type, METRALE_IBV_GID_TYPE_ROCE_V2);
    CHECK_IS(entry.ndev_ifindex, 1);
    for (i = 2; i < 5; i++) {
        CHECK_IS(metrale_ibv_query_gid(fake_context(0), 1, (uint32_t)i, &entry), 0);
        CHECK_IS(entry.gid_type, METRALE_IBV_GID_TYPE_UNKNOWN);
    }
    CHECK_IS(metrale_ibv_query_gid(fake_context(0), 1, 5, &entry), -EINVAL);
    fake.port.link_layer = IBV_LINK_LAYER_INFINIBAND;
    CHECK_IS(metrale_ibv_query_gid(fake_context(0), 1, 0, &entry), 0);
    CHECK_IS(entry.gid_type, METRALE_IBV_GID_TYPE_IB);
    fake.plain_gid.raw[15] = 0;
    CHECK_IS(metrale_ibv_query_gid(fake_context(0), 1, 0, &entry), -ENODATA);
    CHECK_FAILURES(metrale_ibv_query_gid(fake_context(0), 1, 0, &entry));

    for (i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/ports/1/gid_attrs/types/%zu", root, i);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/ports/1/gid_attrs/ndevs/1", root);
    unlink(path);
    for (i = sizeof(folders) / sizeof(folders[0]); i-- > 0;) {
        snprintf(path, sizeof(path), "%s%s", root, folders[i]);
        rmdir(path);
    }
    CHECK_IS(rmdir(root), 0);
}

static void registers_memory(void)
{
    struct metrale_ibv_mr described;
    struct ibv_mr *mr = NULL;
    struct ibv_pd *pd = NULL;
    uint64_t address = 0x7f0000001000;
    uint64_t length = 6ull << 30;

    CHECK_NULL_FAILURES(metrale_ibv_alloc_pd(fake_context(1), &pd));
    CHECK(pd == NULL);
    CHECK_IS(metrale_ibv_alloc_pd(fake_context(1), &pd), 0);

    CHECK_NULL_FAILURES(metrale_ibv_reg_mr(pd, address, length, 7, &mr));
    CHECK(mr == NULL);
    CHECK_IS(metrale_ibv_reg_mr(pd, address, length, 7, &mr), 0);
    CHECK(strcmp(fake.last_call, "ibv_reg_mr") == 0);
    CHECK(fake.reg_addr == address && fake.reg_length == length && fake.reg_access == 7);
    CHECK_IS(metrale_ibv_reg_mr(pd, address, length, METRALE_IBV_ACCESS_RELAXED_ORDERING | 1, &mr),
             0);
    CHECK(strcmp(fake.last_call, "ibv_reg_mr_iova2") == 0);
    CHECK(fake.reg_iova == address);
    CHECK_IS(metrale_ibv_describe_mr(mr, &described), 0);
    CHECK(described.addr == address && described.length == length);
    CHECK(described.lkey == 0x80000001 && described.rkey == 0xfffffff2);

    CHECK_IS(metrale_ibv_reg_mr(pd, 0, length, 7, &mr), -EINVAL);
    CHECK_IS(metrale_ibv_reg_mr(pd, 0, UINT64_MAX, METRALE_IBV_ACCESS_ON_DEMAND, &mr), 0);

    CHECK_IS(metrale_ibv_reg_dmabuf_mr(pd, 4096, length, 0x5000, 12, 5, &mr), 0);
    CHECK(fake.reg_addr == 4096 && fake.reg_iova == 0x5000 && fake.reg_fd == 12);
    CHECK_NULL_FAILURES(metrale_ibv_reg_dmabuf_mr(pd, 4096, length, 0x5000, 12, 5, &mr));
    CHECK_IS(metrale_ibv_reg_dmabuf_mr(pd, 4096, length, 0x5000, -1, 5, &mr), -EINVAL);

    CHECK_FAILURES(metrale_ibv_dereg_mr(mr));
    CHECK_IS(metrale_ibv_dereg_mr(mr), 0);
    CHECK_FAILURES(metrale_ibv_dealloc_pd(pd));
    CHECK_IS(metrale_ibv_dealloc_pd(pd), 0);
}

static void makes_completion_queues(void)
{
    struct ibv_comp_channel *channel = NULL;
    struct ibv_cq *cq = NULL;
    uint64_t from = 0;

    CHECK_NULL_FAILURES(metrale_ibv_create_comp_channel(fake_context(1), &channel));
    CHECK_IS(metrale_ibv_create_comp_channel(fake_context(1), &channel), 0);
    CHECK_IS(metrale_ibv_comp_channel_fd(channel), 55);
    CHECK_NULL_FAILURES(metrale_ibv_create_cq(fake_context(1), 256, channel, 2, &cq));
    CHECK(cq == NULL);
    CHECK_IS(metrale_ibv_create_cq(fake_context(1), 256, channel, 2, &cq), 0);
    CHECK(fake.cq_entries == 256 && fake.cq_channel == channel && fake.comp_vector == 2);
    CHECK_IS(metrale_ibv_create_cq(fake_context(1), 0, channel, 2, &cq), -EINVAL);
    CHECK_IS(metrale_ibv_create_cq(fake_context(1), 0x80000000, channel, 2, &cq), -EINVAL);
    CHECK_IS(metrale_ibv_create_cq(fake_context(1), 1, NULL, 0, &cq), 0);
    CHECK_IS(metrale_ibv_cq_entries(cq), 511);
    CHECK_IS(metrale_ibv_resize_cq(cq, 1024), 0);
    CHECK_IS(fake.cq_entries, 1024);
    CHECK_FAILURES(metrale_ibv_resize_cq(cq, 1024));

    CHECK_IS(metrale_ibv_req_notify_cq(cq, 2), 0);
    CHECK_IS(fake.solicited_only, 1);
    CHECK_IS(metrale_ibv_req_notify_cq_flat((uint64_t)(uintptr_t)cq, 0), 0);
    CHECK_IS(fake.solicited_only, 0);
    CHECK_FAILURES(metrale_ibv_req_notify_cq(cq, 0));

    CHECK_IS(metrale_ibv_get_cq_event(channel, &from), 0);
    CHECK(from == (uint64_t)(uintptr_t)cq);
    from = 3;
    CHECK_FAILURES(metrale_ibv_get_cq_event(channel, &from));
    CHECK_IS(from, 3);
    CHECK_IS(metrale_ibv_ack_cq_events(cq, 5), 0);
    CHECK_IS(metrale_ibv_ack_cq_events(cq, 0), 0);
    CHECK_IS(fake.acked, 5);

    CHECK_FAILURES(metrale_ibv_destroy_cq(cq));
    CHECK_IS(metrale_ibv_destroy_cq(cq), 0);
    CHECK_FAILURES(metrale_ibv_destroy_comp_channel(channel));
    CHECK_IS(metrale_ibv_destroy_comp_channel(channel), 0);
}

static void polls(void)
{
    _Alignas(8) char room[2 * sizeof(struct metrale_ibv_wc) + 8];
    struct metrale_ibv_wc *wc = (struct metrale_ibv_wc *)room;

    CHECK_IS(metrale_ibv_poll_cq(&fake.cq, wc, 2), 0);
    fake.poll_count = 3;
    fake.poll_wc[0].wr_id = 0xfedcba9876543210;
    fake.poll_wc[0].status = IBV_WC_REM_ACCESS_ERR;
    fake.poll_wc[0].vendor_err = 0x88;
    fake.poll_wc[0].qp_num = 0x11;
    fake.poll_wc[0].imm_data = htobe32(0x01020304);
    fake.poll_wc[1].opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    fake.poll_wc[1].wc_flags = IBV_WC_WITH_IMM;
    fake.poll_wc[1].imm_data = htobe32(0x01020304);
    fake.poll_wc[1].byte_len = 4096;
    CHECK_IS(metrale_ibv_poll_cq_flat((uint64_t)(uintptr_t)&fake.cq, (uint64_t)(uintptr_t)wc, 2),
             2);
    CHECK(wc[0].wr_id == 0xfedcba9876543210);
    CHECK_IS(wc[0].status, METRALE_IBV_WC_REM_ACCESS_ERR);
    CHECK_IS(wc[0].vendor_err, 0x88);
    CHECK_IS(wc[0].qp_num, 0x11);
    CHECK_IS(wc[0].imm, htobe32(0x01020304));
    CHECK_IS(wc[1].opcode, METRALE_IBV_WC_RECV_RDMA_WITH_IMM);
    CHECK_IS(wc[1].imm, 0x01020304);
    CHECK_IS(wc[1].byte_len, 4096);

    /* A provider's own codes are no errno. */
    fake.rc = -2;
    CHECK_IS(metrale_ibv_poll_cq(&fake.cq, wc, 2), -EIO);
    fake.set_errno = ENODEV;
    CHECK_IS(metrale_ibv_poll_cq(&fake.cq, wc, 2), -ENODEV);
    CHECK_IS(metrale_ibv_poll_cq(&fake.cq, (struct metrale_ibv_wc *)(void *)(room + 4), 1),
             -EINVAL);
}

static void makes_queue_pairs(void)
{
    struct metrale_ibv_qp_init init = {.max_send_wr = 256,
                                       .max_recv_wr = 16,
                                       .max_send_sge = 1,
                                       .max_recv_sge = 2,
                                       .qp_type = METRALE_IBV_QPT_RC,
                                       .sq_sig_all = 5};
    struct ibv_qp *qp = NULL;
    struct ibv_cq other;

    CHECK_NULL_FAILURES(metrale_ibv_create_qp(&fake.pd, &fake.cq, &other, NULL, &init, &qp));
    CHECK(qp == NULL && init.max_send_wr == 256);
    CHECK_IS(metrale_ibv_create_qp(&fake.pd, &fake.cq, &other, NULL, &init, &qp), 0);
    CHECK(fake.created.send_cq == &fake.cq && fake.created.recv_cq == &other);
    CHECK_IS(fake.created.qp_type, IBV_QPT_RC);
    CHECK_IS(fake.created.sq_sig_all, 1);
    CHECK_IS(fake.created.cap.max_recv_wr, 16);
    CHECK_IS(fake.created.cap.max_recv_sge, 2);
    CHECK_IS(init.max_send_wr, 263);
    CHECK_IS(init.max_inline_bytes, 220);
    CHECK_IS(metrale_ibv_qp_num(qp), 0x123456);
    init.qp_type = 4;
    CHECK_IS(metrale_ibv_create_qp(&fake.pd, &fake.cq, &other, NULL, &init, &qp), -EOPNOTSUPP);
    CHECK(fake.created.srq == NULL);
    init.qp_type = METRALE_IBV_QPT_RC;
    CHECK_IS(metrale_ibv_create_qp(&fake.pd, &fake.cq, &other, &fake.srq, &init, &qp), 0);
    CHECK(fake.created.srq == &fake.srq);
    CHECK_FAILURES(metrale_ibv_destroy_qp(qp));
    CHECK_IS(metrale_ibv_destroy_qp(qp), 0);
}

static void makes_shared_receive_queues(void)
{
    struct metrale_ibv_srq_attr attr = {.max_wr = 100, .max_sge = 2, .srq_limit = 9};
    struct ibv_srq *srq = NULL;

    CHECK_NULL_FAILURES(metrale_ibv_create_srq(&fake.pd, 7, &attr, &srq));
    CHECK(srq == NULL && attr.max_wr == 100);
    CHECK_IS(metrale_ibv_create_srq(&fake.pd, 7, &attr, &srq), 0);
    CHECK(srq == &fake.srq);
    CHECK(fake.created_srq.srq_context == (void *)7);
    CHECK_IS(fake.created_srq.attr.max_wr, 100);
    CHECK_IS(fake.created_srq.attr.max_sge, 2);
    CHECK_IS(fake.created_srq.attr.srq_limit, 0);
    CHECK_IS(attr.max_wr, 103);
    CHECK_IS(attr.max_sge, 3);

    attr.srq_limit = 5;
    CHECK_IS(metrale_ibv_modify_srq(srq, &attr, METRALE_IBV_SRQ_LIMIT), 0);
    CHECK_IS(fake.modify_mask, IBV_SRQ_LIMIT);
    CHECK_IS(fake.modified_srq.srq_limit, 5);
    attr.max_wr = 50;
    CHECK_IS(metrale_ibv_modify_srq(srq, &attr, METRALE_IBV_SRQ_MAX_WR), 0);
    CHECK_IS(fake.modify_mask, IBV_SRQ_MAX_WR);
    CHECK_IS(fake.modified_srq.max_wr, 50);
    CHECK_IS(metrale_ibv_modify_srq(srq, &attr, 4), -EINVAL);
    CHECK_FAILURES(metrale_ibv_modify_srq(srq, &attr, METRALE_IBV_SRQ_LIMIT));

    fake.queried_srq.max_wr = 31;
    fake.queried_srq.max_sge = 32;
    fake.queried_srq.srq_limit = 33;
    CHECK_IS(metrale_ibv_query_srq(srq, &attr), 0);
    CHECK_IS(attr.max_wr, 31);
    CHECK_IS(attr.max_sge, 32);
    CHECK_IS(attr.srq_limit, 33);
    attr.max_wr = 99;
    CHECK_FAILURES(metrale_ibv_query_srq(srq, &attr));
    CHECK_IS(attr.max_wr, 99);
    CHECK_FAILURES(metrale_ibv_destroy_srq(srq));
    CHECK_IS(metrale_ibv_destroy_srq(srq), 0);
}

static struct metrale_ibv_qp_attr good_attributes(void)
{
    struct metrale_ibv_qp_attr attr = {.qp_state = METRALE_IBV_QPS_RTR,
                                       .path_mtu = METRALE_IBV_MTU_4096,
                                       .rq_psn = 0xffffff,
                                       .sq_psn = 0xfffffe,
                                       .dest_qp_num = 0xfffffd,
                                       .access_flags = 7,
                                       .pkey_index = 4,
                                       .port_num = 2,
                                       .max_rd_atomic = 15,
                                       .max_dest_rd_atomic = 14,
                                       .min_rnr_timer = 12,
                                       .timeout = 13,
                                       .retry_cnt = 6,
                                       .rnr_retry = 5,
                                       .is_global = 1,
                                       .sgid_index = 255,
                                       .flow_label = 0xabcde,
                                       .hop_limit = 64,
                                       .traffic_class = 106,
                                       .dlid = 0xbeef,
                                       .service_level = 3,
                                       .src_path_bits = 1,
                                       .static_rate = 9};
    memset(attr.dgid, 0x5a, sizeof(attr.dgid));
    return attr;
}

static void modifies_queue_pairs(void)
{
    struct metrale_ibv_qp_attr attr = good_attributes();

    CHECK_IS(metrale_ibv_modify_qp(&fake.qp, &attr, METRALE_IBV_QP_TO_RTR), 0);
    CHECK_IS(fake.modify_mask, METRALE_IBV_QP_TO_RTR);
    CHECK_IS(fake.modified.qp_state, IBV_QPS_RTR);
    CHECK_IS(fake.modified.path_mtu, IBV_MTU_4096);
    CHECK_IS(fake.modified.rq_psn, 0xffffff);
    CHECK_IS(fake.modified.sq_psn, 0xfffffe);
    CHECK_IS(fake.modified.dest_qp_num, 0xfffffd);
    CHECK_IS(fake.modified.qp_access_flags, 7);
    CHECK_IS(fake.modified.pkey_index, 4);
    CHECK_IS(fake.modified.port_num, 2);
    CHECK_IS(fake.modified.max_rd_atomic, 15);
    CHECK_IS(fake.modified.max_dest_rd_atomic, 14);
    CHECK_IS(fake.modified.min_rnr_timer, 12);
    CHECK_IS(fake.modified.timeout, 13);
    CHECK_IS(fake.modified.retry_cnt, 6);
    CHECK_IS(fake.modified.rnr_retry, 5);
    CHECK_IS(fake.modified.ah_attr.is_global, 1);
    CHECK_IS(fake.modified.ah_attr.port_num, 2);
    CHECK_IS(fake.modified.ah_attr.grh.dgid.raw[15], 0x5a);
    CHECK_IS(fake.modified.ah_attr.grh.sgid_index, 255);
    CHECK_IS(fake.modified.ah_attr.grh.flow_label, 0xabcde);
    CHECK_IS(fake.modified.ah_attr.grh.hop_limit, 64);
    CHECK_IS(fake.modified.ah_attr.grh.traffic_class, 106);
    CHECK_IS(fake.modified.ah_attr.dlid, 0xbeef);
    CHECK_IS(fake.modified.ah_attr.sl, 3);
    CHECK_IS(fake.modified.ah_attr.src_path_bits, 1);
    CHECK_IS(fake.modified.ah_attr.static_rate, 9);

    /* InfiniBand inside a subnet: no global route. */
    attr.is_global = 0;
    CHECK_IS(metrale_ibv_modify_qp(&fake.qp, &attr, METRALE_IBV_QP_TO_RTR), 0);
    CHECK_IS(fake.modified.ah_attr.is_global, 0);
    CHECK_IS(fake.modified.ah_attr.grh.hop_limit, 0);
    CHECK_IS(fake.modified.ah_attr.dlid, 0xbeef);

    CHECK_FAILURES(metrale_ibv_modify_qp(&fake.qp, &attr, METRALE_IBV_QP_TO_RTS));
    CHECK_IS(metrale_ibv_modify_qp(&fake.qp, &attr, 1u << 25), -EINVAL);
}

/* The largest value that fits each field, one more, and where that must be refused. */
static void refuses_attributes_that_do_not_fit(void)
{
    static const struct {
        size_t offset;
        uint32_t largest;
        uint32_t mask;
    } fields[] = {
#define FIELD(name, largest, mask) {offsetof(struct metrale_ibv_qp_attr, name), largest, mask}
        FIELD(qp_state, 6, METRALE_IBV_QP_STATE),
        FIELD(cur_qp_state, 6, METRALE_IBV_QP_CUR_STATE),
        FIELD(path_mtu, 5, METRALE_IBV_QP_PATH_MTU),
        FIELD(rq_psn, 0xffffff, METRALE_IBV_QP_RQ_PSN),
        FIELD(sq_psn, 0xffffff, METRALE_IBV_QP_SQ_PSN),
        FIELD(dest_qp_num, 0xffffff, METRALE_IBV_QP_DEST_QPN),
        FIELD(pkey_index, 65535, METRALE_IBV_QP_PKEY_INDEX),
        FIELD(port_num, 255, METRALE_IBV_QP_PORT),
        FIELD(port_num, 255, METRALE_IBV_QP_AV),
        FIELD(max_rd_atomic, 255, METRALE_IBV_QP_MAX_QP_RD_ATOMIC),
        FIELD(max_dest_rd_atomic, 255, METRALE_IBV_QP_MAX_DEST_RD_ATOMIC),
        FIELD(min_rnr_timer, 31, METRALE_IBV_QP_MIN_RNR_TIMER),
        FIELD(timeout, 31, METRALE_IBV_QP_TIMEOUT),
        FIELD(retry_cnt, 7, METRALE_IBV_QP_RETRY_CNT),
        FIELD(rnr_retry, 7, METRALE_IBV_QP_RNR_RETRY),
        FIELD(is_global, 1, METRALE_IBV_QP_AV),
        FIELD(sgid_index, 255, METRALE_IBV_QP_AV),
        FIELD(flow_label, 0xfffff, METRALE_IBV_QP_AV),
        FIELD(hop_limit, 255, METRALE_IBV_QP_AV),
        FIELD(traffic_class, 255, METRALE_IBV_QP_AV),
        FIELD(dlid, 65535, METRALE_IBV_QP_AV),
        FIELD(service_level, 15, METRALE_IBV_QP_AV),
        FIELD(src_path_bits, 127, METRALE_IBV_QP_AV),
        FIELD(static_rate, 255, METRALE_IBV_QP_AV),
#undef FIELD
    };
    struct metrale_ibv_qp_attr attr;
    uint32_t value;
    size_t i;

    for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        attr = good_attributes();
        value = fields[i].largest;
        memcpy((char *)&attr + fields[i].offset, &value, sizeof(value));
        CHECK_IS(metrale_ibv_modify_qp(&fake.qp, &attr, fields[i].mask), 0);
        value++;
        memcpy((char *)&attr + fields[i].offset, &value, sizeof(value));
        fake.calls = 0;
        CHECK_IS(metrale_ibv_modify_qp(&fake.qp, &attr, fields[i].mask), -EINVAL);
        CHECK_IS(fake.calls, 0);
        /* A field that is not asked for does not count. */
        CHECK_IS(metrale_ibv_modify_qp(&fake.qp, &attr, METRALE_IBV_QP_ACCESS_FLAGS), 0);
    }
    attr = good_attributes();
    attr.port_num = 0;
    CHECK_IS(metrale_ibv_modify_qp(&fake.qp, &attr, METRALE_IBV_QP_PORT), -EINVAL);
    CHECK_IS(metrale_ibv_modify_qp(&fake.qp, &attr, METRALE_IBV_QP_AV), -EINVAL);
    attr.path_mtu = 0;
    CHECK_IS(metrale_ibv_modify_qp(&fake.qp, &attr, METRALE_IBV_QP_PATH_MTU), -EINVAL);
}

static void queries_queue_pairs(void)
{
    struct metrale_ibv_qp_init init;
    struct metrale_ibv_qp_attr attr;

    fake.queried.qp_state = IBV_QPS_ERR;
    fake.queried.path_mtu = IBV_MTU_2048;
    fake.queried.dest_qp_num = 77;
    fake.queried.rq_psn = 78;
    fake.queried.sq_psn = 79;
    fake.queried.timeout = 14;
    fake.queried.retry_cnt = 7;
    fake.queried.port_num = 1;
    fake.queried.ah_attr.is_global = 1;
    fake.queried.ah_attr.grh.sgid_index = 3;
    fake.queried.ah_attr.grh.traffic_class = 96;
    fake.queried.ah_attr.grh.dgid.raw[0] = 0xfe;
    fake.queried.ah_attr.dlid = 12;
    fake.queried.cap.max_send_wr = 127;
    fake.queried.cap.max_inline_data = 64;
    CHECK_IS(metrale_ibv_query_qp(&fake.qp, &attr, &init), 0);
    CHECK_IS(attr.qp_state, METRALE_IBV_QPS_ERR);
    CHECK_IS(attr.path_mtu, METRALE_IBV_MTU_2048);
    CHECK_IS(attr.dest_qp_num, 77);
    CHECK_IS(attr.rq_psn, 78);
    CHECK_IS(attr.sq_psn, 79);
    CHECK_IS(attr.timeout, 14);
    CHECK_IS(attr.retry_cnt, 7);
    CHECK_IS(attr.port_num, 1);
    CHECK_IS(attr.is_global, 1);
    CHECK_IS(attr.sgid_index, 3);
    CHECK_IS(attr.traffic_class, 96);
    CHECK_IS(attr.dgid[0], 0xfe);
    CHECK_IS(attr.dlid, 12);
    CHECK_IS(init.max_send_wr, 127);
    CHECK_IS(init.max_inline_bytes, 64);
    CHECK_IS(init.qp_type, METRALE_IBV_QPT_RC);
    CHECK_IS(init.sq_sig_all, 1);
    CHECK((fake.modify_mask & IBV_QP_CAP) != 0);
    CHECK_FAILURES(metrale_ibv_query_qp(&fake.qp, &attr, &init));
}

static void posts_batches(void)
{
    static struct metrale_ibv_send_wr requests[150];
    uint32_t accepted = 0;
    int i;

    for (i = 0; i < 150; i++) {
        requests[i] = (struct metrale_ibv_send_wr){.wr_id = 1000 + (uint64_t)i,
                                                   .local_addr = 0x10000 + (uint64_t)i,
                                                   .remote_addr = 0x20000 + (uint64_t)i,
                                                   .length = 4096,
                                                   .lkey = 21,
                                                   .rkey = 22,
                                                   .opcode = METRALE_IBV_WR_RDMA_READ,
                                                   .flags = METRALE_IBV_SEND_SIGNALED};
    }
    CHECK_IS(metrale_ibv_post_send(&fake.qp, requests, 150, &accepted), 150);
    CHECK_IS(accepted, 150);
    CHECK_IS(fake.doorbells, 3);
    for (i = 0; i < 150; i++) {
        CHECK_IS(fake.sent[i].wr_id, 1000 + i);
        CHECK_IS(fake.sent[i].opcode, IBV_WR_RDMA_READ);
        CHECK_IS(fake.sent[i].send_flags, IBV_SEND_SIGNALED);
        CHECK_IS(fake.sent[i].num_sge, 1);
        CHECK_IS(fake.sent[i].wr.rdma.remote_addr, 0x20000 + i);
        CHECK_IS(fake.sent[i].wr.rdma.rkey, 22);
        CHECK_IS(fake.sent_sge[i].addr, 0x10000 + i);
        CHECK_IS(fake.sent_sge[i].length, 4096);
        CHECK_IS(fake.sent_sge[i].lkey, 21);
    }
    CHECK_IS(metrale_ibv_post_send(&fake.qp, requests, 0, &accepted), 0);
    CHECK_IS(accepted, 0);
    CHECK_IS(fake.doorbells, 3);
}

static void posts_each_opcode(void)
{
    struct metrale_ibv_send_wr request = {.wr_id = 1,
                                          .local_addr = 2,
                                          .remote_addr = 3,
                                          .compare_add = 4,
                                          .swap = 5,
                                          .rkey = 6,
                                          .length = 8,
                                          .imm = 0x01020304};
    uint64_t flat = (uint64_t)(uintptr_t)&request;
    uint64_t qp = (uint64_t)(uintptr_t)&fake.qp;
    uint32_t opcode;

    for (opcode = 0; opcode <= METRALE_IBV_WR_ATOMIC_FETCH_AND_ADD; opcode++) {
        request.opcode = opcode;
        CHECK_IS(metrale_ibv_post_send_flat(qp, flat, 1, 0), 1);
        CHECK_IS(fake.sent[opcode].opcode, opcode);
        CHECK_IS(fake.sent[opcode].imm_data, htobe32(0x01020304));
        if (opcode < METRALE_IBV_WR_ATOMIC_CMP_AND_SWP) {
            CHECK_IS(fake.sent[opcode].wr.rdma.remote_addr, 3);
            CHECK_IS(fake.sent[opcode].wr.rdma.rkey, 6);
        } else {
            CHECK_IS(fake.sent[opcode].wr.atomic.remote_addr, 3);
            CHECK_IS(fake.sent[opcode].wr.atomic.compare_add, 4);
            CHECK_IS(fake.sent[opcode].wr.atomic.swap, 5);
            CHECK_IS(fake.sent[opcode].wr.atomic.rkey, 6);
        }
    }
    request.opcode = opcode;
    CHECK_IS(metrale_ibv_post_send_flat(qp, flat, 1, 0), -EINVAL);
    request.opcode = METRALE_IBV_WR_RDMA_WRITE;
    request.length = 0;
    fake.posted = 0;
    CHECK_IS(metrale_ibv_post_send_flat(qp, flat, 1, 0), 1);
    CHECK_IS(fake.sent[0].num_sge, 0);
}

static void says_how_many_requests_were_taken(void)
{
    static struct metrale_ibv_send_wr requests[100];
    static struct metrale_ibv_recv_wr receives[100];
    uint32_t accepted = 0;

    fake.refuse_at = 3;
    fake.refuse_rc = ENOMEM;
    CHECK_IS(metrale_ibv_post_send(&fake.qp, requests, 10, &accepted), -ENOMEM);
    CHECK_IS(accepted, 3);
    CHECK_IS(metrale_ibv_post_recv(&fake.qp, receives, 10, &accepted), -ENOMEM);
    CHECK_IS(accepted, 3);
    fake.refuse_at = 63;
    CHECK_IS(metrale_ibv_post_send(&fake.qp, requests, 100, &accepted), -ENOMEM);
    CHECK_IS(accepted, 63);

    /* A provider that does not say which one may have taken all of that doorbell. */
    fake.refuse_at = 3;
    fake.refuse_without_bad = 1;
    fake.refuse_rc = ENODEV;
    CHECK_IS(metrale_ibv_post_send(&fake.qp, requests, 10, &accepted), -ENODEV);
    CHECK_IS(accepted, 10);
    CHECK_IS(metrale_ibv_post_send(&fake.qp, requests, 100, &accepted), -ENODEV);
    CHECK_IS(accepted, 64);
    CHECK_IS(metrale_ibv_post_recv(&fake.qp, receives, 10, &accepted), -ENODEV);
    CHECK_IS(accepted, 10);
    /* A full queue is said at its request; this is something else. */
    fake.refuse_rc = ENOMEM;
    CHECK_IS(metrale_ibv_post_send(&fake.qp, requests, 10, &accepted), -EIO);
    CHECK_IS(accepted, 10);

    /* An opcode that is none stops the batch at its place; what came before is posted. */
    fake.refuse_at = -1;
    fake.posted = 0;
    requests[70].opcode = METRALE_IBV_WR_ATOMIC_FETCH_AND_ADD + 1;
    CHECK_IS(metrale_ibv_post_send_flat((uint64_t)(uintptr_t)&fake.qp,
                                        (uint64_t)(uintptr_t)requests, 100,
                                        (uint64_t)(uintptr_t)&accepted),
             -EINVAL);
    CHECK_IS(accepted, 70);
    CHECK_IS(fake.posted, 70);
}

static void posts_receives(void)
{
    static struct metrale_ibv_recv_wr receives[70];
    uint32_t accepted = 0;
    int i;

    for (i = 0; i < 70; i++)
        receives[i] = (struct metrale_ibv_recv_wr){
            .wr_id = (uint64_t)i, .local_addr = 0x100, .length = (uint32_t)i, .lkey = 5};
    CHECK_IS(metrale_ibv_post_recv(&fake.qp, receives, 70, &accepted), 70);
    CHECK_IS(accepted, 70);
    CHECK_IS(fake.doorbells, 2);
    CHECK_IS(fake.received[0].num_sge, 0);
    CHECK_IS(fake.received[69].num_sge, 1);
    CHECK_IS(fake.received[69].wr_id, 69);
    CHECK_IS(fake.received_sge[69].length, 69);
    CHECK_IS(fake.received_sge[69].addr, 0x100);
    CHECK_IS(metrale_ibv_post_recv_flat((uint64_t)(uintptr_t)&fake.qp,
                                        (uint64_t)(uintptr_t)receives, 2, 0),
             2);
}

static uint64_t number(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Writes the links of requests as a caller does once. */
static void link_all(unsigned char *room, uint32_t count, uint32_t bytes)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        unsigned char *at = room + (size_t)i * bytes;
        uint64_t next = number(at + bytes);
        uint64_t part = next - METRALE_IBV_LINKED_PART_BYTES;

        memcpy(at + METRALE_IBV_LINKED_NEXT, &next, sizeof(next));
        memcpy(at + METRALE_IBV_LINKED_PARTS, &part, sizeof(part));
    }
}

static void put(unsigned char *at, uint64_t value, size_t bytes)
{
    uint32_t half = (uint32_t)value;

    memcpy(at, bytes == 4 ? (const void *)&half : (const void *)&value, bytes);
}

static void posts_linked_requests(void)
{
    enum { COUNT = 100, BYTES = METRALE_IBV_LINKED_SEND_BYTES };
    static _Alignas(8) unsigned char room[(COUNT + 1) * BYTES];
    uint64_t qp = number(&fake.qp);
    uint32_t accepted = 0;
    int round;
    int i;

    link_all(room, COUNT, BYTES);
    for (i = 0; i < COUNT; i++) {
        unsigned char *at = room + (size_t)i * BYTES;

        put(at + METRALE_IBV_LINKED_PART_COUNT, 1, 4);
        put(at + METRALE_IBV_LINKED_OPCODE, METRALE_IBV_WR_RDMA_READ, 4);
        put(at + METRALE_IBV_LINKED_FLAGS, METRALE_IBV_SEND_SIGNALED, 4);
        put(at + METRALE_IBV_LINKED_IMM, htobe32(0x01020304), 4);
        put(at + METRALE_IBV_LINKED_REMOTE_ADDR, 0x20000 + (uint64_t)i, 8);
        put(at + METRALE_IBV_LINKED_RKEY, 22, 4);
        put(at + METRALE_IBV_LINKED_SEND_PART, 0x10000 + (uint64_t)i, 8);
        put(at + METRALE_IBV_LINKED_SEND_PART + 8, 4096, 4);
        put(at + METRALE_IBV_LINKED_SEND_PART + 12, 21, 4);
    }
    /* The last one has another opcode, whose fields lie elsewhere. */
    put(room + 99 * BYTES + METRALE_IBV_LINKED_OPCODE, METRALE_IBV_WR_ATOMIC_CMP_AND_SWP, 4);
    put(room + 99 * BYTES + METRALE_IBV_LINKED_COMPARE_ADD, 4, 8);
    put(room + 99 * BYTES + METRALE_IBV_LINKED_SWAP, 5, 8);
    put(room + 99 * BYTES + METRALE_IBV_LINKED_ATOMIC_RKEY, 6, 4);

    for (round = 0; round < 2; round++) {
        fake.posted = 0;
        CHECK_IS(metrale_ibv_post_send_linked(qp, number(room), COUNT, 1000, 3, number(&accepted)),
                 COUNT);
        CHECK_IS(accepted, COUNT);
        CHECK_IS(fake.posted, COUNT);
        CHECK_IS(fake.doorbells, round + 1);
        for (i = 0; i < COUNT; i++) {
            CHECK_IS(fake.sent[i].wr_id, 1000 + 3 * i);
            CHECK_IS(fake.sent[i].send_flags, IBV_SEND_SIGNALED);
            CHECK_IS(fake.sent[i].imm_data, htobe32(0x01020304));
            CHECK_IS(fake.sent[i].num_sge, 1);
            CHECK_IS(fake.sent[i].wr.rdma.remote_addr, 0x20000 + i);
            CHECK_IS(fake.sent_sge[i].addr, 0x10000 + i);
            CHECK_IS(fake.sent_sge[i].length, 4096);
            CHECK_IS(fake.sent_sge[i].lkey, 21);
        }
        CHECK_IS(fake.sent[98].opcode, IBV_WR_RDMA_READ);
        CHECK_IS(fake.sent[98].wr.rdma.rkey, 22);
        CHECK_IS(fake.sent[99].opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
        CHECK_IS(fake.sent[99].wr.atomic.compare_add, 4);
        CHECK_IS(fake.sent[99].wr.atomic.swap, 5);
        CHECK_IS(fake.sent[99].wr.atomic.rkey, 6);
    }

    /* No more than was asked for, whatever the memory behind it names. */
    fake.posted = 0;
    CHECK_IS(metrale_ibv_post_send_linked(qp, number(room), 7, 0, 1, number(&accepted)), 7);
    CHECK_IS(accepted, 7);
    CHECK_IS(fake.posted, 7);
    accepted = 9;
    CHECK_IS(metrale_ibv_post_send_linked(qp, number(room), 0, 0, 1, number(&accepted)), 0);
    CHECK_IS(accepted, 0);
    CHECK_IS(fake.doorbells, 3);
}

static void posts_linked_receives(void)
{
    enum { COUNT = 70, BYTES = METRALE_IBV_LINKED_RECV_BYTES };
    static _Alignas(8) unsigned char room[(COUNT + 1) * BYTES];
    uint32_t accepted = 0;
    int i;

    link_all(room, COUNT, BYTES);
    for (i = 0; i < COUNT; i++) {
        unsigned char *at = room + (size_t)i * BYTES;

        put(at + METRALE_IBV_LINKED_PART_COUNT, i > 0, 4);
        put(at + METRALE_IBV_LINKED_RECV_PART, 0x100, 8);
        put(at + METRALE_IBV_LINKED_RECV_PART + 8, (uint64_t)i, 4);
        put(at + METRALE_IBV_LINKED_RECV_PART + 12, 5, 4);
    }
    CHECK_IS(metrale_ibv_post_recv_linked(number(&fake.qp), number(room), COUNT, 1, 1,
                                          number(&accepted)),
             COUNT);
    CHECK_IS(accepted, COUNT);
    CHECK_IS(fake.posted, COUNT);
    CHECK_IS(fake.received[0].num_sge, 0);
    CHECK_IS(fake.received[69].num_sge, 1);
    CHECK_IS(fake.received[69].wr_id, 70);
    CHECK_IS(fake.received_sge[69].addr, 0x100);
    CHECK_IS(fake.received_sge[69].length, 69);
    CHECK_IS(fake.received_sge[69].lkey, 5);
    fake.refuse_at = 3;
    fake.refuse_rc = ENOMEM;
    link_all(room, COUNT, BYTES);
    CHECK_IS(metrale_ibv_post_recv_linked(number(&fake.qp), number(room), COUNT, 1, 1,
                                          number(&accepted)),
             -ENOMEM);
    CHECK_IS(accepted, 3);
}

/* Their ids are the caller's own, and stay. */
static void posts_shared_receives(void)
{
    enum { COUNT = 70, BYTES = METRALE_IBV_LINKED_RECV_BYTES };
    static _Alignas(8) unsigned char room[(COUNT + 1) * BYTES];
    uint64_t srq = number(&fake.srq);
    uint32_t accepted = 9;
    int i;

    link_all(room, COUNT, BYTES);
    for (i = 0; i < COUNT; i++) {
        unsigned char *at = room + (size_t)i * BYTES;

        put(at + METRALE_IBV_LINKED_ID, 1000 - (uint64_t)i, 8);
        put(at + METRALE_IBV_LINKED_PART_COUNT, i > 0, 4);
        put(at + METRALE_IBV_LINKED_RECV_PART, 0x100, 8);
        put(at + METRALE_IBV_LINKED_RECV_PART + 8, (uint64_t)i, 4);
        put(at + METRALE_IBV_LINKED_RECV_PART + 12, 5, 4);
    }
    CHECK_IS(metrale_ibv_post_srq_recv_linked(srq, number(room), 0, number(&accepted)), 0);
    CHECK_IS(accepted, 0);
    CHECK_IS(fake.doorbells, 0);
    CHECK_IS(metrale_ibv_post_srq_recv_linked(srq, number(room), COUNT, number(&accepted)), COUNT);
    CHECK(strcmp(fake.last_call, "post_srq_recv") == 0);
    CHECK_IS(accepted, COUNT);
    CHECK_IS(fake.posted, COUNT);
    CHECK_IS(fake.doorbells, 1);
    CHECK_IS(fake.received[0].num_sge, 0);
    CHECK_IS(fake.received[69].num_sge, 1);
    CHECK_IS(fake.received[69].wr_id, 931);
    CHECK_IS(fake.received_sge[69].addr, 0x100);
    CHECK_IS(fake.received_sge[69].length, 69);
    CHECK_IS(fake.received_sge[69].lkey, 5);
    /* A part of what the memory holds. */
    link_all(room, COUNT, BYTES);
    CHECK_IS(metrale_ibv_post_srq_recv_linked(srq, number(room), 2, number(&accepted)), 2);
    CHECK_IS(fake.posted, COUNT + 2);
    fake.refuse_at = 3;
    fake.refuse_rc = ENOMEM;
    link_all(room, COUNT, BYTES);
    CHECK_IS(metrale_ibv_post_srq_recv_linked(srq, number(room), COUNT, number(&accepted)),
             -ENOMEM);
    CHECK_IS(accepted, 3);
    fake.refuse_without_bad = 1;
    CHECK_IS(metrale_ibv_post_srq_recv_linked(srq, number(room), COUNT, number(&accepted)), -EIO);
    CHECK_IS(accepted, COUNT);
}

static void says_how_many_linked_requests_were_taken(void)
{
    enum { BYTES = METRALE_IBV_LINKED_SEND_BYTES };
    static _Alignas(8) unsigned char room[11 * BYTES];
    uint64_t qp = number(&fake.qp);
    uint32_t accepted = 0;

    link_all(room, 10, BYTES);
    fake.refuse_at = 3;
    fake.refuse_rc = ENOMEM;
    CHECK_IS(metrale_ibv_post_send_linked(qp, number(room), 10, 0, 1, number(&accepted)), -ENOMEM);
    CHECK_IS(accepted, 3);

    /* A provider that does not say which one may have taken all. */
    fake.refuse_without_bad = 1;
    fake.refuse_rc = ENODEV;
    CHECK_IS(metrale_ibv_post_send_linked(qp, number(room), 10, 0, 1, number(&accepted)), -ENODEV);
    CHECK_IS(accepted, 10);
    fake.refuse_rc = ENOMEM;
    CHECK_IS(metrale_ibv_post_send_linked(qp, number(room), 10, 0, 1, number(&accepted)), -EIO);
    CHECK_IS(accepted, 10);

    /* One that names a request of somebody else's says nothing of these: here the fourth is asked
     * to be posted alone, and names the one behind it. */
    fake.refuse_without_bad = 0;
    fake.refuse_rc = ENODEV;
    fake.refuse_at = 0;
    fake.refuse_offset = BYTES;
    CHECK_IS(metrale_ibv_post_send_linked(qp, number(room + 3 * BYTES), 1, 0, 1, number(&accepted)),
             -ENODEV);
    CHECK_IS(accepted, 1);
    fake.refuse_offset = 8;
    CHECK_IS(metrale_ibv_post_send_linked(qp, number(room + 3 * BYTES), 1, 0, 1, number(&accepted)),
             -ENODEV);
    CHECK_IS(accepted, 1);
    fake.refuse_offset = -BYTES;
    CHECK_IS(metrale_ibv_post_send_linked(qp, number(room + 3 * BYTES), 1, 0, 1, number(&accepted)),
             -ENODEV);
    CHECK_IS(accepted, 1);
}

/* Counted are those that were done, from the first one on, while their ids count up. */
static void counts_what_was_done_in_order(void)
{
    struct metrale_ibv_wc wc[8];
    uint64_t cq = number(&fake.cq);
    int i;

    CHECK_IS(metrale_ibv_poll_cq_run(cq, number(wc), 8, 16), 0);
    fake.poll_count = 5;
    for (i = 0; i < 5; i++) {
        fake.poll_wc[i].wr_id = (uint64_t)-16 + 16 * (uint64_t)i;
        fake.poll_wc[i].wc_flags = IBV_WC_WITH_IMM;
        fake.poll_wc[i].imm_data = htobe32(7 + (uint32_t)i);
    }
    CHECK(metrale_ibv_poll_cq_run(cq, number(wc), 8, 16) == ((int64_t)5 << 32 | 5));
    fake.poll_wc[3].status = IBV_WC_WR_FLUSH_ERR;
    CHECK(metrale_ibv_poll_cq_run(cq, number(wc), 8, 16) == ((int64_t)3 << 32 | 5));
    for (i = 0; i < 5; i++)
        CHECK_IS(wc[i].imm, 7 + i);
    fake.poll_wc[1].wr_id++;
    CHECK(metrale_ibv_poll_cq_run(cq, number(wc), 8, 16) == ((int64_t)1 << 32 | 5));
    fake.poll_wc[0].status = IBV_WC_REM_ACCESS_ERR;
    CHECK(metrale_ibv_poll_cq_run(cq, number(wc), 8, 16) == 5);
    fake.rc = -2;
    fake.set_errno = ENODEV;
    CHECK(metrale_ibv_poll_cq_run(cq, number(wc), 8, 16) == -ENODEV);
}

static void takes_events(void)
{
    static const int kinds[] = {2, 3, 3, 3, 3, 3, 3, 3, 0, 1, 1, 1, 1, 1, 4, 4, 3, 1, 1, 5, 0};
    struct metrale_ibv_async_event event;
    struct ibv_wq wq;
    int type;

    for (type = 0; type < 21; type++) {
        memset(&fake.event, 0, sizeof(fake.event));
        fake.event.event_type = (enum ibv_event_type)type;
        switch (kinds[type]) {
        case METRALE_IBV_ELEMENT_PORT:
            fake.event.element.port_num = 2;
            break;
        case METRALE_IBV_ELEMENT_QP:
            fake.event.element.qp = &fake.qp;
            break;
        case METRALE_IBV_ELEMENT_CQ:
            fake.event.element.cq = &fake.cq;
            break;
        case METRALE_IBV_ELEMENT_SRQ:
            fake.srq.srq_context = (void *)77;
            fake.event.element.srq = &fake.srq;
            break;
        case METRALE_IBV_ELEMENT_WQ:
            fake.event.element.wq = &wq;
            break;
        default:
            break;
        }
        CHECK_IS(metrale_ibv_get_async_event(fake_context(1), &event), 0);
        CHECK_IS(event.event_type, type);
        CHECK_IS(event.element_kind, kinds[type]);
        CHECK_IS(event.port_num, kinds[type] == METRALE_IBV_ELEMENT_PORT ? 2 : 0);
        CHECK_IS(event.qp_num, kinds[type] == METRALE_IBV_ELEMENT_QP ? 0x123456 : 0);
        CHECK_IS(event.srq_context, kinds[type] == METRALE_IBV_ELEMENT_SRQ ? 77 : 0);
        CHECK_IS(metrale_ibv_ack_async_event(&event), 0);
        CHECK(memcmp(&fake.acked_event, &fake.event, sizeof(fake.event)) == 0);
    }
    event.event_type = METRALE_IBV_EVENT_QP_FATAL;
    event.element = 0;
    CHECK_IS(metrale_ibv_ack_async_event(&event), -EINVAL);
    fake.rc = -1;
    fake.set_errno = EAGAIN;
    CHECK_IS(metrale_ibv_get_async_event(fake_context(1), &event), -EAGAIN);
    CHECK_FAILURES(metrale_ibv_get_async_event(fake_context(1), &event));
}

static void waits_for_descriptors(void)
{
    char byte = 0;
    int fds[2];
    int wake;

    CHECK_IS(pipe(fds), 0);
    wake = metrale_ibv_create_wake();
    CHECK(wake >= 0);
    CHECK_IS(metrale_ibv_wait_readable(fds[0], wake, 0), 0);
    CHECK_IS(metrale_ibv_wait_readable(fds[0], -1, 1), 0);
    CHECK_IS(metrale_ibv_wake(wake), 0);
    CHECK_IS(metrale_ibv_wake(wake), 0);
    CHECK_IS(metrale_ibv_wait_readable(fds[0], wake, -1), 2);
    CHECK_IS(write(fds[1], &byte, 1), 1);
    CHECK_IS(metrale_ibv_wait_readable(fds[0], wake, -1), 3);
    CHECK_IS(metrale_ibv_wait_readable(fds[0], -1, -1), 1);
    CHECK_IS(metrale_ibv_set_nonblocking(fds[0]), 0);
    CHECK_IS(read(fds[0], &byte, 1), 1);
    CHECK_IS(read(fds[0], &byte, 1), -1);
    CHECK_IS(close(fds[1]), 0);
    CHECK_IS(metrale_ibv_wait_readable(fds[0], -1, -1), 1);
    CHECK_IS(close(fds[0]), 0);
    CHECK_IS(metrale_ibv_close_wake(wake), 0);
    CHECK_IS(metrale_ibv_close_wake(wake), -EBADF);
    CHECK_IS(metrale_ibv_wake(wake), -EBADF);
    CHECK_IS(metrale_ibv_wait_readable(-1, -1, 0), -EBADF);
    CHECK_IS(metrale_ibv_wait_readable(fds[0], -1, 0), -EBADF);
    CHECK_IS(metrale_ibv_set_nonblocking(-1), -EBADF);
}

static void copies_texts(void)
{
    char text[64];

    fake.text = "a text";
    CHECK_IS(metrale_ibv_wc_status_str(0, text, sizeof(text)), 6);
    CHECK(strcmp(text, "a text") == 0);
    CHECK_IS(metrale_ibv_event_type_str(0, text, 3), 6);
    CHECK(strcmp(text, "a ") == 0);
    CHECK_IS(metrale_ibv_port_state_str(0, NULL, 0), 6);
    CHECK_IS(metrale_ibv_node_type_str(0, NULL, 1), -EINVAL);
    CHECK_IS(metrale_ibv_node_type_str(0, text, 1), 6);
    CHECK_IS(text[0], 0);
    fake.text = NULL;
    CHECK_IS(metrale_ibv_node_type_str(99, text, sizeof(text)), 7);
    CHECK(strcmp(text, "unknown") == 0);

    CHECK(metrale_ibv_errno_str(ENOMEM, text, sizeof(text)) > 0);
    CHECK(strcmp(text, strerror(ENOMEM)) == 0);
    CHECK(metrale_ibv_errno_str(-ENOMEM, text, sizeof(text)) > 0);
    CHECK(strcmp(text, strerror(ENOMEM)) == 0);
    CHECK(metrale_ibv_errno_str(4000, text, sizeof(text)) > 0);
    CHECK(metrale_ibv_errno_str(INT_MIN, text, sizeof(text)) >= 0);
    CHECK_IS(metrale_ibv_errno_symbol(-EOPNOTSUPP, text, sizeof(text)), 10);
    CHECK(strcmp(text, "EOPNOTSUPP") == 0);
    CHECK_IS(metrale_ibv_errno_symbol(4000, text, sizeof(text)), 11);
    CHECK(strcmp(text, "errno(4000)") == 0);
}

static void knows_errno_values(void)
{
    CHECK_IS(metrale_ibv_errno(METRALE_IBV_EPERM), EPERM);
    CHECK_IS(metrale_ibv_errno(METRALE_IBV_EAGAIN), EAGAIN);
    CHECK_IS(metrale_ibv_errno(METRALE_IBV_ENOMEM), ENOMEM);
    CHECK_IS(metrale_ibv_errno(METRALE_IBV_ENODATA), ENODATA);
    CHECK_IS(metrale_ibv_errno(METRALE_IBV_EHOSTUNREACH), EHOSTUNREACH);
    CHECK_IS(metrale_ibv_errno(METRALE_IBV_EHOSTUNREACH + 1), -EINVAL);
    CHECK_IS(metrale_ibv_errno(-1), -EINVAL);
}

static void refuses_null(void)
{
    struct metrale_ibv_qp_init init = {.qp_type = METRALE_IBV_QPT_RC};
    struct metrale_ibv_qp_attr attr = good_attributes();
    _Alignas(8) struct metrale_ibv_gid_entry gid;
    struct metrale_ibv_send_wr send = {.wr_id = 1};
    struct metrale_ibv_recv_wr receive = {.wr_id = 1};
    struct metrale_ibv_async_event event;
    struct metrale_ibv_device_attr limits;
    struct metrale_ibv_device device;
    struct metrale_ibv_port port;
    struct metrale_ibv_mr described;
    struct metrale_ibv_srq_attr shared = {.max_wr = 1};
    struct metrale_ibv_wc wc;
    struct ibv_context *context = fake_context(1);
    struct ibv_device *found;
    struct ibv_mr *mr;
    struct ibv_cq *cq;
    uint32_t accepted;
    uint64_t from;

#define REFUSED(call) CHECK_IS(call, -EINVAL)
    REFUSED(metrale_ibv_get_device_list(NULL));
    REFUSED(metrale_ibv_free_device_list(0));
    REFUSED(metrale_ibv_device_at(0, 0, &found));
    REFUSED(metrale_ibv_device_at((uint64_t)(uintptr_t)&found, 0, NULL));
    REFUSED(metrale_ibv_describe_device(NULL, &device));
    REFUSED(metrale_ibv_describe_device(&fake.devices[0], NULL));
    REFUSED(metrale_ibv_get_device_index(NULL));
    REFUSED(metrale_ibv_open_device(NULL, &context));
    REFUSED(metrale_ibv_open_device(&fake.devices[0], NULL));
    REFUSED(metrale_ibv_close_device(NULL));
    REFUSED(metrale_ibv_context_device(NULL, &found));
    REFUSED(metrale_ibv_context_device(context, NULL));
    REFUSED(metrale_ibv_query_device(NULL, &limits));
    REFUSED(metrale_ibv_query_device(context, NULL));
    REFUSED(metrale_ibv_query_port(NULL, 1, &port));
    REFUSED(metrale_ibv_query_port(context, 1, NULL));
    REFUSED(metrale_ibv_query_gid_table(NULL, &gid, 1));
    REFUSED(metrale_ibv_query_gid_table(context, NULL, 1));
    REFUSED(metrale_ibv_query_gid_ex(NULL, 1, 0, &gid));
    REFUSED(metrale_ibv_query_gid_ex(context, 1, 0, NULL));
    REFUSED(metrale_ibv_query_gid(NULL, 1, 0, &gid));
    REFUSED(metrale_ibv_query_gid(context, 1, 0, NULL));
    REFUSED(metrale_ibv_query_pkey(NULL, 1, 0));
    REFUSED(metrale_ibv_alloc_pd(NULL, &(struct ibv_pd *){NULL}));
    REFUSED(metrale_ibv_alloc_pd(context, NULL));
    REFUSED(metrale_ibv_dealloc_pd(NULL));
    REFUSED(metrale_ibv_reg_mr(NULL, 1, 1, 0, &mr));
    REFUSED(metrale_ibv_reg_mr(&fake.pd, 1, 1, 0, NULL));
    REFUSED(metrale_ibv_reg_dmabuf_mr(NULL, 0, 1, 0, 1, 0, &mr));
    REFUSED(metrale_ibv_reg_dmabuf_mr(&fake.pd, 0, 1, 0, 1, 0, NULL));
    REFUSED(metrale_ibv_dereg_mr(NULL));
    REFUSED(metrale_ibv_describe_mr(NULL, &described));
    REFUSED(metrale_ibv_describe_mr(&fake.mr, NULL));
    REFUSED(metrale_ibv_create_comp_channel(NULL, &(struct ibv_comp_channel *){NULL}));
    REFUSED(metrale_ibv_create_comp_channel(context, NULL));
    REFUSED(metrale_ibv_destroy_comp_channel(NULL));
    REFUSED(metrale_ibv_comp_channel_fd(NULL));
    REFUSED(metrale_ibv_get_cq_event(NULL, &from));
    REFUSED(metrale_ibv_get_cq_event(&fake.channel, NULL));
    REFUSED(metrale_ibv_create_cq(NULL, 1, NULL, 0, &cq));
    REFUSED(metrale_ibv_create_cq(context, 1, NULL, 0, NULL));
    REFUSED(metrale_ibv_destroy_cq(NULL));
    REFUSED(metrale_ibv_cq_entries(NULL));
    REFUSED(metrale_ibv_resize_cq(NULL, 1));
    REFUSED(metrale_ibv_req_notify_cq(NULL, 0));
    REFUSED(metrale_ibv_req_notify_cq_flat(0, 0));
    REFUSED(metrale_ibv_ack_cq_events(NULL, 1));
    REFUSED(metrale_ibv_poll_cq(NULL, &wc, 1));
    REFUSED(metrale_ibv_poll_cq(&fake.cq, NULL, 1));
    REFUSED(metrale_ibv_poll_cq_flat(0, 0, 1));
    REFUSED(metrale_ibv_create_qp(NULL, &fake.cq, &fake.cq, NULL, &init, &(struct ibv_qp *){NULL}));
    REFUSED(metrale_ibv_create_qp(&fake.pd, NULL, &fake.cq, NULL, &init, &(struct ibv_qp *){NULL}));
    REFUSED(metrale_ibv_create_qp(&fake.pd, &fake.cq, NULL, NULL, &init, &(struct ibv_qp *){NULL}));
    REFUSED(
        metrale_ibv_create_qp(&fake.pd, &fake.cq, &fake.cq, NULL, NULL, &(struct ibv_qp *){NULL}));
    REFUSED(metrale_ibv_create_qp(&fake.pd, &fake.cq, &fake.cq, NULL, &init, NULL));
    REFUSED(metrale_ibv_destroy_qp(NULL));
    REFUSED(metrale_ibv_qp_num(NULL));
    REFUSED(metrale_ibv_modify_qp(NULL, &attr, METRALE_IBV_QP_STATE));
    REFUSED(metrale_ibv_modify_qp(&fake.qp, NULL, METRALE_IBV_QP_STATE));
    REFUSED(metrale_ibv_query_qp(NULL, &attr, &init));
    REFUSED(metrale_ibv_query_qp(&fake.qp, NULL, &init));
    REFUSED(metrale_ibv_query_qp(&fake.qp, &attr, NULL));
    REFUSED(metrale_ibv_post_send(NULL, &send, 1, &accepted));
    REFUSED(metrale_ibv_post_send(&fake.qp, NULL, 1, &accepted));
    REFUSED(metrale_ibv_post_send(&fake.qp, &send, 1, NULL));
    REFUSED(metrale_ibv_post_send_flat(0, 0, 1, 0));
    REFUSED(metrale_ibv_post_recv(NULL, &receive, 1, &accepted));
    REFUSED(metrale_ibv_post_recv(&fake.qp, NULL, 1, &accepted));
    REFUSED(metrale_ibv_post_recv(&fake.qp, &receive, 1, NULL));
    REFUSED(metrale_ibv_post_recv_flat(0, 0, 1, 0));
    REFUSED(metrale_ibv_poll_cq_run(0, number(&wc), 1, 1));
    REFUSED(metrale_ibv_poll_cq_run(number(&fake.cq), number(&wc) + 4, 1, 1));
    REFUSED(metrale_ibv_post_send_linked(0, number(&send), 1, 0, 1, number(&accepted)));
    REFUSED(metrale_ibv_post_send_linked(number(&fake.qp), 0, 1, 0, 1, number(&accepted)));
    REFUSED(metrale_ibv_post_send_linked(number(&fake.qp), 12, 1, 0, 1, number(&accepted)));
    REFUSED(metrale_ibv_post_send_linked(number(&fake.qp), number(&send), 1, 0, 1, 0));
    REFUSED(metrale_ibv_post_send_linked(number(&fake.qp), 8, 1u << 31, 0, 1, number(&accepted)));
    REFUSED(metrale_ibv_post_recv_linked(0, number(&receive), 1, 0, 1, number(&accepted)));
    REFUSED(metrale_ibv_post_recv_linked(number(&fake.qp), 0, 1, 0, 1, number(&accepted)));
    REFUSED(metrale_ibv_create_srq(NULL, 1, &shared, &(struct ibv_srq *){NULL}));
    REFUSED(metrale_ibv_create_srq(&fake.pd, 1, NULL, &(struct ibv_srq *){NULL}));
    REFUSED(metrale_ibv_create_srq(&fake.pd, 1, &shared, NULL));
    REFUSED(metrale_ibv_modify_srq(NULL, &shared, METRALE_IBV_SRQ_LIMIT));
    REFUSED(metrale_ibv_modify_srq(&fake.srq, NULL, METRALE_IBV_SRQ_LIMIT));
    REFUSED(metrale_ibv_query_srq(NULL, &shared));
    REFUSED(metrale_ibv_query_srq(&fake.srq, NULL));
    REFUSED(metrale_ibv_destroy_srq(NULL));
    REFUSED(metrale_ibv_post_srq_recv_linked(0, number(&receive), 1, number(&accepted)));
    REFUSED(metrale_ibv_post_srq_recv_linked(number(&fake.srq), 0, 1, number(&accepted)));
    REFUSED(metrale_ibv_post_srq_recv_linked(number(&fake.srq), 12, 1, number(&accepted)));
    REFUSED(metrale_ibv_post_srq_recv_linked(number(&fake.srq), number(&receive), 1, 0));
    REFUSED(metrale_ibv_async_fd(NULL));
    REFUSED(metrale_ibv_get_async_event(NULL, &event));
    REFUSED(metrale_ibv_get_async_event(context, NULL));
    REFUSED(metrale_ibv_ack_async_event(NULL));
    REFUSED(metrale_ibv_wc_status_str(0, NULL, 1));
    REFUSED(metrale_ibv_event_type_str(0, NULL, 1));
    REFUSED(metrale_ibv_port_state_str(0, NULL, 1));
    REFUSED(metrale_ibv_errno_str(0, NULL, 1));
    REFUSED(metrale_ibv_errno_symbol(0, NULL, 1));
    CHECK_IS(fake.calls, 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
#define TEST(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    TEST(lists_devices),
    TEST(opens_and_closes),
    TEST(queries_limits),
    TEST(queries_ports),
    TEST(queries_gid_tables),
    TEST(queries_gids_of_an_old_library),
    TEST(registers_memory),
    TEST(makes_completion_queues),
    TEST(polls),
    TEST(makes_shared_receive_queues),
    TEST(makes_queue_pairs),
    TEST(modifies_queue_pairs),
    TEST(refuses_attributes_that_do_not_fit),
    TEST(queries_queue_pairs),
    TEST(posts_batches),
    TEST(posts_each_opcode),
    TEST(says_how_many_requests_were_taken),
    TEST(posts_receives),
    TEST(posts_linked_requests),
    TEST(posts_linked_receives),
    TEST(posts_shared_receives),
    TEST(says_how_many_linked_requests_were_taken),
    TEST(counts_what_was_done_in_order),
    TEST(takes_events),
    TEST(waits_for_descriptors),
    TEST(copies_texts),
    TEST(knows_errno_values),
    TEST(refuses_null),
};

int main(int argc, char **argv)
{
    int ran = 0;
    size_t i;

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (argc > 1 && strcmp(argv[1], tests[i].name) != 0)
            continue;
        fake_reset();
        tests[i].run();
        ran++;
    }
    printf("%d tests, %d checks\n", ran, checks);
    return ran > 0 ? 0 : 1;
}
