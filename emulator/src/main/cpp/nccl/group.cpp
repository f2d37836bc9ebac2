#include "nccl/group.h"

#include "nccl/engine.h"

#include <algorithm>
#include <cuda.h>
#include <thread>

namespace metrale::emulator::nccl
{

namespace
{

struct Group {
    int depth = 0;
    ncclResult_t error = ncclSuccess;
    std::vector<Job> jobs;
    std::vector<std::pair<std::shared_ptr<Comm>, Operation>> operations;

    void clear()
    {
        error = ncclSuccess;
        jobs.clear();
        operations.clear();
    }
};

Group &group()
{
    thread_local Group mine;
    return mine;
}

Fault &job_fault()
{
    thread_local Fault mine;
    return mine;
}

void begin_job(const Job &job)
{
    job.comm->jobs.fetch_add(1);
    job.comm->async.store(ncclInProgress);
    if (job.parent)
        job.parent->async.store(ncclInProgress);
}

void settle(Comm &comm, ncclResult_t result)
{
    // Not over an error that came meanwhile.
    int expected = ncclInProgress;
    comm.async.compare_exchange_strong(expected, result);
}

ncclResult_t run_job(const Job &job)
{
    ncclResult_t result = ncclSystemError;
    try {
        result = job.run();
    } catch (const std::exception &error) {
        remember(error.what());
    }
    if (job.parent)
        settle(*job.parent, ncclSuccess);
    settle(*job.comm, result);
    job.comm->jobs.fetch_sub(1);
    return result;
}

ncclResult_t run_jobs(const std::vector<Job> &jobs)
{
    std::vector<ncclResult_t> results(jobs.size(), ncclSuccess);
    std::vector<std::thread> threads;
    for (size_t i = 1; i < jobs.size(); ++i)
        threads.emplace_back([&, i] { results[i] = run_job(jobs[i]); });
    if (!jobs.empty())
        results[0] = run_job(jobs[0]);
    for (std::thread &thread : threads)
        thread.join();
    for (ncclResult_t result : results) {
        if (result != ncclSuccess)
            return result;
    }
    return ncclSuccess;
}

using CommOperations = std::pair<std::shared_ptr<Comm>, std::vector<Operation>>;

std::vector<CommOperations>
by_comm(std::vector<std::pair<std::shared_ptr<Comm>, Operation>> operations)
{
    std::vector<CommOperations> sorted;
    for (auto &[comm, operation] : operations) {
        auto same = [&](const CommOperations &entry) { return entry.first == comm; };
        auto found = std::find_if(sorted.begin(), sorted.end(), same);
        if (found == sorted.end())
            found = sorted.insert(sorted.end(), {comm, {}});
        found->second.push_back(std::move(operation));
    }
    return sorted;
}

ncclResult_t check_self(const CommOperations &entry)
{
    int balance = 0;
    for (const Operation &operation : entry.second) {
        if (operation.root != entry.first->rank)
            continue;
        balance += operation.kind == Kind::Send ? 1 : 0;
        balance -= operation.kind == Kind::Recv ? 1 : 0;
    }
    return balance == 0 ? ncclSuccess
                        : refuse(ncclInvalidUsage, "send and receive to self need each other "
                                                   "in one group");
}

ncclResult_t launch_all(std::vector<CommOperations> &entries)
{
    ncclResult_t first = ncclSuccess;
    for (CommOperations &entry : entries) {
        ncclResult_t result = launch(entry.first, std::move(entry.second));
        entry.first->connected = true;
        if (first == ncclSuccess)
            first = result;
    }
    return first;
}

/* The first work of a non-blocking communicator connects the ranks: that takes its time. */
bool in_background(const std::vector<CommOperations> &entries)
{
    const Configuration &config = Configuration::instance();
    bool always = config.flag("nccl.always_in_progress", false);
    bool background = false;
    for (const CommOperations &entry : entries) {
        background =
            background || (!entry.first->blocking() && (always || !entry.first->connected));
        // A per-thread stream means the calling thread's.
        for (const Operation &operation : entry.second) {
            if (operation.stream == CU_STREAM_PER_THREAD)
                return false;
        }
    }
    return background;
}

ncclResult_t launch_in_background(std::vector<CommOperations> entries)
{
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    for (CommOperations &entry : entries) {
        entry.first->jobs.fetch_add(1);
        entry.first->async.store(ncclInProgress);
    }
    std::thread([entries = std::move(entries), context]() mutable {
        sleep_ms(static_cast<int>(Configuration::instance().number("nccl.connect_ms", 1)));
        if (context != nullptr)
            cuCtxSetCurrent(context);
        ncclResult_t result = launch_all(entries);
        for (CommOperations &entry : entries) {
            settle(*entry.first, result);
            entry.first->jobs.fetch_sub(1);
        }
    }).detach();
    return ncclInProgress;
}

ncclResult_t run_operations(std::vector<std::pair<std::shared_ptr<Comm>, Operation>> operations)
{
    std::vector<CommOperations> entries = by_comm(std::move(operations));
    for (const CommOperations &entry : entries) {
        ncclResult_t result = check_self(entry);
        if (result != ncclSuccess)
            return result;
    }
    if (entries.empty())
        return ncclSuccess;
    if (in_background(entries))
        return launch_in_background(std::move(entries));
    return launch_all(entries);
}

ncclResult_t end(Group &open)
{
    std::vector<Job> jobs = std::move(open.jobs);
    auto operations = std::move(open.operations);
    ncclResult_t error = open.error;
    open.clear();
    if (error != ncclSuccess) {
        for (const Job &job : jobs)
            settle(*job.comm, error);
        return error;
    }

    bool blocking = false;
    bool other = false;
    for (const Job &job : jobs)
        (job.comm->blocking() ? blocking : other) = true;
    for (const auto &entry : operations)
        (entry.first->blocking() ? blocking : other) = true;
    if (blocking && other)
        return refuse(ncclInvalidArgument,
                      "Blocking and nonblocking communicators are not allowed in the same group");
    if (jobs.empty())
        return run_operations(std::move(operations));

    for (const Job &job : jobs)
        begin_job(job);
    if (other) {
        std::thread([jobs, operations = std::move(operations)]() mutable {
            if (run_jobs(jobs) == ncclSuccess)
                run_operations(std::move(operations));
        }).detach();
        return ncclInProgress;
    }
    ncclResult_t result = run_jobs(jobs);
    return result == ncclSuccess ? run_operations(std::move(operations)) : result;
}

} // namespace

ncclResult_t note(ncclResult_t result)
{
    Group &open = group();
    if (open.depth > 0 && open.error == ncclSuccess && result != ncclSuccess &&
        result != ncclInProgress)
        open.error = result;
    return result;
}

ncclResult_t suffer(const Fault &fault, const Comm &comm, const Comm *parent)
{
    auto aborted = [&] { return comm.aborted || (parent != nullptr && parent->aborted); };
    for (int waited = 0; waited < fault.delay_ms && !aborted(); ++waited)
        sleep_ms(1);
    while (fault.hang && !aborted())
        sleep_ms(1);
    return aborted() ? ncclInternalError : ncclSuccess;
}

void leave_to_job(const Fault &fault)
{
    job_fault() = fault;
}

ncclResult_t start(Job job)
{
    Fault fault = std::exchange(job_fault(), Fault{});
    if (fault.delay_ms > 0 || fault.hang) {
        job.run = [fault, comm = job.comm, parent = job.parent, run = std::move(job.run)] {
            ncclResult_t result = suffer(fault, *comm, parent.get());
            return result == ncclSuccess ? run() : result;
        };
    }
    Group &open = group();
    if (open.depth > 0) {
        job.comm->async.store(ncclInProgress);
        open.jobs.push_back(std::move(job));
        return ncclSuccess;
    }
    begin_job(job);
    if (job.comm->blocking())
        return run_job(job);
    std::thread([job] { run_job(job); }).detach();
    return ncclInProgress;
}

ncclResult_t enqueue(const std::shared_ptr<Comm> &comm, Operation operation)
{
    Group &open = group();
    if (open.depth > 0) {
        open.operations.emplace_back(comm, std::move(operation));
        return ncclSuccess;
    }
    std::vector<std::pair<std::shared_ptr<Comm>, Operation>> alone;
    alone.emplace_back(comm, std::move(operation));
    return run_operations(std::move(alone));
}

} // namespace metrale::emulator::nccl

