/* Operations of NCCL by number, alone and in groups; a part of metrale_nccl.h. */
#ifndef METRALE_NCCL_OPERATIONS_H
#define METRALE_NCCL_OPERATIONS_H
#ifndef METRALE_PARSER
/* Kinds of operations; the numbers are the checked layer's. */
enum metrale_nccl_kind {
    METRALE_ALL_REDUCE = 0,
    METRALE_BROADCAST = 1,
    METRALE_REDUCE = 2,
    METRALE_ALL_GATHER = 3,
    METRALE_REDUCE_SCATTER = 4,
    METRALE_ALL_TO_ALL = 5,
    METRALE_GATHER = 6,
    METRALE_SCATTER = 7,
    METRALE_SEND = 8,
    METRALE_RECEIVE = 9,
    METRALE_PUT_SIGNAL = 10,
    METRALE_SIGNAL = 11,
    METRALE_WAIT_SIGNAL = 12
};

/* One operation of a group; 96 bytes, written by Java field by field. */
struct metrale_nccl_operation {
    int32_t kind;
    int32_t type;
    int32_t op;
    int32_t peer;
    int64_t comm;
    int64_t send;
    int64_t recv;
    int64_t count;
    int64_t slot;
    int64_t generation;
    int64_t window;
    int64_t offset;
    int32_t signal;
    int32_t context;
    int32_t result;
    int32_t unused;
};
static_assert(sizeof(metrale_nccl_operation) == 96, "layout is part of the interface with Java");

/* What one operation needs, unpacked. */
struct metrale_nccl_work {
    int kind;
    ncclComm_t comm;
    const void *send;
    void *recv;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer;
    cudaStream_t stream;
};

#define METRALE_FUNCTION(index, name) metrale_index_##name = index,
enum metrale_nccl_index {
#include METRALE_FUNCTIONS
};
#undef METRALE_FUNCTION

__attribute__((always_inline)) static inline ncclResult_t
metrale_nccl_call(const metrale_nccl_work &w)
{
    switch (w.kind) {
    case METRALE_ALL_REDUCE:
        return ncclAllReduce(w.send, w.recv, w.count, w.type, w.op, w.comm, w.stream);
    case METRALE_BROADCAST:
        return ncclBroadcast(w.send, w.recv, w.count, w.type, w.peer, w.comm, w.stream);
    case METRALE_REDUCE:
        return ncclReduce(w.send, w.recv, w.count, w.type, w.op, w.peer, w.comm, w.stream);
    case METRALE_ALL_GATHER:
        return ncclAllGather(w.send, w.recv, w.count, w.type, w.comm, w.stream);
    case METRALE_REDUCE_SCATTER:
        return ncclReduceScatter(w.send, w.recv, w.count, w.type, w.op, w.comm, w.stream);
    case METRALE_ALL_TO_ALL:
        return ncclAlltoAll(w.send, w.recv, w.count, w.type, w.comm, w.stream);
    case METRALE_GATHER:
        return ncclGather(w.send, w.recv, w.count, w.type, w.peer, w.comm, w.stream);
    case METRALE_SCATTER:
        return ncclScatter(w.send, w.recv, w.count, w.type, w.peer, w.comm, w.stream);
    case METRALE_SEND:
        return ncclSend(w.send, w.count, w.type, w.peer, w.comm, w.stream);
    case METRALE_RECEIVE:
        return ncclRecv(w.recv, w.count, w.type, w.peer, w.comm, w.stream);
    default:
        return ncclInvalidArgument;
    }
}

