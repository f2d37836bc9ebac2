#include "nccl/engine.h"

#include "nccl/reduce.h"

#include <algorithm>
#include <cuda.h>

namespace metrale::emulator::nccl
{

namespace
{

void wait_ms(const Batch &batch, int milliseconds)
{
    for (int waited = 0; waited < milliseconds && !batch.stopped(); ++waited)
        sleep_ms(1);
}

/* False: the fault ends the batch. */
bool suffer(Batch &batch, const Operation &operation)
{
    const Fault &fault = operation.fault;
    if (fault.delay_ms > 0)
        wait_ms(batch, fault.delay_ms);
    if (fault.async)
        batch.comm->fail(static_cast<ncclResult_t>(*fault.async), "fault asked for");
    if (fault.hang || fault.async)
        batch.hang();
    return !batch.stopped();
}

int run(Batch &batch)
{
    if (!batch.comm->await_turn(batch.ticket))
        return 0;
    for (const Operation &operation : batch.operations) {
        if (!suffer(batch, operation))
            return 0;
    }
    Exchange exchange(batch);
    int result = exchange.begin();
    for (Operation &operation : batch.operations) {
        if (result == 0 && is_collective(operation.kind))
            result = run_collective(batch, operation);
    }
    if (result == 0)
        result = exchange.finish();
    if (result == 0 && metrale_emulator_cuda_cancelled() != 0)
        batch.comm->fail(ncclUnhandledCudaError, "the device or its context is lost");
    if (result != 0 && !batch.stopped())
        batch.comm->fail(cuda_failure(result, batch.operations[0].name),
                         "an illegal memory access");
    return batch.stopped() ? 0 : result;
}

int run_batch(void *argument)
{
    auto *batch = static_cast<Batch *>(argument);
    int result = run(*batch);
    batch->comm->stop_running();
    return result;
}

void release_batch(void *argument)
{
    auto *batch = static_cast<Batch *>(argument);
    batch->comm->finish(batch->ticket);
    delete batch;
}

/* Work of one batch called for several streams runs on the first: the others wait for it. */
class Streams
{
  public:
    Streams(const std::vector<Operation> &operations, int device) : device_(device)
    {
        first_ = operations[0].stream;
        for (const Operation &operation : operations) {
            bool known = operation.stream == first_ || std::find(others_.begin(), others_.end(),
                                                                 operation.stream) != others_.end();
            if (!known)
                others_.push_back(operation.stream);
        }
    }
    void before()
    {
        for (void *other : others_)
            order(other, first_);
    }
    void after()
    {
        for (void *other : others_)
            order(first_, other);
    }

  private:
    void order(void *earlier, void *later)
    {
        CUevent event = nullptr;
        if (metrale_emulator_cuda_enter(device_) != 0)
            return;
        if (cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) {
            cuEventRecord(event, static_cast<CUstream>(earlier));
            cuStreamWaitEvent(static_cast<CUstream>(later), event, 0);
            cuEventDestroy(event);
        }
        metrale_emulator_cuda_leave(device_);
    }

    int device_;
    void *first_ = nullptr;
    std::vector<void *> others_;
};

} // namespace

void Batch::hang() const
{
    while (!stopped())
        sleep_ms(1);
}

bool is_collective(Kind kind)
{
    return kind >= Kind::AllReduce && kind <= Kind::Scatter;
}

ncclResult_t launch(const std::shared_ptr<Comm> &comm, std::vector<Operation> operations)
{
    std::lock_guard<std::mutex> order(comm->launch_mutex);
    Streams streams(operations, comm->device);
    streams.before();
    for (Operation &operation : operations) {
        if (operation.kind == Kind::Send)
            operation.pair_sequence = ++comm->sent[operation.root];
        if (operation.kind == Kind::Recv)
            operation.pair_sequence = ++comm->received[operation.root];
        // Launches complete at once here: the event is recorded ahead of the work.
        if (operation.launched != nullptr)
            cuEventRecord(operation.launched, static_cast<CUstream>(operation.stream));
    }
    void *stream = operations[0].stream;
    const char *name = operations[0].name;
    auto *batch = new Batch{comm, comm->issue(), std::move(operations)};
    int result =
        metrale_emulator_cuda_submit(stream, comm->device, run_batch, batch, release_batch);
    if (result != 0)
        return cuda_failure(result, name);
    streams.after();
    return ncclSuccess;
}

bool extent(const Operation &operation, int rank, int nranks, uint64_t *send, uint64_t *recv)
{
    uint64_t one = 0;
    uint64_t all = 0;
    if (__builtin_mul_overflow(operation.count, element_bytes(operation.type), &one) ||
        __builtin_mul_overflow(one, static_cast<uint64_t>(nranks), &all))
        return false;
    bool root = rank == operation.root;
    *send = one;
    *recv = one;
    switch (operation.kind) {
    case Kind::Broadcast:
        *send = root ? one : 0;
        break;
    case Kind::Reduce:
        *recv = root ? one : 0;
        break;
    case Kind::AllGather:
        *recv = all;
        break;
    case Kind::ReduceScatter:
        *send = all;
        break;
    case Kind::AlltoAll:
        *send = all;
        *recv = all;
        break;
    case Kind::Gather:
        *recv = root ? all : 0;
        break;
    case Kind::Scatter:
        *send = root ? all : 0;
        break;
    case Kind::Send:
    case Kind::Put:
        *recv = 0;
        break;
    case Kind::Recv:
        *send = 0;
        break;
    case Kind::None:
    case Kind::Signal:
    case Kind::WaitSignal:
        *send = 0;
        *recv = 0;
        break;
    case Kind::AllReduce:
        break;
    }
    return true;
}

} // namespace metrale::emulator::nccl
