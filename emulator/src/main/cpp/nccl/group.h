#ifndef METRALE_EMULATOR_NCCL_GROUP_H
#define METRALE_EMULATOR_NCCL_GROUP_H

#include "nccl/comm.h"

#include <functional>
#include <system_error>

namespace metrale::emulator::nccl
{

/* A call that waits for other ranks in host code: init, split, registration of a window... */
struct Job {
    std::shared_ptr<Comm> comm;   /* gets the result as its state */
    std::shared_ptr<Comm> parent; /* in progress meanwhile; may be null */
    std::function<ncclResult_t()> run;
};

/* Waits as the fault of a call says; an abort of the communicator ends that. */
ncclResult_t suffer(const Fault &fault, const Comm &comm, const Comm *parent = nullptr);
/* The part of a call's fault that its job, and not the call, has to suffer. */
void leave_to_job(const Fault &fault);

/*
 * Runs a job the way it was called: at once, or with the group's others in threads of their
 * own, or in the background for non-blocking communicators.
 */
ncclResult_t start(Job job);

/* Puts an operation on its stream, or into the group that is open. */
ncclResult_t enqueue(const std::shared_ptr<Comm> &comm, Operation operation);

/* Notes a failure of a call inside a group: its end will report it. */
ncclResult_t note(ncclResult_t result);

/* The frame of every API function. */
template <typename Body> ncclResult_t guarded(Body body)
{
    try {
        return note(body());
    } catch (const std::bad_alloc &) {
        return note(refuse(ncclSystemError, "out of host memory"));
    } catch (const std::exception &error) {
        return note(refuse(ncclSystemError, error.what()));
    }
}

enum class Waiting { InCall, InJob };

/*
 * The same for a call on a communicator. The faults come first, then whether the handle is
 * one. `body` gets the communicator; with InJob it starts a job, which the waiting faults slow.
 */
template <typename Body>
ncclResult_t with_comm(const char *function, ncclComm_t handle, Body body,
                       Waiting waiting = Waiting::InCall)
{
    return guarded([&]() -> ncclResult_t {
        std::shared_ptr<Comm> comm = Comm::find(handle);
        Fault fault = Faults::instance().hit("nccl", function, comm ? comm->rank.load() : -1,
                                             comm ? comm->device : -1);
        if (fault.block_ms > 0)
            sleep_ms(fault.block_ms);
        if (waiting == Waiting::InJob)
            leave_to_job(fault);
        else if (comm && suffer(fault, *comm) != ncclSuccess)
            return refuse(ncclInternalError, "aborted");
        if (fault.lost && comm)
            metrale_emulator_cuda_lose(comm->device, fault.lost_code);
        if (fault.async && comm)
            comm->fail(static_cast<ncclResult_t>(*fault.async), "fault asked for");
        if (fault.code)
            return refuse(static_cast<ncclResult_t>(*fault.code), "fault asked for");
        if (fault.skip)
            return ncclSuccess;
        if (handle == nullptr)
            return refuse(ncclInvalidArgument,
                          std::string(function + 4) + " : comm argument is NULL");
        if (!comm)
            return refuse(ncclInvalidArgument,
                          std::string(function + 4) + " : comm argument is not a communicator");
        return body(comm);
    });
}

} // namespace metrale::emulator::nccl

#endif