/* The same with settings of this call alone. */
static inline ncclResult_t metrale_nccl_call_configured(const metrale_nccl_work &w,
                                                        const ncclCollConfig_t *config)
{
    switch (w.kind) {
    case METRALE_ALL_REDUCE:
        return ncclAllReduceConfig(w.send, w.recv, w.count, w.type, w.op, w.comm, w.stream, config);
    case METRALE_BROADCAST:
        return ncclBroadcastConfig(w.send, w.recv, w.count, w.type, w.peer, w.comm, w.stream,
                                   config);
    case METRALE_REDUCE:
        return ncclReduceConfig(w.send, w.recv, w.count, w.type, w.op, w.peer, w.comm, w.stream,
                                config);
    case METRALE_ALL_GATHER:
        return ncclAllGatherConfig(w.send, w.recv, w.count, w.type, w.comm, w.stream, config);
    case METRALE_REDUCE_SCATTER:
        return ncclReduceScatterConfig(w.send, w.recv, w.count, w.type, w.op, w.comm, w.stream,
                                       config);
    case METRALE_ALL_TO_ALL:
        return ncclAlltoAllConfig(w.send, w.recv, w.count, w.type, w.comm, w.stream, config);
    case METRALE_GATHER:
        return ncclGatherConfig(w.send, w.recv, w.count, w.type, w.peer, w.comm, w.stream, config);
    case METRALE_SCATTER:
        return ncclScatterConfig(w.send, w.recv, w.count, w.type, w.peer, w.comm, w.stream, config);
    default:
        return ncclInvalidArgument;
    }
}

static inline ncclResult_t metrale_nccl_one_sided(const metrale_nccl_operation *o,
                                                  cudaStream_t stream)
{
    ncclComm_t comm = METRALE_NCCL_POINTER(ncclComm_t, o->comm);

    if (o->kind == METRALE_PUT_SIGNAL) {
        return ncclPutSignal(METRALE_NCCL_POINTER(const void *, o->send),
                             static_cast<size_t>(o->count), static_cast<ncclDataType_t>(o->type),
                             o->peer, METRALE_NCCL_POINTER(ncclWindow_t, o->window),
                             static_cast<size_t>(o->offset), o->signal, o->context, 0, comm,
                             stream);
    }
    if (o->kind == METRALE_SIGNAL) {
        return ncclSignal(o->peer, o->signal, o->context, 0, comm, stream);
    }
    ncclWaitSignalDesc_t wait = {static_cast<int>(o->count), o->peer, o->signal, o->context};
    return ncclWaitSignal(1, &wait, comm, stream);
}

static inline ncclResult_t metrale_nccl_grouped(const metrale_nccl_operation *o,
                                                cudaStream_t stream)
{
    if (o->kind >= METRALE_PUT_SIGNAL) {
        return metrale_nccl_one_sided(o, stream);
    }
    metrale_nccl_work work = {o->kind,
                              METRALE_NCCL_POINTER(ncclComm_t, o->comm),
                              METRALE_NCCL_POINTER(const void *, o->send),
                              METRALE_NCCL_POINTER(void *, o->recv),
                              static_cast<size_t>(o->count),
                              static_cast<ncclDataType_t>(o->type),
                              static_cast<ncclRedOp_t>(o->op),
                              o->peer,
                              stream};
    return metrale_nccl_call(work);
}

/* Ends a group however its user leaves it. */
class metrale_nccl_group
{
  public:
    metrale_nccl_group()
    {
        /* A group that could not be ended is not begun. */
        code = metrale_table_bound(metrale_index_ncclGroupEnd)
                   ? ncclGroupStart()
                   : static_cast<ncclResult_t>(metrale_table_missing(metrale_index_ncclGroupEnd));
        open_ = code == ncclSuccess;
    }
    ~metrale_nccl_group()
    {
        if (open_) {
            end();
        }
    }
    metrale_nccl_group(const metrale_nccl_group &) = delete;
    metrale_nccl_group &operator=(const metrale_nccl_group &) = delete;

    ncclResult_t end()
    {
        open_ = false;
        return ncclGroupEnd();
    }

    ncclResult_t code = ncclSuccess;

  private:
    bool open_ = false;
};
#endif
#endif
