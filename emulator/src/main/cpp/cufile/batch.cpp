#include "state.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>

#include "stats.hpp"

/* Batches: requests that a thread of the batch works off, and events that wait to be fetched. */

namespace metrale::gds
{

struct BatchQueue {
    struct Request {
        CUfileIOParams_t parameters;
        std::shared_ptr<File> file;
    };

    unsigned int capacity = 0;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Request> waiting;
    std::deque<CUfileIOEvents_t> events;
    bool busy = false;
    bool ending = false;
    std::thread worker;

    std::size_t outstanding() const
    {
        return waiting.size() + (busy ? 1 : 0);
    }
};

namespace
{

CUfileIOEvents_t event_of(const CUfileIOParams_t &parameters, CUfileStatus_t status, ssize_t done)
{
    return {parameters.cookie, status, static_cast<std::size_t>(done)};
}

void work(BatchQueue &queue)
{
    std::unique_lock lock(queue.mutex);
    while (true) {
        queue.changed.wait(lock, [&] { return queue.ending || !queue.waiting.empty(); });
        if (queue.ending)
            return;
        const BatchQueue::Request request = std::move(queue.waiting.front());
        queue.waiting.pop_front();
        queue.busy = true;
        lock.unlock();
        const auto &batch = request.parameters.u.batch;
        const Direction direction =
            request.parameters.opcode == CUFILE_READ ? Direction::read : Direction::write;
        ssize_t done = transfer(direction, request.file, batch.devPtr_base, batch.size,
                                batch.file_offset, batch.devPtr_offset);
        if (done == -1)
            done = -static_cast<ssize_t>(errno);
        count(Operation::batch_complete, done >= 0);
        lock.lock();
        queue.busy = false;
        queue.events.push_back(
            event_of(request.parameters, done < 0 ? CUFILE_FAILED : CUFILE_COMPLETE, done));
        queue.changed.notify_all();
    }
}

std::shared_ptr<BatchQueue> find_batch(CUfileBatchHandle_t handle)
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    const auto found = target.batches.find(handle);
    return found == target.batches.end() ? nullptr : found->second;
}

CUfileError_t set_up(CUfileBatchHandle_t *handle, unsigned int capacity)
{
    if (handle == nullptr || capacity == 0)
        return error(CU_FILE_INVALID_VALUE);
    const CUfileError_t opened = open_implicitly();
    if (opened.err != CU_FILE_SUCCESS)
        return opened;
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    if (capacity > target.parameters.sizes[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE])
        return error(CU_FILE_INVALID_VALUE);
    auto queue = std::make_shared<BatchQueue>();
    queue->capacity = capacity;
    /* A batch that nobody destroys keeps its thread and its memory to the end. */
    queue->worker = std::thread([raw = queue.get()] { work(*raw); });
    *handle = queue.get();
    target.batches[*handle] = std::move(queue);
    return kSuccess;
}

CUfileError_t submit_all(CUfileBatchHandle_t handle, unsigned int count,
                         const CUfileIOParams_t *parameters, unsigned int flags)
{
    const std::shared_ptr<BatchQueue> queue = find_batch(handle);
    if (queue == nullptr || count == 0 || parameters == nullptr || flags != 0)
        return error(CU_FILE_INVALID_VALUE);
    if (!is_open())
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    std::vector<BatchQueue::Request> requests;
    for (unsigned int i = 0; i < count; ++i) {
        if (parameters[i].mode != CUFILE_BATCH ||
            (parameters[i].opcode != CUFILE_READ && parameters[i].opcode != CUFILE_WRITE))
            return error(CU_FILE_INVALID_VALUE);
        requests.push_back({parameters[i], find_file(parameters[i].fh)});
        if (requests.back().file == nullptr)
            return error(CU_FILE_HANDLE_NOT_REGISTERED);
    }
    const std::lock_guard lock(queue->mutex);
    if (queue->outstanding() + queue->events.size() + count > queue->capacity)
        return error(CU_FILE_BATCH_FULL);
    std::move(requests.begin(), requests.end(), std::back_inserter(queue->waiting));
    queue->changed.notify_all();
    return kSuccess;
}

CUfileError_t fetch(CUfileBatchHandle_t handle, unsigned int minimum, unsigned int *count,
                    CUfileIOEvents_t *events, const struct timespec *timeout)
{
    const std::shared_ptr<BatchQueue> queue = find_batch(handle);
    if (queue == nullptr || count == nullptr || events == nullptr || minimum > *count)
        return error(CU_FILE_INVALID_VALUE);
    std::unique_lock lock(queue->mutex);
    /* More than what is under way never comes. */
    const auto enough = [&] {
        return queue->ending || queue->events.size() >= minimum || queue->outstanding() == 0;
    };
    if (timeout == nullptr)
        queue->changed.wait(lock, enough);
    else
        queue->changed.wait_for(lock,
                                std::chrono::seconds(timeout->tv_sec) +
                                    std::chrono::nanoseconds(timeout->tv_nsec),
                                enough);
    const std::size_t room = std::min<std::size_t>(*count, queue->events.size());
    for (std::size_t i = 0; i < room; ++i) {
        events[i] = queue->events.front();
        queue->events.pop_front();
    }
    *count = static_cast<unsigned int>(room);
    return kSuccess;
}

CUfileError_t cancel(CUfileBatchHandle_t handle)
{
    const std::shared_ptr<BatchQueue> queue = find_batch(handle);
    if (queue == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    const std::lock_guard lock(queue->mutex);
    for (const BatchQueue::Request &request : queue->waiting)
        queue->events.push_back(event_of(request.parameters, CUFILE_CANCELED, 0));
    queue->waiting.clear();
    queue->changed.notify_all();
    return kSuccess;
}

bool destroy(CUfileBatchHandle_t handle)
{
    std::shared_ptr<BatchQueue> queue;
    {
        Library &target = library();
        const std::lock_guard lock(target.mutex);
        const auto found = target.batches.find(handle);
        if (found == target.batches.end())
            return false;
        queue = std::move(found->second);
        target.batches.erase(found);
    }
    {
        const std::lock_guard lock(queue->mutex);
        queue->ending = true;
        queue->changed.notify_all();
    }
    queue->worker.join();
    return true;
}

} // namespace
} // namespace metrale::gds

