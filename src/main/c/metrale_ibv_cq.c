/* Completion channels and completion queues. */
#include <endian.h>

#include "metrale_ibv_internal.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME(METRALE_IBV_WC_SUCCESS, IBV_WC_SUCCESS);
SAME(METRALE_IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
SAME(METRALE_IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR);
SAME(METRALE_IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
SAME(METRALE_IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
SAME(METRALE_IBV_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR);
SAME(METRALE_IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR);
SAME(METRALE_IBV_WC_FATAL_ERR, IBV_WC_FATAL_ERR);
SAME(METRALE_IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR);
SAME(METRALE_IBV_WC_TM_RNDV_INCOMPLETE, IBV_WC_TM_RNDV_INCOMPLETE);
SAME(METRALE_IBV_WC_SEND, IBV_WC_SEND);
SAME(METRALE_IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE);
SAME(METRALE_IBV_WC_RDMA_READ, IBV_WC_RDMA_READ);
SAME(METRALE_IBV_WC_COMP_SWAP, IBV_WC_COMP_SWAP);
SAME(METRALE_IBV_WC_FETCH_ADD, IBV_WC_FETCH_ADD);
SAME(METRALE_IBV_WC_RECV, IBV_WC_RECV);
SAME(METRALE_IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
SAME(METRALE_IBV_WC_GRH, IBV_WC_GRH);
SAME(METRALE_IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);

/* The adapter's completions are written straight into the caller's buffer. */
#define SAME_PLACE(ours, theirs)                                                                   \
    _Static_assert(offsetof(struct metrale_ibv_wc, ours) == offsetof(struct ibv_wc, theirs), #ours)

_Static_assert(sizeof(struct metrale_ibv_wc) == 48, "layout is part of the ABI");
_Static_assert(sizeof(struct metrale_ibv_wc) == sizeof(struct ibv_wc), "layout");
SAME_PLACE(wr_id, wr_id);
SAME_PLACE(status, status);
SAME_PLACE(opcode, opcode);
SAME_PLACE(vendor_err, vendor_err);
SAME_PLACE(byte_len, byte_len);
SAME_PLACE(imm, imm_data);
SAME_PLACE(qp_num, qp_num);
SAME_PLACE(src_qp, src_qp);
SAME_PLACE(flags, wc_flags);
SAME_PLACE(pkey_index, pkey_index);
SAME_PLACE(slid, slid);
SAME_PLACE(service_level, sl);
SAME_PLACE(dlid_path_bits, dlid_path_bits);

int metrale_ibv_create_comp_channel(struct ibv_context *context, struct ibv_comp_channel **channel)
{
    struct ibv_comp_channel *made;

    if (context == NULL || channel == NULL)
        return -EINVAL;

    errno = 0;
    made = ibv_create_comp_channel(context);
    if (made == NULL)
        return metrale_errno_failure(errno);

    *channel = made;
    return 0;
}

int metrale_ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    int rc;

    if (channel == NULL)
        return -EINVAL;

    errno = 0;
    rc = ibv_destroy_comp_channel(channel);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_comp_channel_fd(struct ibv_comp_channel *channel)
{
    return channel != NULL ? channel->fd : -EINVAL;
}

int metrale_ibv_get_cq_event(struct ibv_comp_channel *channel, uint64_t *cq)
{
    struct ibv_cq *from = NULL;
    void *cq_context = NULL;
    int rc;

    if (channel == NULL || cq == NULL)
        return -EINVAL;

    errno = 0;
    rc = ibv_get_cq_event(channel, &from, &cq_context);
    if (rc != 0)
        return metrale_failure(rc, errno);

    *cq = (uint64_t)(uintptr_t)from;
    return 0;
}

int metrale_ibv_create_cq(struct ibv_context *context, uint32_t entries,
                          struct ibv_comp_channel *channel, uint32_t comp_vector,
                          struct ibv_cq **cq)
{
    struct ibv_cq *made;

    if (context == NULL || cq == NULL || entries == 0 || entries > INT32_MAX ||
        comp_vector > INT32_MAX)
        return -EINVAL;

    errno = 0;
    made = ibv_create_cq(context, (int)entries, NULL, channel, (int)comp_vector);
    if (made == NULL)
        return metrale_errno_failure(errno);

    *cq = made;
    return 0;
}

int metrale_ibv_destroy_cq(struct ibv_cq *cq)
{
    int rc;

    if (cq == NULL)
        return -EINVAL;

    errno = 0;
    rc = ibv_destroy_cq(cq);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_cq_entries(struct ibv_cq *cq)
{
    return cq != NULL ? cq->cqe : -EINVAL;
}

int metrale_ibv_resize_cq(struct ibv_cq *cq, uint32_t entries)
{
    int rc;

    if (cq == NULL || entries == 0 || entries > INT32_MAX)
        return -EINVAL;

    errno = 0;
    rc = ibv_resize_cq(cq, (int)entries);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_req_notify_cq(struct ibv_cq *cq, uint32_t solicited_only)
{
    int rc;

    if (cq == NULL)
        return -EINVAL;

    errno = 0;
    rc = ibv_req_notify_cq(cq, solicited_only != 0);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_ack_cq_events(struct ibv_cq *cq, uint32_t count)
{
    if (cq == NULL)
        return -EINVAL;

    if (count > 0)
        ibv_ack_cq_events(cq, count);
    return 0;
}

/* Takes completions; numbers that came with them are the only fields that are not ours already. */
static int poll_into(struct ibv_cq *cq, struct ibv_wc *wc, uint32_t capacity)
{
    int count;

    if (cq == NULL || wc == NULL || ((uintptr_t)wc & 7) != 0 || capacity > INT32_MAX)
        return -EINVAL;

    /* Providers return codes of their own here (-1, -2), so only errno tells the cause. */
    errno = 0;
    count = ibv_poll_cq(cq, (int)capacity, wc);
    return count < 0 ? metrale_errno_failure(errno) : count;
}

static void swap_imm(struct ibv_wc *wc)
{
    if ((wc->wc_flags & IBV_WC_WITH_IMM) != 0)
        wc->imm_data = be32toh(wc->imm_data);
}

int metrale_ibv_poll_cq(struct ibv_cq *cq, struct metrale_ibv_wc *out, uint32_t capacity)
{
    struct ibv_wc *wc = (struct ibv_wc *)out;
    int count = poll_into(cq, wc, capacity);
    int i;

    for (i = 0; i < count; i++)
        swap_imm(&wc[i]);
    return count;
}

int metrale_ibv_poll_cq_flat(uint64_t cq, uint64_t out, uint32_t capacity)
{
    return metrale_ibv_poll_cq(metrale_pointer(cq), metrale_pointer(out), capacity);
}

int64_t metrale_ibv_poll_cq_run(uint64_t cq, uint64_t out, uint32_t capacity, uint64_t step)
{
    struct ibv_wc *wc = metrale_pointer(out);
    int count = poll_into(metrale_pointer(cq), wc, capacity);
    uint64_t next;
    int run;
    int i;

    if (count <= 0)
        return count;

    next = wc[0].wr_id;
    for (i = 0; i < count && wc[i].wr_id == next && wc[i].status == IBV_WC_SUCCESS; i++) {
        swap_imm(&wc[i]);
        next += step;
    }
    run = i;
    for (; i < count; i++)
        swap_imm(&wc[i]);
    return (int64_t)run << 32 | count;
}

int metrale_ibv_req_notify_cq_flat(uint64_t cq, uint32_t solicited_only)
{
    return metrale_ibv_req_notify_cq(metrale_pointer(cq), solicited_only);
}
