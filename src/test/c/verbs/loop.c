/*
 * What PerftestProbe measures, in C over the shim: what Java costs is the difference of the two.
 *
 *   loop read|write bw|lat BYTES[xSLOTS] ITERATIONS NEAR FAR [NEAR FAR]
 *
 * Requests go to so many slots of memory by turns, one if not given, as perftest has it.
 * Prints MiB/s over all pairs of devices together, or the median of microseconds: of a read, or of
 * half the way of a write and the write that answers it, as perftest has it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "metrale_ibv.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum {
    MOST_PAIRS = 2,
    DEPTH = 128,          /* requests in flight, as perftest has it */
    READS_IN_FLIGHT = 16, /* as the Java layer has it */
    WARM_LATENCY = 1000
};

/* One end of a connection. What is sent lies in the first half of a slot, what comes in the second.
 */
struct end {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct metrale_ibv_gid_entry gid;
    struct metrale_ibv_mr keys;
    volatile uint8_t *memory;
};

static uint32_t opcode;
static uint32_t bytes;
static uint32_t slots = 1;
static long iterations;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct ibv_context *open_device(const char *name)
{
    struct metrale_ibv_device known;
    struct ibv_device *device;
    struct ibv_context *context = NULL;
    uint64_t list;
    int count = metrale_ibv_get_device_list(&list);

    for (int i = 0; i < count && context == NULL; i++) {
        CHECK(metrale_ibv_device_at(list, i, &device) == 0);
        CHECK(metrale_ibv_describe_device(device, &known) == 0);
        if (strcmp(known.name, name) == 0)
            CHECK(metrale_ibv_open_device(device, &context) == 0);
    }
    CHECK(context != NULL);
    CHECK(metrale_ibv_free_device_list(list) == 0);
    return context;
}

static void open_end(struct end *end, const char *device)
{
    struct metrale_ibv_qp_init init = {.max_send_wr = DEPTH,
                                       .max_recv_wr = 1,
                                       .max_send_sge = 1,
                                       .max_recv_sge = 1,
                                       .qp_type = METRALE_IBV_QPT_RC};
    uint32_t access = METRALE_IBV_ACCESS_LOCAL_WRITE | METRALE_IBV_ACCESS_REMOTE_READ |
                      METRALE_IBV_ACCESS_REMOTE_WRITE;
    size_t length = 2 * (size_t)bytes * slots;
    struct ibv_mr *mr;
    void *memory;

    end->context = open_device(device);
    CHECK(metrale_ibv_query_gid(end->context, 1, 1, &end->gid) == 0);
    CHECK(metrale_ibv_alloc_pd(end->context, &end->pd) == 0);
    CHECK(posix_memalign(&memory, 65536, length) == 0);
    memset(memory, 0, length);
    end->memory = memory;
    CHECK(metrale_ibv_reg_mr(end->pd, (uint64_t)(uintptr_t)memory, length, access, &mr) == 0);
    CHECK(metrale_ibv_describe_mr(mr, &end->keys) == 0);
    CHECK(metrale_ibv_create_cq(end->context, 2 * DEPTH, NULL, 0, &end->cq) == 0);
    CHECK(metrale_ibv_create_qp(end->pd, end->cq, end->cq, NULL, &init, &end->qp) == 0);
}

static void connect_end(struct end *end, const struct end *to)
{
    struct metrale_ibv_qp_attr attr = {.qp_state = METRALE_IBV_QPS_INIT,
                                       .port_num = 1,
                                       .access_flags = METRALE_IBV_ACCESS_REMOTE_READ |
                                                       METRALE_IBV_ACCESS_REMOTE_WRITE,
                                       .path_mtu = METRALE_IBV_MTU_4096,
                                       .dest_qp_num = (uint32_t)metrale_ibv_qp_num(to->qp),
                                       .rq_psn = 7,
                                       .sq_psn = 7,
                                       .max_rd_atomic = READS_IN_FLIGHT,
                                       .max_dest_rd_atomic = READS_IN_FLIGHT,
                                       .min_rnr_timer = 12,
                                       .timeout = 14,
                                       .retry_cnt = 6,
                                       .rnr_retry = 7,
                                       .is_global = 1,
                                       .sgid_index = end->gid.gid_index,
                                       .hop_limit = 64};

    memcpy(attr.dgid, to->gid.gid, 16);
    CHECK(metrale_ibv_modify_qp(end->qp, &attr, METRALE_IBV_QP_TO_INIT) == 0);
    attr.qp_state = METRALE_IBV_QPS_RTR;
    CHECK(metrale_ibv_modify_qp(end->qp, &attr, METRALE_IBV_QP_TO_RTR) == 0);
    attr.qp_state = METRALE_IBV_QPS_RTS;
    CHECK(metrale_ibv_modify_qp(end->qp, &attr, METRALE_IBV_QP_TO_RTS) == 0);
}

