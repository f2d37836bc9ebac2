/* A scripted libibverbs: each function counts its calls, keeps what it was given and answers what
 * the test set. */
#ifndef FAKE_IBVERBS_H
#define FAKE_IBVERBS_H

#include <infiniband/verbs.h>

struct fake {
    /* Answers. A function that returns a pointer returns NULL when `rc` is not 0. */
    int rc;
    int set_errno;
    /* The provider's post refuses the request at this place of a call, when not negative. */
    int refuse_at;
    int refuse_rc;
    int refuse_without_bad;
    /* Names what lies so many bytes behind the refused one instead. */
    int refuse_offset;
    int poll_count;
    struct ibv_wc poll_wc[8];
    struct ibv_async_event event;
    struct ibv_gid_entry gids[4];
    int gid_count;
    union ibv_gid plain_gid;
    struct ibv_port_attr port;
    struct ibv_device_attr device_attr;
    struct ibv_qp_attr queried;
    struct ibv_srq_attr queried_srq;
    int device_index;
    const char *text;

    /* What was asked. */
    const char *last_call;
    int calls;
    struct ibv_qp_attr modified;
    int modify_mask;
    struct ibv_qp_init_attr created;
    struct ibv_srq_init_attr created_srq;
    struct ibv_srq_attr modified_srq;
    uint64_t reg_addr;
    size_t reg_length;
    uint64_t reg_iova;
    unsigned int reg_access;
    int reg_fd;
    int doorbells;
    int posted;
    struct ibv_send_wr sent[256];
    struct ibv_sge sent_sge[256];
    struct ibv_recv_wr received[256];
    struct ibv_sge received_sge[256];
    int solicited_only;
    int cq_entries;
    int comp_vector;
    struct ibv_comp_channel *cq_channel;
    unsigned int acked;
    struct ibv_async_event acked_event;

    /* The objects handed out. */
    struct ibv_device devices[2];
    struct ibv_pd pd;
    struct ibv_mr mr;
    struct ibv_comp_channel channel;
    struct ibv_cq cq;
    struct ibv_srq srq;
    struct ibv_qp qp;
};

extern struct fake fake;

/* Back to a library with two devices where everything works. */
void fake_reset(void);

/* A context with the extended operations, or as an old provider has it. */
struct ibv_context *fake_context(int extended);

#endif
