/* Requests that libibverbs takes as they are: no more is written than their ids, and where they
 * end. */
#include "metrale_ibv_internal.h"

#define AT(offset, type, field)                                                                    \
    _Static_assert((size_t)(offset) == offsetof(struct type, field), #offset " is " #field)
#define UNUSED_FROM(bytes, type, field)                                                            \
    _Static_assert((size_t)(bytes) <= offsetof(struct type, field), #field " is used by no "       \
                                                                           "opcode")

AT(METRALE_IBV_LINKED_ID, ibv_send_wr, wr_id);
AT(METRALE_IBV_LINKED_NEXT, ibv_send_wr, next);
AT(METRALE_IBV_LINKED_PARTS, ibv_send_wr, sg_list);
AT(METRALE_IBV_LINKED_PART_COUNT, ibv_send_wr, num_sge);
AT(METRALE_IBV_LINKED_OPCODE, ibv_send_wr, opcode);
AT(METRALE_IBV_LINKED_FLAGS, ibv_send_wr, send_flags);
AT(METRALE_IBV_LINKED_IMM, ibv_send_wr, imm_data);
AT(METRALE_IBV_LINKED_REMOTE_ADDR, ibv_send_wr, wr.rdma.remote_addr);
AT(METRALE_IBV_LINKED_REMOTE_ADDR, ibv_send_wr, wr.atomic.remote_addr);
AT(METRALE_IBV_LINKED_RKEY, ibv_send_wr, wr.rdma.rkey);
AT(METRALE_IBV_LINKED_COMPARE_ADD, ibv_send_wr, wr.atomic.compare_add);
AT(METRALE_IBV_LINKED_SWAP, ibv_send_wr, wr.atomic.swap);
AT(METRALE_IBV_LINKED_ATOMIC_RKEY, ibv_send_wr, wr.atomic.rkey);
UNUSED_FROM(METRALE_IBV_LINKED_SEND_PART, ibv_send_wr, qp_type);
_Static_assert(sizeof(struct ibv_send_wr) <= 2 * METRALE_IBV_LINKED_SEND_BYTES, "room behind");
_Static_assert(METRALE_IBV_LINKED_SEND_PART + METRALE_IBV_LINKED_PART_BYTES ==
                   METRALE_IBV_LINKED_SEND_BYTES,
               "the part is the last of a request");

AT(METRALE_IBV_LINKED_ID, ibv_recv_wr, wr_id);
AT(METRALE_IBV_LINKED_NEXT, ibv_recv_wr, next);
AT(METRALE_IBV_LINKED_PARTS, ibv_recv_wr, sg_list);
AT(METRALE_IBV_LINKED_PART_COUNT, ibv_recv_wr, num_sge);
_Static_assert(sizeof(struct ibv_recv_wr) == METRALE_IBV_LINKED_RECV_PART, "the part is behind");
_Static_assert(METRALE_IBV_LINKED_RECV_PART + METRALE_IBV_LINKED_PART_BYTES ==
                   METRALE_IBV_LINKED_RECV_BYTES,
               "the part is the last of a request");

AT(0, ibv_sge, addr);
AT(8, ibv_sge, length);
AT(12, ibv_sge, lkey);
_Static_assert(sizeof(struct ibv_sge) == METRALE_IBV_LINKED_PART_BYTES, "a part");

static int usable(uint64_t queue, uint64_t requests, uint32_t count, uint64_t accepted)
{
    return queue != 0 && requests != 0 && (requests & 7) == 0 && count <= INT32_MAX &&
           accepted != 0;
}

/* The library refused the request at bad, or does not say which. */
static int refused(int rc, uint64_t bad, uint64_t requests, uint32_t count, uint32_t bytes,
                   uint32_t *accepted)
{
    uint64_t place = (bad - requests) / bytes;

    if (bad >= requests && place < count && bad == requests + place * bytes) {
        *accepted = (uint32_t)place;
        return rc;
    }
    return metrale_not_said_which(rc, accepted, count);
}

int metrale_ibv_post_send_linked(uint64_t qp, uint64_t requests, uint32_t count, uint64_t first_id,
                                 uint64_t step, uint64_t accepted)
{
    const uint32_t bytes = METRALE_IBV_LINKED_SEND_BYTES;
    struct ibv_send_wr *bad = NULL;
    struct ibv_send_wr *wr = NULL;
    uint32_t *taken = metrale_pointer(accepted);
    uint32_t i;
    int rc;

    if (!usable(qp, requests, count, accepted))
        return -EINVAL;
    *taken = 0;
    if (count == 0)
        return 0;

    for (i = 0; i < count; i++) {
        wr = metrale_pointer(requests + (uint64_t)i * bytes);
        wr->wr_id = first_id + i * step;
    }
    wr->next = NULL;
    errno = 0;
    rc = ibv_post_send(metrale_pointer(qp), metrale_pointer(requests), &bad);
    if (rc != 0)
        return refused(metrale_failure(rc, errno), (uintptr_t)bad, requests, count, bytes, taken);
    *taken = count;
    return (int)count;
}

/* Cuts the chain behind its last request. */
static void end_receives(uint64_t requests, uint32_t count)
{
    struct ibv_recv_wr *last =
        metrale_pointer(requests + (uint64_t)(count - 1) * METRALE_IBV_LINKED_RECV_BYTES);

    last->next = NULL;
}

/* What a post of receives says, once the library has answered. */
static int received(int rc, struct ibv_recv_wr *bad, uint64_t requests, uint32_t count,
                    uint32_t *accepted)
{
    if (rc != 0)
        return refused(metrale_failure(rc, errno), (uintptr_t)bad, requests, count,
                       METRALE_IBV_LINKED_RECV_BYTES, accepted);
    *accepted = count;
    return (int)count;
}

int metrale_ibv_post_recv_linked(uint64_t qp, uint64_t requests, uint32_t count, uint64_t first_id,
                                 uint64_t step, uint64_t accepted)
{
    struct ibv_recv_wr *bad = NULL;
    struct ibv_recv_wr *wr;
    uint32_t *taken = metrale_pointer(accepted);
    uint32_t i;
    int rc;

    if (!usable(qp, requests, count, accepted))
        return -EINVAL;
    *taken = 0;
    if (count == 0)
        return 0;

    for (i = 0; i < count; i++) {
        wr = metrale_pointer(requests + (uint64_t)i * METRALE_IBV_LINKED_RECV_BYTES);
        wr->wr_id = first_id + i * step;
    }
    end_receives(requests, count);
    errno = 0;
    rc = ibv_post_recv(metrale_pointer(qp), metrale_pointer(requests), &bad);
    return received(rc, bad, requests, count, taken);
}

int metrale_ibv_post_srq_recv_linked(uint64_t srq, uint64_t requests, uint32_t count,
                                     uint64_t accepted)
{
    struct ibv_recv_wr *bad = NULL;
    uint32_t *taken = metrale_pointer(accepted);
    int rc;

    if (!usable(srq, requests, count, accepted))
        return -EINVAL;
    *taken = 0;
    if (count == 0)
        return 0;

    end_receives(requests, count);
    errno = 0;
    rc = ibv_post_srq_recv(metrale_pointer(srq), metrale_pointer(requests), &bad);
    return received(rc, bad, requests, count, taken);
}
