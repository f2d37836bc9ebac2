/* Queue pairs and posting. */
#include <endian.h>

#include "metrale_ibv_internal.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME(METRALE_IBV_QPT_RC, IBV_QPT_RC);
SAME(METRALE_IBV_QPT_UC, IBV_QPT_UC);
SAME(METRALE_IBV_QPS_RESET, IBV_QPS_RESET);
SAME(METRALE_IBV_QPS_INIT, IBV_QPS_INIT);
SAME(METRALE_IBV_QPS_RTR, IBV_QPS_RTR);
SAME(METRALE_IBV_QPS_RTS, IBV_QPS_RTS);
SAME(METRALE_IBV_QPS_SQD, IBV_QPS_SQD);
SAME(METRALE_IBV_QPS_SQE, IBV_QPS_SQE);
SAME(METRALE_IBV_QPS_ERR, IBV_QPS_ERR);
SAME(METRALE_IBV_QPS_UNKNOWN, IBV_QPS_UNKNOWN);
SAME(METRALE_IBV_QP_STATE, IBV_QP_STATE);
SAME(METRALE_IBV_QP_CUR_STATE, IBV_QP_CUR_STATE);
SAME(METRALE_IBV_QP_ACCESS_FLAGS, IBV_QP_ACCESS_FLAGS);
SAME(METRALE_IBV_QP_PKEY_INDEX, IBV_QP_PKEY_INDEX);
SAME(METRALE_IBV_QP_PORT, IBV_QP_PORT);
SAME(METRALE_IBV_QP_AV, IBV_QP_AV);
SAME(METRALE_IBV_QP_PATH_MTU, IBV_QP_PATH_MTU);
SAME(METRALE_IBV_QP_TIMEOUT, IBV_QP_TIMEOUT);
SAME(METRALE_IBV_QP_RETRY_CNT, IBV_QP_RETRY_CNT);
SAME(METRALE_IBV_QP_RNR_RETRY, IBV_QP_RNR_RETRY);
SAME(METRALE_IBV_QP_RQ_PSN, IBV_QP_RQ_PSN);
SAME(METRALE_IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
SAME(METRALE_IBV_QP_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
SAME(METRALE_IBV_QP_SQ_PSN, IBV_QP_SQ_PSN);
SAME(METRALE_IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME(METRALE_IBV_QP_DEST_QPN, IBV_QP_DEST_QPN);
SAME(METRALE_IBV_QP_TO_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
SAME(METRALE_IBV_QP_TO_RTR, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
SAME(METRALE_IBV_QP_TO_RTS, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
SAME(METRALE_IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE);
SAME(METRALE_IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(METRALE_IBV_WR_SEND, IBV_WR_SEND);
SAME(METRALE_IBV_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM);
SAME(METRALE_IBV_WR_RDMA_READ, IBV_WR_RDMA_READ);
SAME(METRALE_IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(METRALE_IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(METRALE_IBV_SEND_FENCE, IBV_SEND_FENCE);
SAME(METRALE_IBV_SEND_SIGNALED, IBV_SEND_SIGNALED);
SAME(METRALE_IBV_SEND_SOLICITED, IBV_SEND_SOLICITED);
SAME(METRALE_IBV_SEND_INLINE, IBV_SEND_INLINE);

_Static_assert(sizeof(struct metrale_ibv_qp_init) == 32, "layout is part of the ABI");
_Static_assert(sizeof(struct metrale_ibv_qp_attr) == 112, "layout is part of the ABI");
_Static_assert(offsetof(struct metrale_ibv_qp_attr, dgid) == 64, "layout is part of the ABI");
_Static_assert(offsetof(struct metrale_ibv_qp_attr, sgid_index) == 80, "layout");
_Static_assert(sizeof(struct metrale_ibv_send_wr) == 64, "layout is part of the ABI");
_Static_assert(offsetof(struct metrale_ibv_send_wr, length) == 40, "layout is part of the ABI");
_Static_assert(offsetof(struct metrale_ibv_send_wr, imm) == 60, "layout is part of the ABI");
_Static_assert(sizeof(struct metrale_ibv_recv_wr) == 24, "layout is part of the ABI");

enum {
    MAX_24_BITS = 0xffffff,
    MAX_FLOW_LABEL = 0xfffff,
    KNOWN_ATTRIBUTES = METRALE_IBV_QP_TO_INIT | METRALE_IBV_QP_TO_RTR | METRALE_IBV_QP_TO_RTS |
                       METRALE_IBV_QP_CUR_STATE,
    /* What a query asks for: all that the flat structure holds, and the capacities. */
    QUERIED_ATTRIBUTES = KNOWN_ATTRIBUTES | IBV_QP_CAP
};

int metrale_ibv_create_qp(struct ibv_pd *pd, struct ibv_cq *send_cq, struct ibv_cq *recv_cq,
                          struct ibv_srq *srq, struct metrale_ibv_qp_init *init, struct ibv_qp **qp)
{
    struct ibv_qp_init_attr attr;
    struct ibv_qp *made;

    if (pd == NULL || send_cq == NULL || recv_cq == NULL || init == NULL || qp == NULL)
        return -EINVAL;
    if (init->qp_type != METRALE_IBV_QPT_RC && init->qp_type != METRALE_IBV_QPT_UC)
        return -EOPNOTSUPP;

    memset(&attr, 0, sizeof(attr));
    attr.send_cq = send_cq;
    attr.recv_cq = recv_cq;
    attr.srq = srq;
    attr.cap.max_send_wr = init->max_send_wr;
    attr.cap.max_recv_wr = init->max_recv_wr;
    attr.cap.max_send_sge = init->max_send_sge;
    attr.cap.max_recv_sge = init->max_recv_sge;
    attr.cap.max_inline_data = init->max_inline_bytes;
    attr.qp_type = (enum ibv_qp_type)init->qp_type;
    attr.sq_sig_all = init->sq_sig_all != 0;
    errno = 0;
    made = ibv_create_qp(pd, &attr);
    if (made == NULL)
        return metrale_errno_failure(errno);

    init->max_send_wr = attr.cap.max_send_wr;
    init->max_recv_wr = attr.cap.max_recv_wr;
    init->max_send_sge = attr.cap.max_send_sge;
    init->max_recv_sge = attr.cap.max_recv_sge;
    init->max_inline_bytes = attr.cap.max_inline_data;
    *qp = made;
    return 0;
}

int metrale_ibv_destroy_qp(struct ibv_qp *qp)
{
    int rc;

    if (qp == NULL)
        return -EINVAL;

    errno = 0;
    rc = ibv_destroy_qp(qp);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_qp_num(struct ibv_qp *qp)
{
    return qp != NULL ? (int)(qp->qp_num & MAX_24_BITS) : -EINVAL;
}

static int fits(const struct metrale_ibv_qp_attr *attr, uint32_t mask)
{
    if ((mask & METRALE_IBV_QP_STATE) != 0 && attr->qp_state > METRALE_IBV_QPS_ERR)
        return 0;
    if ((mask & METRALE_IBV_QP_CUR_STATE) != 0 && attr->cur_qp_state > METRALE_IBV_QPS_ERR)
        return 0;
    if ((mask & METRALE_IBV_QP_PKEY_INDEX) != 0 && attr->pkey_index > UINT16_MAX)
        return 0;
    if ((mask & METRALE_IBV_QP_PORT) != 0 && (attr->port_num == 0 || attr->port_num > UINT8_MAX))
        return 0;
    if ((mask & METRALE_IBV_QP_PATH_MTU) != 0 &&
        (attr->path_mtu < METRALE_IBV_MTU_256 || attr->path_mtu > METRALE_IBV_MTU_4096))
        return 0;
    if ((mask & METRALE_IBV_QP_DEST_QPN) != 0 && attr->dest_qp_num > MAX_24_BITS)
        return 0;
    if ((mask & METRALE_IBV_QP_RQ_PSN) != 0 && attr->rq_psn > MAX_24_BITS)
        return 0;
    if ((mask & METRALE_IBV_QP_SQ_PSN) != 0 && attr->sq_psn > MAX_24_BITS)
        return 0;
    if ((mask & METRALE_IBV_QP_MAX_QP_RD_ATOMIC) != 0 && attr->max_rd_atomic > UINT8_MAX)
        return 0;
    if ((mask & METRALE_IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && attr->max_dest_rd_atomic > UINT8_MAX)
        return 0;
    if ((mask & METRALE_IBV_QP_MIN_RNR_TIMER) != 0 && attr->min_rnr_timer > 31)
        return 0;
    if ((mask & METRALE_IBV_QP_TIMEOUT) != 0 && attr->timeout > 31)
        return 0;
    if ((mask & METRALE_IBV_QP_RETRY_CNT) != 0 && attr->retry_cnt > 7)
        return 0;
    if ((mask & METRALE_IBV_QP_RNR_RETRY) != 0 && attr->rnr_retry > 7)
        return 0;
    if ((mask & METRALE_IBV_QP_AV) != 0) {
        if (attr->port_num == 0 || attr->port_num > UINT8_MAX || attr->is_global > 1)
            return 0;
        if (attr->dlid > UINT16_MAX || attr->service_level > 15 || attr->static_rate > UINT8_MAX ||
            attr->src_path_bits > 127)
            return 0;
        if (attr->sgid_index > UINT8_MAX || attr->flow_label > MAX_FLOW_LABEL ||
            attr->hop_limit > UINT8_MAX || attr->traffic_class > UINT8_MAX)
            return 0;
    }
    return 1;
}

int metrale_ibv_modify_qp(struct ibv_qp *qp, const struct metrale_ibv_qp_attr *attr, uint32_t mask)
{
    struct ibv_qp_attr to;
    int rc;

    if (qp == NULL || attr == NULL || (mask & ~(uint32_t)KNOWN_ATTRIBUTES) != 0 ||
        !fits(attr, mask))
        return -EINVAL;

    memset(&to, 0, sizeof(to));
    to.qp_state = (enum ibv_qp_state)attr->qp_state;
    to.cur_qp_state = (enum ibv_qp_state)attr->cur_qp_state;
    to.path_mtu = (enum ibv_mtu)attr->path_mtu;
    to.rq_psn = attr->rq_psn;
    to.sq_psn = attr->sq_psn;
    to.dest_qp_num = attr->dest_qp_num;
    to.qp_access_flags = attr->access_flags;
    to.pkey_index = (uint16_t)attr->pkey_index;
    to.port_num = (uint8_t)attr->port_num;
    to.max_rd_atomic = (uint8_t)attr->max_rd_atomic;
    to.max_dest_rd_atomic = (uint8_t)attr->max_dest_rd_atomic;
    to.min_rnr_timer = (uint8_t)attr->min_rnr_timer;
    to.timeout = (uint8_t)attr->timeout;
    to.retry_cnt = (uint8_t)attr->retry_cnt;
    to.rnr_retry = (uint8_t)attr->rnr_retry;
    to.ah_attr.dlid = (uint16_t)attr->dlid;
    to.ah_attr.sl = (uint8_t)attr->service_level;
    to.ah_attr.src_path_bits = (uint8_t)attr->src_path_bits;
    to.ah_attr.static_rate = (uint8_t)attr->static_rate;
    to.ah_attr.port_num = (uint8_t)attr->port_num;
    if (attr->is_global != 0) {
        to.ah_attr.is_global = 1;
        memcpy(to.ah_attr.grh.dgid.raw, attr->dgid, sizeof(attr->dgid));
        to.ah_attr.grh.flow_label = attr->flow_label;
        to.ah_attr.grh.sgid_index = (uint8_t)attr->sgid_index;
        to.ah_attr.grh.hop_limit = (uint8_t)attr->hop_limit;
        to.ah_attr.grh.traffic_class = (uint8_t)attr->traffic_class;
    }
    errno = 0;
    rc = ibv_modify_qp(qp, &to, (int)mask);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_query_qp(struct ibv_qp *qp, struct metrale_ibv_qp_attr *attr,
                         struct metrale_ibv_qp_init *init)
{
    struct ibv_qp_init_attr made_with;
    struct ibv_qp_attr now;
    int rc;

    if (qp == NULL || attr == NULL || init == NULL)
        return -EINVAL;

    memset(&now, 0, sizeof(now));
    memset(&made_with, 0, sizeof(made_with));
    errno = 0;
    rc = ibv_query_qp(qp, &now, QUERIED_ATTRIBUTES, &made_with);
    if (rc != 0)
        return metrale_failure(rc, errno);

    memset(attr, 0, sizeof(*attr));
    attr->qp_state = (uint32_t)now.qp_state;
    attr->cur_qp_state = (uint32_t)now.cur_qp_state;
    attr->path_mtu = (uint32_t)now.path_mtu;
    attr->rq_psn = now.rq_psn;
    attr->sq_psn = now.sq_psn;
    attr->dest_qp_num = now.dest_qp_num;
    attr->access_flags = now.qp_access_flags;
    attr->pkey_index = now.pkey_index;
    attr->port_num = now.port_num;
    attr->max_rd_atomic = now.max_rd_atomic;
    attr->max_dest_rd_atomic = now.max_dest_rd_atomic;
    attr->min_rnr_timer = now.min_rnr_timer;
    attr->timeout = now.timeout;
    attr->retry_cnt = now.retry_cnt;
    attr->rnr_retry = now.rnr_retry;
    attr->is_global = now.ah_attr.is_global;
    memcpy(attr->dgid, now.ah_attr.grh.dgid.raw, sizeof(attr->dgid));
    attr->sgid_index = now.ah_attr.grh.sgid_index;
    attr->flow_label = now.ah_attr.grh.flow_label;
    attr->hop_limit = now.ah_attr.grh.hop_limit;
    attr->traffic_class = now.ah_attr.grh.traffic_class;
    attr->dlid = now.ah_attr.dlid;
    attr->service_level = now.ah_attr.sl;
    attr->src_path_bits = now.ah_attr.src_path_bits;
    attr->static_rate = now.ah_attr.static_rate;

    memset(init, 0, sizeof(*init));
    init->max_send_wr = now.cap.max_send_wr;
    init->max_recv_wr = now.cap.max_recv_wr;
    init->max_send_sge = now.cap.max_send_sge;
    init->max_recv_sge = now.cap.max_recv_sge;
    init->max_inline_bytes = now.cap.max_inline_data;
    init->qp_type = (uint32_t)qp->qp_type;
    init->sq_sig_all = made_with.sq_sig_all != 0;
    return 0;
}

static int known_opcode(uint32_t opcode)
{
    /* The numbers up to this one are all in the flat request's reach. */
    return opcode <= METRALE_IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void fill_send(struct ibv_send_wr *to, struct ibv_sge *sge,
                      const struct metrale_ibv_send_wr *from)
{
    sge->addr = from->local_addr;
    sge->length = from->length;
    sge->lkey = from->lkey;

    to->wr_id = from->wr_id;
    to->next = to + 1;
    to->sg_list = sge;
    /* An element of length 0 would mean 2 GiB to some adapters. */
    to->num_sge = from->length > 0;
    to->opcode = (enum ibv_wr_opcode)from->opcode;
    to->send_flags = from->flags;
    to->imm_data = htobe32(from->imm);
    if (from->opcode >= METRALE_IBV_WR_ATOMIC_CMP_AND_SWP) {
        to->wr.atomic.remote_addr = from->remote_addr;
        to->wr.atomic.compare_add = from->compare_add;
        to->wr.atomic.swap = from->swap;
        to->wr.atomic.rkey = from->rkey;
    } else {
        to->wr.rdma.remote_addr = from->remote_addr;
        to->wr.rdma.rkey = from->rkey;
    }
}

int metrale_ibv_post_send(struct ibv_qp *qp, const struct metrale_ibv_send_wr *requests,
                          uint32_t count, uint32_t *accepted)
{
    struct ibv_send_wr wr[METRALE_IBV_BATCH];
    struct ibv_sge sge[METRALE_IBV_BATCH];
    struct ibv_send_wr *bad;
    uint32_t done = 0;
    uint32_t n;
    int rc = 0;

    if (qp == NULL || requests == NULL || accepted == NULL || count > INT32_MAX)
        return -EINVAL;

    while (rc == 0 && done < count) {
        for (n = 0; n < METRALE_IBV_BATCH && done + n < count; n++) {
            if (!known_opcode(requests[done + n].opcode))
                break;
            fill_send(&wr[n], &sge[n], &requests[done + n]);
        }
        if (n == 0) {
            rc = -EINVAL;
            break;
        }
        wr[n - 1].next = NULL;

        bad = NULL;
        errno = 0;
        rc = ibv_post_send(qp, wr, &bad);
        if (rc == 0) {
            done += n;
        } else {
            rc = metrale_failure(rc, errno);
            if (bad != NULL && bad >= wr && bad < wr + n)
                done += (uint32_t)(bad - wr);
            else
                rc = metrale_not_said_which(rc, &done, n);
        }
    }

    *accepted = done;
    return rc == 0 ? (int)done : rc;
}

int metrale_ibv_post_recv(struct ibv_qp *qp, const struct metrale_ibv_recv_wr *requests,
                          uint32_t count, uint32_t *accepted)
{
    struct ibv_recv_wr wr[METRALE_IBV_BATCH];
    struct ibv_sge sge[METRALE_IBV_BATCH];
    struct ibv_recv_wr *bad;
    uint32_t done = 0;
    uint32_t n;
    int rc = 0;

    if (qp == NULL || requests == NULL || accepted == NULL || count > INT32_MAX)
        return -EINVAL;

    while (rc == 0 && done < count) {
        for (n = 0; n < METRALE_IBV_BATCH && done + n < count; n++) {
            sge[n].addr = requests[done + n].local_addr;
            sge[n].length = requests[done + n].length;
            sge[n].lkey = requests[done + n].lkey;
            wr[n].wr_id = requests[done + n].wr_id;
            wr[n].next = &wr[n] + 1;
            wr[n].sg_list = &sge[n];
            wr[n].num_sge = sge[n].length > 0;
        }
        wr[n - 1].next = NULL;

        bad = NULL;
        errno = 0;
        rc = ibv_post_recv(qp, wr, &bad);
        if (rc == 0) {
            done += n;
        } else {
            rc = metrale_failure(rc, errno);
            if (bad != NULL && bad >= wr && bad < wr + n)
                done += (uint32_t)(bad - wr);
            else
                rc = metrale_not_said_which(rc, &done, n);
        }
    }

    *accepted = done;
    return rc == 0 ? (int)done : rc;
}

int metrale_ibv_post_send_flat(uint64_t qp, uint64_t requests, uint32_t count, uint64_t accepted)
{
    uint32_t unused;

    return metrale_ibv_post_send(metrale_pointer(qp), metrale_pointer(requests), count,
                                 accepted != 0 ? metrale_pointer(accepted) : &unused);
}

int metrale_ibv_post_recv_flat(uint64_t qp, uint64_t requests, uint32_t count, uint64_t accepted)
{
    uint32_t unused;

    return metrale_ibv_post_recv(metrale_pointer(qp), metrale_pointer(requests), count,
                                 accepted != 0 ? metrale_pointer(accepted) : &unused);
}
