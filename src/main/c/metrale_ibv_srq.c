/* Shared receive queues. */
#include "metrale_ibv_internal.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME(METRALE_IBV_SRQ_MAX_WR, IBV_SRQ_MAX_WR);
SAME(METRALE_IBV_SRQ_LIMIT, IBV_SRQ_LIMIT);

_Static_assert(sizeof(struct metrale_ibv_srq_attr) == 16, "layout is part of the ABI");

int metrale_ibv_create_srq(struct ibv_pd *pd, uint64_t srq_context,
                           struct metrale_ibv_srq_attr *attr, struct ibv_srq **srq)
{
    struct ibv_srq_init_attr init;
    struct ibv_srq *made;

    if (pd == NULL || attr == NULL || srq == NULL)
        return -EINVAL;

    memset(&init, 0, sizeof(init));
    init.srq_context = metrale_pointer(srq_context);
    init.attr.max_wr = attr->max_wr;
    init.attr.max_sge = attr->max_sge;
    errno = 0;
    made = ibv_create_srq(pd, &init);
    if (made == NULL)
        return metrale_errno_failure(errno);

    attr->max_wr = init.attr.max_wr;
    attr->max_sge = init.attr.max_sge;
    *srq = made;
    return 0;
}

int metrale_ibv_modify_srq(struct ibv_srq *srq, const struct metrale_ibv_srq_attr *attr,
                           uint32_t mask)
{
    struct ibv_srq_attr to;
    int rc;

    if (srq == NULL || attr == NULL ||
        (mask & ~(uint32_t)(METRALE_IBV_SRQ_MAX_WR | METRALE_IBV_SRQ_LIMIT)) != 0)
        return -EINVAL;

    memset(&to, 0, sizeof(to));
    to.max_wr = attr->max_wr;
    to.srq_limit = attr->srq_limit;
    errno = 0;
    rc = ibv_modify_srq(srq, &to, (int)mask);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_query_srq(struct ibv_srq *srq, struct metrale_ibv_srq_attr *attr)
{
    struct ibv_srq_attr now;
    int rc;

    if (srq == NULL || attr == NULL)
        return -EINVAL;

    memset(&now, 0, sizeof(now));
    errno = 0;
    rc = ibv_query_srq(srq, &now);
    if (rc != 0)
        return metrale_failure(rc, errno);

    memset(attr, 0, sizeof(*attr));
    attr->max_wr = now.max_wr;
    attr->max_sge = now.max_sge;
    attr->srq_limit = now.srq_limit;
    return 0;
}

int metrale_ibv_destroy_srq(struct ibv_srq *srq)
{
    int rc;

    if (srq == NULL)
        return -EINVAL;

    errno = 0;
    rc = ibv_destroy_srq(srq);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}