using namespace metrale::emulator;
using namespace metrale::emulator::nccl;

ncclResult_t ncclGroupStart()
{
    Fault fault = host_fault("nccl", __func__);
    if (fault.code)
        return static_cast<ncclResult_t>(*fault.code);
    ++group().depth;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd()
{
    Group &open = group();
    if (open.depth == 0)
        return refuse(ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
    Fault fault = host_fault("nccl", __func__);
    if (--open.depth > 0)
        return fault.code ? static_cast<ncclResult_t>(*fault.code) : ncclSuccess;
    if (fault.code || fault.skip) {
        open.clear();
        return static_cast<ncclResult_t>(fault.code.value_or(ncclSuccess));
    }
    return guarded([&] { return end(open); });
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
    constexpr unsigned kMagic = 0x74685283;
    Group &open = group();
    if (open.depth == 0)
        return refuse(ncclInvalidUsage, "ncclGroupSimulateEnd: not in a group call.");
    Fault fault = host_fault("nccl", __func__);
    --open.depth;
    if (open.depth > 0)
        return ncclSuccess;
    ncclResult_t error = open.error;
    float microseconds = 0;
    for (const auto &[comm, operation] : open.operations) {
        uint64_t send = 0;
        uint64_t recv = 0;
        if (extent(operation, comm->rank, comm->nranks, &send, &recv))
            microseconds += 10.0F + static_cast<float>(std::max(send, recv)) / 100e3F;
    }
    open.clear();
    if (fault.code)
        return static_cast<ncclResult_t>(*fault.code);
    if (info != nullptr && (info->magic != kMagic || info->size < sizeof(*info)))
        return refuse(ncclInvalidArgument, "ncclSimInfo_t argument not initialized via "
                                           "NCCL_SIM_INFO_INITIALIZER");
    if (info != nullptr && error == ncclSuccess)
        info->estimatedTime = microseconds;
    return error;
}

METRALE_PROFILED(ncclGroupStart);
METRALE_PROFILED(ncclGroupEnd);
METRALE_PROFILED(ncclGroupSimulateEnd);
