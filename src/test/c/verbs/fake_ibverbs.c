#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_ibverbs.h"

struct fake fake;
static struct verbs_context extended_context;
static struct ibv_context plain_context;

static int answer(const char *call)
{
    fake.last_call = call;
    fake.calls++;
    errno = fake.set_errno;
    return fake.rc;
}

static int take_wc(struct ibv_cq *cq, int capacity, struct ibv_wc *wc)
{
    int i;

    (void)cq;
    if (answer("poll_cq") != 0)
        return fake.rc;
    for (i = 0; i < capacity && i < fake.poll_count; i++)
        wc[i] = fake.poll_wc[i];
    return i;
}

static int notify(struct ibv_cq *cq, int solicited_only)
{
    (void)cq;
    fake.solicited_only = solicited_only;
    return answer("req_notify_cq");
}

static int send_requests(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    int i;

    (void)qp;
    (void)answer("post_send");
    fake.doorbells++;
    for (i = 0; wr != NULL; wr = wr->next, i++) {
        if (i == fake.refuse_at) {
            if (!fake.refuse_without_bad)
                *bad = (void *)((char *)wr + fake.refuse_offset);
            return fake.refuse_rc;
        }
        fake.sent[fake.posted] = *wr;
        if (wr->num_sge > 0)
            fake.sent_sge[fake.posted] = *wr->sg_list;
        fake.posted++;
    }
    return 0;
}

static int take_receives(const char *call, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    int i;

    (void)answer(call);
    fake.doorbells++;
    for (i = 0; wr != NULL; wr = wr->next, i++) {
        if (i == fake.refuse_at) {
            if (!fake.refuse_without_bad)
                *bad = (void *)((char *)wr + fake.refuse_offset);
            return fake.refuse_rc;
        }
        fake.received[fake.posted] = *wr;
        if (wr->num_sge > 0)
            fake.received_sge[fake.posted] = *wr->sg_list;
        fake.posted++;
    }
    return 0;
}

static int receive_requests(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)qp;
    return take_receives("post_recv", wr, bad);
}

static int share_requests(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)srq;
    return take_receives("post_srq_recv", wr, bad);
}

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
                      size_t size)
{
    (void)context;
    (void)port_num;
    if (answer("query_port") == 0)
        memcpy(attr, &fake.port, size < sizeof(fake.port) ? size : sizeof(fake.port));
    return fake.rc;
}

void fake_reset(void)
{
    int i;

    memset(&fake, 0, sizeof(fake));
    fake.refuse_at = -1;
    for (i = 0; i < 2; i++) {
        snprintf(fake.devices[i].name, sizeof(fake.devices[i].name), "fake_%d", i);
        snprintf(fake.devices[i].ibdev_path, sizeof(fake.devices[i].ibdev_path), "/nowhere");
        fake.devices[i].node_type = IBV_NODE_CA;
        fake.devices[i].transport_type = IBV_TRANSPORT_IB;
    }
    memset(&extended_context, 0, sizeof(extended_context));
    extended_context.sz = sizeof(extended_context);
    extended_context.query_port = query_port;
    extended_context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    memset(&plain_context, 0, sizeof(plain_context));
    extended_context.context.device = plain_context.device = &fake.devices[0];
    extended_context.context.async_fd = plain_context.async_fd = 77;
    extended_context.context.num_comp_vectors = plain_context.num_comp_vectors = 3;
    extended_context.context.ops.poll_cq = take_wc;
    extended_context.context.ops.req_notify_cq = notify;
    extended_context.context.ops.post_send = send_requests;
    extended_context.context.ops.post_recv = receive_requests;
    extended_context.context.ops.post_srq_recv = share_requests;
    fake.channel.fd = 55;
    fake.cq.context = fake.qp.context = fake.pd.context = &extended_context.context;
    fake.srq.context = &extended_context.context;
    fake.cq.cqe = 511;
    fake.qp.qp_num = 0x123456;
    fake.qp.qp_type = IBV_QPT_RC;
    fake.mr.lkey = 0x80000001;
    fake.mr.rkey = 0xfffffff2;
}

struct ibv_context *fake_context(int extended)
{
    return extended ? &extended_context.context : &plain_context;
}

int ibv_fork_init(void)
{
    return answer("ibv_fork_init");
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
    (void)answer("ibv_is_fork_initialized");
    return IBV_FORK_UNNEEDED;
}

struct ibv_device **ibv_get_device_list(int *count)
{
    struct ibv_device **list;

    if (answer("ibv_get_device_list") != 0)
        return NULL;
    list = calloc(3, sizeof(*list));
    list[0] = &fake.devices[0];
    list[1] = &fake.devices[1];
    *count = 2;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    (void)answer("ibv_free_device_list");
    free(list);
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    (void)answer("ibv_get_device_guid");
    return htobe64(0x0102030405060700 + (uint64_t)(device - fake.devices));
}

int ibv_get_device_index(struct ibv_device *device)
{
    (void)device;
    (void)answer("ibv_get_device_index");
    return fake.device_index;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    (void)device;
    return answer("ibv_open_device") == 0 ? &extended_context.context : NULL;
}

