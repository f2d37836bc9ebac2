/* The shim over the emulated library: what the checked layer will do, once through. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrale_ibv.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { BYTES = 1 << 20, REQUESTS = 100, CHUNK = BYTES / REQUESTS };

struct end {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct metrale_ibv_gid_entry gid;
    struct metrale_ibv_mr keys;
    uint8_t *memory;
};

static void open_end(struct end *end, struct ibv_device *device)
{
    struct metrale_ibv_qp_init init = {.max_send_wr = 128,
                                       .max_recv_wr = 4,
                                       .max_send_sge = 1,
                                       .max_recv_sge = 1,
                                       .qp_type = METRALE_IBV_QPT_RC};
    _Alignas(8) struct metrale_ibv_gid_entry gids[64];
    struct metrale_ibv_gid_entry single;
    struct metrale_ibv_device_attr limits;
    struct metrale_ibv_port port;
    int count;
    int i;

    CHECK(metrale_ibv_open_device(device, &end->context) == 0);
    CHECK(metrale_ibv_query_device(end->context, &limits) == 0);
    CHECK(limits.port_count == 1 && limits.comp_vectors > 0);
    CHECK(metrale_ibv_query_port(end->context, 1, &port) == 0);
    CHECK(port.state == METRALE_IBV_PORT_ACTIVE);
    count = metrale_ibv_query_gid_table(end->context, gids, 64);
    CHECK(count > 0);
    for (i = 0; i < count; i++) {
        if (gids[i].gid_type == METRALE_IBV_GID_TYPE_ROCE_V2 && gids[i].gid[10] == 0xff)
            end->gid = gids[i];
    }
    CHECK(end->gid.gid[15] != 0);
    CHECK(metrale_ibv_query_gid(end->context, 1, end->gid.gid_index, &single) == 0);
    CHECK(memcmp(single.gid, end->gid.gid, 16) == 0);
    CHECK(metrale_ibv_query_pkey(end->context, 1, 0) == 0xffff);

    end->memory = calloc(1, BYTES);
    CHECK(metrale_ibv_alloc_pd(end->context, &end->pd) == 0);
    CHECK(metrale_ibv_reg_mr(end->pd, (uint64_t)(uintptr_t)end->memory, BYTES,
                             METRALE_IBV_ACCESS_LOCAL_WRITE | METRALE_IBV_ACCESS_REMOTE_READ |
                                 METRALE_IBV_ACCESS_REMOTE_WRITE |
                                 METRALE_IBV_ACCESS_RELAXED_ORDERING,
                             &end->mr) == 0);
    CHECK(metrale_ibv_describe_mr(end->mr, &end->keys) == 0);
    CHECK(metrale_ibv_create_comp_channel(end->context, &end->channel) == 0);
    CHECK(metrale_ibv_create_cq(end->context, 256, end->channel, 0, &end->cq) == 0);
    CHECK(metrale_ibv_create_qp(end->pd, end->cq, end->cq, NULL, &init, &end->qp) == 0);
    CHECK(init.max_send_wr >= 128);
    CHECK(metrale_ibv_set_nonblocking(metrale_ibv_async_fd(end->context)) == 0);
    CHECK(metrale_ibv_set_nonblocking(metrale_ibv_comp_channel_fd(end->channel)) == 0);
}

static void connect_end(struct end *end, struct end *to)
{
    struct metrale_ibv_qp_attr attr = {.qp_state = METRALE_IBV_QPS_INIT,
                                       .port_num = 1,
                                       .access_flags = METRALE_IBV_ACCESS_REMOTE_READ |
                                                       METRALE_IBV_ACCESS_REMOTE_WRITE,
                                       .path_mtu = METRALE_IBV_MTU_4096,
                                       .dest_qp_num = (uint32_t)metrale_ibv_qp_num(to->qp),
                                       .rq_psn = 7,
                                       .sq_psn = 7,
                                       .max_rd_atomic = 16,
                                       .max_dest_rd_atomic = 16,
                                       .min_rnr_timer = 12,
                                       .timeout = 12,
                                       .retry_cnt = 3,
                                       .rnr_retry = 7,
                                       .is_global = 1,
                                       .sgid_index = end->gid.gid_index,
                                       .hop_limit = 64};
    struct metrale_ibv_qp_init init;
    struct metrale_ibv_qp_attr now;

    memcpy(attr.dgid, to->gid.gid, 16);
    CHECK(metrale_ibv_modify_qp(end->qp, &attr, METRALE_IBV_QP_TO_INIT) == 0);
    attr.qp_state = METRALE_IBV_QPS_RTR;
    CHECK(metrale_ibv_modify_qp(end->qp, &attr, METRALE_IBV_QP_TO_RTR) == 0);
    attr.qp_state = METRALE_IBV_QPS_RTS;
    CHECK(metrale_ibv_modify_qp(end->qp, &attr, METRALE_IBV_QP_TO_RTS) == 0);
    CHECK(metrale_ibv_query_qp(end->qp, &now, &init) == 0);
    CHECK(now.qp_state == METRALE_IBV_QPS_RTS && now.dest_qp_num == attr.dest_qp_num);
    CHECK(memcmp(now.dgid, attr.dgid, 16) == 0 && now.sgid_index == attr.sgid_index);
}

static void close_end(struct end *end)
{
    CHECK(metrale_ibv_destroy_cq(end->cq) == -EBUSY);
    CHECK(metrale_ibv_destroy_qp(end->qp) == 0);
    CHECK(metrale_ibv_destroy_cq(end->cq) == 0);
    CHECK(metrale_ibv_destroy_comp_channel(end->channel) == 0);
    CHECK(metrale_ibv_dealloc_pd(end->pd) == -EBUSY);
    CHECK(metrale_ibv_dereg_mr(end->mr) == 0);
    CHECK(metrale_ibv_dealloc_pd(end->pd) == 0);
    CHECK(metrale_ibv_close_device(end->context) == 0);
    free(end->memory);
}

/* Reaps through events, as a waiting thread does. */
static void reap(struct end *end, struct metrale_ibv_wc *wc, int count)
{
    uint64_t from;
    int done = 0;
    int rc;

    CHECK(metrale_ibv_req_notify_cq_flat((uint64_t)(uintptr_t)end->cq, 0) == 0);
    for (;;) {
        rc = metrale_ibv_poll_cq_flat((uint64_t)(uintptr_t)end->cq,
                                      (uint64_t)(uintptr_t)(wc + done), (uint32_t)(count - done));
        CHECK(rc >= 0);
        done += rc;
        if (done == count)
            return;
        CHECK(metrale_ibv_wait_readable(metrale_ibv_comp_channel_fd(end->channel), -1, 10000) == 1);
        CHECK(metrale_ibv_get_cq_event(end->channel, &from) == 0);
        CHECK(from == (uint64_t)(uintptr_t)end->cq);
        CHECK(metrale_ibv_ack_cq_events(end->cq, 1) == 0);
        CHECK(metrale_ibv_req_notify_cq(end->cq, 0) == 0);
    }
}

