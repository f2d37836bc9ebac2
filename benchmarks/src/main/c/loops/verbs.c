/*
 * 64 work requests, each filled anew, posted as one list, and their completions taken with one
 * poll; the same fields are read that Java reads. Counted by request.
 */
#include <infiniband/verbs.h>
#include <string.h>

#include "bench.h"

enum { COUNT = 64 };

static struct ibv_qp *qp;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static char memory[COUNT * 4096];
static volatile uint64_t seen;

static void post_and_reap(long times)
{
    struct ibv_send_wr requests[COUNT];
    struct ibv_sge parts[COUNT];
    struct ibv_wc completions[COUNT];
    struct ibv_send_wr *bad;
    uint64_t sum = 0;

    for (long done = 0; done < times; done += COUNT) {
        for (int i = 0; i < COUNT; i++) {
            parts[i].addr = (uintptr_t)(memory + 4096 * i);
            parts[i].length = 4096;
            parts[i].lkey = mr->lkey;
            memset(&requests[i], 0, sizeof(requests[i]));
            requests[i].wr_id = (uint64_t)i;
            requests[i].next = i + 1 < COUNT ? &requests[i + 1] : NULL;
            requests[i].sg_list = &parts[i];
            requests[i].num_sge = 1;
            requests[i].opcode = IBV_WR_RDMA_READ;
            requests[i].send_flags = IBV_SEND_SIGNALED;
            requests[i].wr.rdma.remote_addr = 0x7f0000000000u + 4096u * (unsigned)i;
            requests[i].wr.rdma.rkey = 0x1234;
        }
        if (ibv_post_send(qp, requests, &bad) != 0)
            exit(1);
        int count = ibv_poll_cq(cq, COUNT, completions);
        for (int i = 0; i < count; i++) {
            if (completions[i].status != IBV_WC_SUCCESS)
                exit(1);
            sum += completions[i].wr_id + completions[i].byte_len;
        }
    }
    seen = sum;
}

int main(int count, char **arguments)
{
    struct ibv_qp_init_attr attr;

    bench_arguments(count, arguments);
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 512, NULL, NULL, 0);
    memset(&attr, 0, sizeof(attr));
    attr.send_cq = attr.recv_cq = cq;
    qp = ibv_create_qp(pd, &attr);
    mr = ibv_reg_mr(pd, memory, sizeof(memory), 0);
    bench("post-reap-64", post_and_reap);
    return 0;
}
