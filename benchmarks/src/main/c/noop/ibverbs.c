/*
 * An adapter that completes what is posted at once: a post remembers the ids, a poll hands them
 * out. Queue pairs share the one ring, so a benchmark has one.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "noop.h"

enum { RING = 65536 };

static struct ibv_device device;
static struct ibv_device *devices[2];
static struct verbs_context context;
static __thread uint64_t ring[RING];
static __thread unsigned int posted;
static __thread unsigned int polled;
static uint32_t queue_pairs = 0x100;
static uint32_t keys = 0x1000;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
    (void)qp, (void)bad;
    for (; request != NULL; request = request->next)
        ring[posted++ % RING] = request->wr_id;
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int capacity, struct ibv_wc *completion)
{
    int count = 0;

    (void)cq;
    for (; count < capacity && polled != posted; count++, completion++) {
        completion->wr_id = ring[polled++ % RING];
        completion->status = IBV_WC_SUCCESS;
        completion->opcode = IBV_WC_RDMA_READ;
        completion->byte_len = 4096;
        completion->qp_num = 0x100;
        completion->wc_flags = 0;
    }
    return count;
}

static int notify(struct ibv_cq *cq, int solicited_only)
{
    (void)cq, (void)solicited_only;
    return 0;
}

static int port_of(struct ibv_context *given, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
    struct ibv_port_attr out;

    (void)given, (void)port;
    memset(&out, 0, sizeof(out));
    out.state = IBV_PORT_ACTIVE;
    out.max_mtu = out.active_mtu = IBV_MTU_4096;
    out.gid_tbl_len = 1;
    out.max_msg_sz = 1u << 31;
    out.pkey_tbl_len = 1;
    out.link_layer = IBV_LINK_LAYER_ETHERNET;
    memcpy(attr, &out, size < sizeof(out) ? size : sizeof(out));
    return 0;
}

NOOP struct ibv_device **ibv_get_device_list(int *count)
{
    snprintf(device.name, sizeof(device.name), "noop_0");
    device.node_type = IBV_NODE_CA;
    device.transport_type = IBV_TRANSPORT_IB;
    devices[0] = &device;
    if (count != NULL)
        *count = 1;
    return devices;
}

NOOP void ibv_free_device_list(struct ibv_device **list)
{
    (void)list;
}

#undef ibv_get_device_guid
NOOP __be64 ibv_get_device_guid(struct ibv_device *given)
{
    (void)given;
    return htobe64(0x0123456789abcdefULL);
}

NOOP struct ibv_context *ibv_open_device(struct ibv_device *given)
{
    context.sz = sizeof(context);
    context.query_port = port_of;
    context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.context.device = given;
    context.context.num_comp_vectors = 1;
    context.context.async_fd = dup(0);
    context.context.ops.poll_cq = poll_cq;
    context.context.ops.post_send = post_send;
    context.context.ops.req_notify_cq = notify;
    return &context.context;
}

NOOP int ibv_query_device(struct ibv_context *given, struct ibv_device_attr *attr)
{
    (void)given;
    memset(attr, 0, sizeof(*attr));
    attr->max_qp = attr->max_cq = attr->max_mr = attr->max_pd = 65536;
    attr->max_qp_wr = 32768;
    attr->max_cqe = 65535;
    attr->max_sge = 1;
    attr->max_mr_size = UINT64_MAX >> 1;
    attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 16;
    attr->phys_port_cnt = 1;
    return 0;
}

#undef ibv_query_port
NOOP int ibv_query_port(struct ibv_context *given, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    return port_of(given, port, (struct ibv_port_attr *)attr, 40);
}

static void fill_gid(struct ibv_gid_entry *entry)
{
    memset(entry, 0, sizeof(*entry));
    entry->gid.raw[10] = entry->gid.raw[11] = 0xff;
    entry->gid.raw[12] = 10;
    entry->gid.raw[15] = 1;
    entry->port_num = 1;
    entry->gid_type = IBV_GID_TYPE_ROCE_V2;
}

NOOP int _ibv_query_gid_ex(struct ibv_context *given, uint32_t port, uint32_t index,
                           struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    struct ibv_gid_entry out;

    (void)given, (void)port, (void)flags;
    if (index != 0)
        return ENODATA;
    fill_gid(&out);
    memcpy(entry, &out, size < sizeof(out) ? size : sizeof(out));
    return 0;
}

NOOP ssize_t _ibv_query_gid_table(struct ibv_context *given, struct ibv_gid_entry *entries,
                                  size_t capacity, uint32_t flags, size_t size)
{
    (void)given, (void)flags, (void)size;
    if (capacity < 1)
        return -EINVAL;
    fill_gid(entries);
    return 1;
}

NOOP int ibv_query_gid(struct ibv_context *given, uint8_t port, int index, union ibv_gid *gid)
{
    struct ibv_gid_entry out;

    (void)given, (void)port, (void)index;
    fill_gid(&out);
    *gid = out.gid;
    return 0;
}

NOOP struct ibv_pd *ibv_alloc_pd(struct ibv_context *given)
{
    struct ibv_pd *out = calloc(1, sizeof(*out));

    out->context = given;
    return out;
}

NOOP int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    return 0;
}

static struct ibv_mr *region(struct ibv_pd *pd, void *address, size_t length)
{
    struct ibv_mr *out = calloc(1, sizeof(*out));

    out->context = pd->context;
    out->pd = pd;
    out->addr = address;
    out->length = length;
    out->lkey = out->rkey = __atomic_fetch_add(&keys, 1, __ATOMIC_RELAXED);
    return out;
}

#undef ibv_reg_mr
NOOP struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    (void)access;
    return region(pd, address, length);
}

#undef ibv_reg_mr_iova
NOOP struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                     unsigned int access)
{
    (void)iova, (void)access;
    return region(pd, address, length);
}

NOOP int ibv_dereg_mr(struct ibv_mr *mr)
{
    free(mr);
    return 0;
}

NOOP struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *given)
{
    struct ibv_comp_channel *out = calloc(1, sizeof(*out));

    out->context = given;
    out->fd = dup(0);
    return out;
}

NOOP int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    free(channel);
    return 0;
}

NOOP struct ibv_cq *ibv_create_cq(struct ibv_context *given, int entries, void *user,
                                  struct ibv_comp_channel *channel, int vector)
{
    struct ibv_cq *out = calloc(1, sizeof(*out));

    (void)vector;
    out->context = given;
    out->channel = channel;
    out->cq_context = user;
    out->cqe = entries;
    return out;
}

NOOP int ibv_destroy_cq(struct ibv_cq *cq)
{
    free(cq);
    return 0;
}

NOOP struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *out = calloc(1, sizeof(*out));

    out->context = pd->context;
    out->pd = pd;
    out->send_cq = attr->send_cq;
    out->recv_cq = attr->recv_cq;
    out->qp_type = attr->qp_type;
    out->qp_num = __atomic_fetch_add(&queue_pairs, 1, __ATOMIC_RELAXED);
    return out;
}

NOOP int ibv_destroy_qp(struct ibv_qp *qp)
{
    free(qp);
    return 0;
}

NOOP const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    (void)status;
    return "no-op";
}

NOOP const char *ibv_event_type_str(enum ibv_event_type event)
{
    (void)event;
    return "no-op";
}

NOOP const char *ibv_node_type_str(enum ibv_node_type type)
{
    (void)type;
    return "no-op";
}

NOOP const char *ibv_port_state_str(enum ibv_port_state state)
{
    (void)state;
    return "no-op";
}
