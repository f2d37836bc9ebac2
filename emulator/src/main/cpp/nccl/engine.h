#ifndef METRALE_EMULATOR_NCCL_ENGINE_H
#define METRALE_EMULATOR_NCCL_ENGINE_H

#include "nccl/comm.h"

#include <memory>
#include <vector>

namespace metrale::emulator::nccl
{

/* What one call, or one group of calls, does on one communicator: one piece of stream work. */
struct Batch {
    std::shared_ptr<Comm> comm;
    uint64_t ticket = 0;
    std::vector<Operation> operations;

    bool stopped() const
    {
        return comm->stopped(ticket) || metrale_emulator_cuda_cancelled() != 0;
    }
    /* Until somebody ends the communicator, the device or the context. */
    void hang() const;
};

/* Numbers a batch and puts it on its stream. */
ncclResult_t launch(const std::shared_ptr<Comm> &comm, std::vector<Operation> operations);

/* Bytes a rank reads and writes; false when they do not fit 64 bits. */
bool extent(const Operation &operation, int rank, int nranks, uint64_t *send, uint64_t *recv);

/* One collective among all ranks. 0, or a CUresult for the stream. */
int run_collective(Batch &batch, Operation &operation);

/* Sends, receives, puts, signals and waits of one batch: they make progress side by side. */
class Exchange
{
  public:
    explicit Exchange(Batch &batch);
    ~Exchange();
    /* Checks the buffers and posts what can be posted. 0 or a CUresult. */
    int begin();
    int finish();

  private:
    struct Pending;
    bool step();
    void watch();
    void post(Pending &pending);
    void receive(Pending &pending);
    int put(Pending &pending);
    bool signalled(Pending &pending);

    Batch &batch_;
    std::vector<std::unique_ptr<Pending>> pending_;
};

bool is_collective(Kind kind);

} // namespace metrale::emulator::nccl

#endif