int main(void)
{
    static struct metrale_ibv_send_wr requests[REQUESTS];
    static struct metrale_ibv_wc wc[REQUESTS];
    struct metrale_ibv_async_event event;
    struct metrale_ibv_device described;
    struct end client = {0};
    struct end server = {0};
    struct ibv_device *devices[2];
    char text[64];
    uint32_t accepted;
    uint64_t list;
    int i;

    CHECK(metrale_ibv_get_device_list(&list) == 2);
    for (i = 0; i < 2; i++) {
        CHECK(metrale_ibv_device_at(list, i, &devices[i]) == 0);
        CHECK(metrale_ibv_describe_device(devices[i], &described) == 0);
        CHECK(metrale_ibv_get_device_index(devices[i]) == i);
    }
    open_end(&client, devices[0]);
    open_end(&server, devices[1]);
    CHECK(metrale_ibv_free_device_list(list) == 0);
    connect_end(&server, &client);
    connect_end(&client, &server);

    for (i = 0; i < BYTES; i++)
        server.memory[i] = (uint8_t)(i * 31 + i / 257);
    for (i = 0; i < REQUESTS; i++)
        requests[i] = (struct metrale_ibv_send_wr){.wr_id = (uint64_t)i,
                                                   .local_addr = client.keys.addr + i * CHUNK,
                                                   .remote_addr = server.keys.addr + i * CHUNK,
                                                   .length = CHUNK,
                                                   .lkey = client.keys.lkey,
                                                   .rkey = server.keys.rkey,
                                                   .opcode = METRALE_IBV_WR_RDMA_READ,
                                                   .flags = METRALE_IBV_SEND_SIGNALED};
    CHECK(metrale_ibv_post_send_flat((uint64_t)(uintptr_t)client.qp, (uint64_t)(uintptr_t)requests,
                                     REQUESTS, (uint64_t)(uintptr_t)&accepted) == REQUESTS);
    reap(&client, wc, REQUESTS);
    for (i = 0; i < REQUESTS; i++)
        CHECK(wc[i].status == METRALE_IBV_WC_SUCCESS && wc[i].wr_id == (uint64_t)i &&
              wc[i].byte_len == CHUNK);
    CHECK(memcmp(client.memory, server.memory, REQUESTS * CHUNK) == 0);

    CHECK(metrale_ibv_get_async_event(server.context, &event) == -EAGAIN);
    requests[0].rkey ^= 0x100;
    CHECK(metrale_ibv_post_send(client.qp, requests, 2, &accepted) == 2);
    reap(&client, wc, 2);
    CHECK(wc[0].status == METRALE_IBV_WC_REM_ACCESS_ERR);
    CHECK(wc[1].status == METRALE_IBV_WC_WR_FLUSH_ERR);
    CHECK(metrale_ibv_wc_status_str((int)wc[0].status, text, sizeof(text)) > 0);
    CHECK(strcmp(text, "remote access error") == 0);
    CHECK(metrale_ibv_wait_readable(metrale_ibv_async_fd(server.context), -1, 10000) == 1);
    CHECK(metrale_ibv_get_async_event(server.context, &event) == 0);
    CHECK(event.event_type == METRALE_IBV_EVENT_QP_ACCESS_ERR);
    CHECK(event.qp_num == (uint32_t)metrale_ibv_qp_num(server.qp));
    CHECK(metrale_ibv_ack_async_event(&event) == 0);

    close_end(&client);
    close_end(&server);
    return 0;
}