int ibv_close_device(struct ibv_context *context)
{
    (void)context;
    return answer("ibv_close_device");
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    (void)context;
    *attr = fake.device_attr;
    return answer("ibv_query_device");
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
                   struct _compat_ibv_port_attr *attr)
{
    (void)context;
    (void)port_num;
    /* The old structure ends before the newest fields. */
    memcpy((void *)attr, &fake.port, offsetof(struct ibv_port_attr, port_cap_flags2));
    return answer("ibv_query_port");
}

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
    (void)context;
    (void)port_num;
    (void)index;
    *gid = fake.plain_gid;
    return answer("ibv_query_gid");
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    (void)context;
    (void)port_num;
    (void)flags;
    if (answer("_ibv_query_gid_ex") != 0)
        return fake.rc;
    memcpy(entry, &fake.gids[gid_index], size);
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                             size_t capacity, uint32_t flags, size_t size)
{
    (void)context;
    (void)flags;
    if (answer("_ibv_query_gid_table") != 0)
        return fake.rc;
    if (capacity < (size_t)fake.gid_count)
        return -EINVAL;
    memcpy(entries, fake.gids, (size_t)fake.gid_count * size);
    return fake.gid_count;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
    (void)context;
    (void)port_num;
    (void)index;
    *pkey = htobe16(0xffff);
    return answer("ibv_query_pkey");
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    (void)context;
    return answer("ibv_alloc_pd") == 0 ? &fake.pd : NULL;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    (void)pd;
    return answer("ibv_dealloc_pd");
}

static struct ibv_mr *registered(const char *call, void *addr, size_t length, uint64_t iova,
                                 unsigned int access)
{
    if (answer(call) != 0)
        return NULL;
    fake.reg_addr = (uint64_t)(uintptr_t)addr;
    fake.reg_length = length;
    fake.reg_iova = iova;
    fake.reg_access = access;
    fake.mr.addr = addr;
    fake.mr.length = length;
    return &fake.mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    (void)pd;
    return registered("ibv_reg_mr", addr, length, 0, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access)
{
    (void)pd;
    return registered("ibv_reg_mr_iova2", addr, length, iova, access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    (void)pd;
    fake.reg_fd = fd;
    return registered("ibv_reg_dmabuf_mr", (void *)(uintptr_t)offset, length, iova,
                      (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    (void)mr;
    return answer("ibv_dereg_mr");
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    (void)context;
    return answer("ibv_create_comp_channel") == 0 ? &fake.channel : NULL;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    (void)channel;
    return answer("ibv_destroy_comp_channel");
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
    (void)channel;
    *cq = &fake.cq;
    *cq_context = NULL;
    return answer("ibv_get_cq_event");
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
    (void)cq;
    (void)answer("ibv_ack_cq_events");
    fake.acked += count;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
                             struct ibv_comp_channel *channel, int comp_vector)
{
    (void)context;
    (void)cq_context;
    fake.cq_entries = entries;
    fake.cq_channel = channel;
    fake.comp_vector = comp_vector;
    return answer("ibv_create_cq") == 0 ? &fake.cq : NULL;
}

int ibv_resize_cq(struct ibv_cq *cq, int entries)
{
    (void)cq;
    fake.cq_entries = entries;
    return answer("ibv_resize_cq");
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    (void)cq;
    return answer("ibv_destroy_cq");
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    (void)pd;
    fake.created_srq = *init;
    if (answer("ibv_create_srq") != 0)
        return NULL;
    init->attr.max_wr += 3;
    init->attr.max_sge += 1;
    fake.srq.srq_context = init->srq_context;
    return &fake.srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
    (void)srq;
    fake.modified_srq = *attr;
    fake.modify_mask = mask;
    return answer("ibv_modify_srq");
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
    (void)srq;
    *attr = fake.queried_srq;
    return answer("ibv_query_srq");
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
    (void)srq;
    return answer("ibv_destroy_srq");
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    (void)pd;
    fake.created = *attr;
    if (answer("ibv_create_qp") != 0)
        return NULL;
    attr->cap.max_send_wr += 7;
    attr->cap.max_inline_data = 220;
    return &fake.qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    (void)qp;
    return answer("ibv_destroy_qp");
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)qp;
    fake.modified = *attr;
    fake.modify_mask = mask;
    return answer("ibv_modify_qp");
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    (void)qp;
    fake.modify_mask = mask;
    *attr = fake.queried;
    init->sq_sig_all = 1;
    return answer("ibv_query_qp");
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    (void)context;
    *event = fake.event;
    return answer("ibv_get_async_event");
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)answer("ibv_ack_async_event");
    fake.acked_event = *event;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    (void)status;
    (void)answer("ibv_wc_status_str");
    return fake.text;
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
    (void)event;
    (void)answer("ibv_event_type_str");
    return fake.text;
}

const char *ibv_port_state_str(enum ibv_port_state state)
{
    (void)state;
    (void)answer("ibv_port_state_str");
    return fake.text;
}

const char *ibv_node_type_str(enum ibv_node_type type)
{
    (void)type;
    (void)answer("ibv_node_type_str");
    return fake.text;
}