static int post(const struct end *from, const struct end *to, long turn)
{
    uint64_t offset = 2 * (uint64_t)bytes * ((uint64_t)turn % slots);
    struct metrale_ibv_send_wr request = {.local_addr = from->keys.addr + offset,
                                          .length = bytes,
                                          .lkey = from->keys.lkey,
                                          .remote_addr = to->keys.addr + offset + bytes,
                                          .rkey = to->keys.rkey,
                                          .opcode = opcode,
                                          .flags = METRALE_IBV_SEND_SIGNALED};
    uint32_t accepted;

    return metrale_ibv_post_send(from->qp, &request, 1, &accepted);
}

/* Takes what is done; its number. */
static int poll(const struct end *end)
{
    struct metrale_ibv_wc done[16];
    int count = metrale_ibv_poll_cq(end->cq, done, 16);

    CHECK(count >= 0);
    for (int i = 0; i < count; i++)
        CHECK(done[i].status == METRALE_IBV_WC_SUCCESS);
    return count;
}

static void run(struct end ends[][2], int pairs, long times)
{
    long posted[MOST_PAIRS] = {0};
    long finished[MOST_PAIRS] = {0};
    long left = pairs * times;

    while (left > 0) {
        for (int i = 0; i < pairs; i++) {
            int count;

            while (posted[i] < times && posted[i] - finished[i] < DEPTH) {
                CHECK(post(&ends[i][0], &ends[i][1], posted[i]) == 1);
                posted[i]++;
            }
            count = poll(&ends[i][0]);
            finished[i] += count;
            left -= count;
        }
    }
}

/* Writes the number of a turn at the end of what goes to the other side. */
static void say(struct end *from, const struct end *to, long turn)
{
    from->memory[bytes - 1] = (uint8_t)turn;
    CHECK(post(from, to, 0) == 1);
    while (poll(from) == 0)
        ;
}

static void hear(const struct end *end, long turn)
{
    while (end->memory[2 * bytes - 1] != (uint8_t)turn)
        ;
}

static void *answer(void *argument)
{
    struct end *pair = argument;

    for (long turn = 1; turn <= WARM_LATENCY + iterations; turn++) {
        hear(&pair[1], turn);
        say(&pair[1], &pair[0], turn);
    }
    return NULL;
}

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one;
    double b = *(const double *)other;

    return (a > b) - (a < b);
}

static double median_micros(struct end *pair)
{
    double *micros = calloc((size_t)iterations, sizeof(*micros));
    pthread_t other;
    double median;
    int is_write = opcode == METRALE_IBV_WR_RDMA_WRITE;

    CHECK(micros != NULL);
    if (is_write)
        CHECK(pthread_create(&other, NULL, answer, pair) == 0);
    for (long turn = 1 - WARM_LATENCY; turn <= iterations; turn++) {
        double start = now();

        if (is_write) {
            say(&pair[0], &pair[1], turn + WARM_LATENCY);
            hear(&pair[0], turn + WARM_LATENCY);
        } else {
            CHECK(post(&pair[0], &pair[1], 0) == 1);
            while (poll(&pair[0]) == 0)
                ;
        }
        if (turn > 0)
            micros[turn - 1] = (now() - start) * (is_write ? 0.5e6 : 1e6);
    }
    if (is_write)
        CHECK(pthread_join(other, NULL) == 0);
    qsort(micros, (size_t)iterations, sizeof(*micros), by_size);
    median = micros[iterations / 2];
    free(micros);
    return median;
}

int main(int count, char **arguments)
{
    static struct end ends[MOST_PAIRS][2];
    int pairs = (count - 5) / 2;
    double start;
    char *end;

    CHECK(count >= 7 && pairs <= MOST_PAIRS);
    opcode =
        strcmp(arguments[1], "read") == 0 ? METRALE_IBV_WR_RDMA_READ : METRALE_IBV_WR_RDMA_WRITE;
    bytes = (uint32_t)strtoul(arguments[3], &end, 10);
    if (*end == 'x')
        slots = (uint32_t)strtoul(end + 1, NULL, 10);
    iterations = strtol(arguments[4], NULL, 10);
    for (int i = 0; i < pairs; i++) {
        open_end(&ends[i][0], arguments[5 + 2 * i]);
        open_end(&ends[i][1], arguments[6 + 2 * i]);
        connect_end(&ends[i][0], &ends[i][1]);
        connect_end(&ends[i][1], &ends[i][0]);
    }
    if (strcmp(arguments[2], "lat") == 0) {
        printf("%.2f us\n", median_micros(ends[0]));
        return 0;
    }
    run(ends, pairs, iterations / 2);
    start = now();
    run(ends, pairs, iterations);
    printf("%.2f MiB/s\n",
           (double)bytes * (double)iterations * pairs / (1 << 20) / (now() - start));
    return 0;
}