using metrale::gds::Operation;

CUfileError_t cuFileBatchIOSetUp(CUfileBatchHandle_t *handle, unsigned capacity)
{
    METRALE_GDS_FAULT();
    const CUfileError_t answer = metrale::gds::set_up(handle, capacity);
    metrale::gds::count(Operation::batch_setup, answer.err == CU_FILE_SUCCESS);
    return answer;
}

CUfileError_t cuFileBatchIOSubmit(CUfileBatchHandle_t handle, unsigned count,
                                  CUfileIOParams_t *parameters, unsigned int flags)
{
    METRALE_GDS_FAULT();
    const CUfileError_t answer = metrale::gds::submit_all(handle, count, parameters, flags);
    metrale::gds::count(Operation::batch_submit, answer.err == CU_FILE_SUCCESS);
    return answer;
}

CUfileError_t cuFileBatchIOGetStatus(CUfileBatchHandle_t handle, unsigned minimum, unsigned *count,
                                     CUfileIOEvents_t *events, struct timespec *timeout)
{
    METRALE_GDS_FAULT();
    return metrale::gds::fetch(handle, minimum, count, events, timeout);
}

CUfileError_t cuFileBatchIOCancel(CUfileBatchHandle_t handle)
{
    METRALE_GDS_FAULT();
    const CUfileError_t answer = metrale::gds::cancel(handle);
    metrale::gds::count(Operation::batch_cancel, answer.err == CU_FILE_SUCCESS);
    return answer;
}

void cuFileBatchIODestroy(CUfileBatchHandle_t handle)
{
    int code = 0;
    if (metrale::gds::fault_of(__func__, &code))
        return;
    metrale::gds::count(Operation::batch_destroy, metrale::gds::destroy(handle));
}
