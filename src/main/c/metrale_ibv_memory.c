/* Protection domains and memory regions. */
#include "metrale_ibv_internal.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME(METRALE_IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
SAME(METRALE_IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
SAME(METRALE_IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
SAME(METRALE_IBV_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
SAME(METRALE_IBV_ACCESS_MW_BIND, IBV_ACCESS_MW_BIND);
SAME(METRALE_IBV_ACCESS_ZERO_BASED, IBV_ACCESS_ZERO_BASED);
SAME(METRALE_IBV_ACCESS_ON_DEMAND, IBV_ACCESS_ON_DEMAND);
SAME(METRALE_IBV_ACCESS_HUGETLB, IBV_ACCESS_HUGETLB);
SAME(METRALE_IBV_ACCESS_RELAXED_ORDERING, IBV_ACCESS_RELAXED_ORDERING);

_Static_assert(sizeof(struct metrale_ibv_mr) == 24, "layout is part of the ABI");
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "lengths are passed on as they are");

int metrale_ibv_alloc_pd(struct ibv_context *context, struct ibv_pd **pd)
{
    struct ibv_pd *made;

    if (context == NULL || pd == NULL)
        return -EINVAL;

    errno = 0;
    made = ibv_alloc_pd(context);
    if (made == NULL)
        return metrale_errno_failure(errno);

    *pd = made;
    return 0;
}

int metrale_ibv_dealloc_pd(struct ibv_pd *pd)
{
    int rc;

    if (pd == NULL)
        return -EINVAL;

    errno = 0;
    rc = ibv_dealloc_pd(pd);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_reg_mr(struct ibv_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
                       struct ibv_mr **mr)
{
    struct ibv_mr *made;

    /* Address 0 means the whole address space, which only on-demand paging can register. */
    if (pd == NULL || mr == NULL || (addr == 0 && (access & IBV_ACCESS_ON_DEMAND) == 0) ||
        access > INT32_MAX)
        return -EINVAL;

    /* The parentheses keep the macro away: it would take the newer function for every flag. */
    errno = 0;
    if ((access & IBV_ACCESS_OPTIONAL_RANGE) == 0)
        made = (ibv_reg_mr)(pd, metrale_pointer(addr), length, (int)access);
    else
        made = ibv_reg_mr_iova2(pd, metrale_pointer(addr), length, addr, access);
    if (made == NULL)
        return metrale_errno_failure(errno);

    *mr = made;
    return 0;
}

int metrale_ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, uint64_t length, uint64_t iova,
                              int fd, uint32_t access, struct ibv_mr **mr)
{
    struct ibv_mr *made;

    if (pd == NULL || mr == NULL || fd < 0 || access > INT32_MAX)
        return -EINVAL;

    errno = 0;
    made = ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, (int)access);
    if (made == NULL)
        return metrale_errno_failure(errno);

    *mr = made;
    return 0;
}

int metrale_ibv_dereg_mr(struct ibv_mr *mr)
{
    int rc;

    if (mr == NULL)
        return -EINVAL;

    errno = 0;
    rc = ibv_dereg_mr(mr);
    return rc == 0 ? 0 : metrale_failure(rc, errno);
}

int metrale_ibv_describe_mr(struct ibv_mr *mr, struct metrale_ibv_mr *out)
{
    if (mr == NULL || out == NULL)
        return -EINVAL;

    out->addr = (uint64_t)(uintptr_t)mr->addr;
    out->length = mr->length;
    out->lkey = mr->lkey;
    out->rkey = mr->rkey;
    return 0;
}
