#include "support.h"

#include <atomic>

TEST_SUITE_BEGIN("cuda_stream");

namespace
{

/* Holds a stream up until it is opened. */
struct Gate {
    std::atomic<bool> open{false};
    std::atomic<bool> reached{false};

    static void wait(void *data)
    {
        auto *gate = static_cast<Gate *>(data);
        gate->reached = true;
        while (!gate->open)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

void count(void *data)
{
    ++*static_cast<std::atomic<int> *>(data);
}

} // namespace

TEST_CASE("runs streams apart and each in order")
{
    OnDevice on(0);
    CUstream slow = nullptr;
    CUstream fast = nullptr;
    Gate gate;
    std::atomic<int> done{0};
    REQUIRE(cuStreamCreate(&slow, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    REQUIRE(cuStreamCreate(&fast, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(cuStreamQuery(slow) == CUDA_SUCCESS);
    CHECK(cuLaunchHostFunc(slow, Gate::wait, &gate) == CUDA_SUCCESS);
    CHECK(cuLaunchHostFunc(slow, count, &done) == CUDA_SUCCESS);
    CHECK(cuStreamQuery(slow) == CUDA_ERROR_NOT_READY);
    CHECK(cuLaunchHostFunc(fast, count, &done) == CUDA_SUCCESS);
    CHECK(cuStreamSynchronize(fast) == CUDA_SUCCESS);
    CHECK(done == 1);
    gate.open = true;
    CHECK(cuStreamSynchronize(slow) == CUDA_SUCCESS);
    CHECK(done == 2);
    CHECK(cuStreamDestroy(slow) == CUDA_SUCCESS);
    CHECK(cuStreamDestroy(slow) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamDestroy(fast) == CUDA_SUCCESS);
    CHECK(cuStreamSynchronize(slow) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("is idle as soon as the event behind its work is done")
{
    OnDevice on(0);
    CUstream stream = nullptr;
    CUevent event = nullptr;
    REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    REQUIRE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    int busy = 0;
    for (int round = 0; round < 5000; ++round) {
        REQUIRE(cuEventRecord(event, stream) == CUDA_SUCCESS);
        REQUIRE(cuEventSynchronize(event) == CUDA_SUCCESS);
        busy += cuStreamQuery(stream) == CUDA_SUCCESS ? 0 : 1;
    }
    CHECK(busy == 0);
    CHECK(cuEventDestroy(event) == CUDA_SUCCESS);
    CHECK(cuStreamDestroy(stream) == CUDA_SUCCESS);
}

TEST_CASE("orders the default stream with blocking streams only")
{
    OnDevice on(0);
    CUstream blocking = nullptr;
    CUstream free_running = nullptr;
    Gate gate;
    std::atomic<int> done{0};
    cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
    cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING);
    cuLaunchHostFunc(blocking, Gate::wait, &gate);
    cuLaunchHostFunc(nullptr, count, &done);
    cuLaunchHostFunc(free_running, count, &done);
    CHECK(cuStreamSynchronize(free_running) == CUDA_SUCCESS);
    CHECK(done == 1);
    CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
    gate.open = true;
    CHECK(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
    CHECK(done == 2);

    Gate second;
    cuLaunchHostFunc(CU_STREAM_LEGACY, Gate::wait, &second);
    cuLaunchHostFunc(blocking, count, &done);
    CHECK(eventually([&] { return second.reached.load(); }));
    CHECK(done == 2);
    CHECK(cuStreamQuery(blocking) == CUDA_ERROR_NOT_READY);
    second.open = true;
    CHECK(cuStreamSynchronize(blocking) == CUDA_SUCCESS);
    CHECK(done == 3);
    cuLaunchHostFunc(CU_STREAM_PER_THREAD, count, &done);
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
    CHECK(done == 4);
    cuStreamDestroy(blocking);
    cuStreamDestroy(free_running);
}

TEST_CASE("waits for events and times them")
{
    OnDevice on(0);
    CUstream producer = nullptr;
    CUstream consumer = nullptr;
    CUevent start = nullptr;
    CUevent end = nullptr;
    CUevent untimed = nullptr;
    Gate gate;
    std::atomic<int> done{0};
    float milliseconds = -1;
    cuStreamCreate(&producer, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&consumer, CU_STREAM_NON_BLOCKING);
    CHECK(cuEventCreate(&start, 0x80) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuEventCreate(&start, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
    CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
    CHECK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    CHECK(cuEventQuery(start) == CUDA_SUCCESS);
    CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventRecord(start, producer) == CUDA_SUCCESS);
    cuLaunchHostFunc(producer, Gate::wait, &gate);
    CHECK(cuEventRecord(end, producer) == CUDA_SUCCESS);
    CHECK(cuEventQuery(end) == CUDA_ERROR_NOT_READY);
    CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_NOT_READY);
    CHECK(cuStreamWaitEvent(consumer, end, 0) == CUDA_SUCCESS);
    cuLaunchHostFunc(consumer, count, &done);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(done == 0);
    gate.open = true;
    CHECK(cuEventSynchronize(end) == CUDA_SUCCESS);
    CHECK(cuStreamSynchronize(consumer) == CUDA_SUCCESS);
    CHECK(done == 1);
    CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_SUCCESS);
    CHECK(milliseconds >= 15);
    CHECK(cuEventRecord(untimed, producer) == CUDA_SUCCESS);
    CHECK(cuEventElapsedTime(&milliseconds, start, untimed) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventDestroy(start) == CUDA_SUCCESS);
    CHECK(cuEventDestroy(start) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventRecord(start, producer) == CUDA_ERROR_INVALID_HANDLE);
    cuEventDestroy(end);
    cuEventDestroy(untimed);
    cuStreamDestroy(producer);
    cuStreamDestroy(consumer);
}

TEST_CASE("refuses streams and events of another context")
{
    CUstream foreign = nullptr;
    CUevent event = nullptr;
    std::atomic<int> done{0};
    OnDevice one(1);
    cuStreamCreate(&foreign, CU_STREAM_NON_BLOCKING);
    OnDevice zero(0);
    CUdeviceptr address = 0;
    cuMemAlloc(&address, 64);
    CHECK(cuMemsetD8Async(address, 0, 64, foreign) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuLaunchHostFunc(foreign, count, &done) == CUDA_ERROR_INVALID_HANDLE);
    cuEventCreate(&event, 0);
    CHECK(cuEventRecord(event, foreign) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamSynchronize(foreign) == CUDA_SUCCESS);
    CHECK(cuStreamWaitEvent(foreign, event, 0) == CUDA_SUCCESS);
    cuEventDestroy(event);
    cuStreamDestroy(foreign);
    cuMemFree(address);
}

namespace
{

void call_driver(void *data)
{
    CUdeviceptr address = 0;
    *static_cast<std::atomic<int> *>(data) = cuMemAlloc(&address, 16);
}

void CUDA_CB note_status(CUstream, CUresult status, void *data)
{
    *static_cast<std::atomic<int> *>(data) = status;
}

} // namespace

TEST_CASE("keeps host functions out of the driver")
{
    OnDevice on(0);
    std::atomic<int> result{-1};
    cuLaunchHostFunc(nullptr, call_driver, &result);
    cuStreamSynchronize(nullptr);
    CHECK(result == CUDA_ERROR_NOT_PERMITTED);
    CHECK(cuStreamAddCallback(nullptr, note_status, &result, 0) == CUDA_SUCCESS);
    cuStreamSynchronize(nullptr);
    CHECK(result == CUDA_SUCCESS);
    CHECK(cuLaunchHostFunc(nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("stages pageable sources and finishes pageable targets")
{
    OnDevice on(0);
    CUstream stream = nullptr;
    CUdeviceptr address = 0;
    Gate gate;
    std::vector<int> host(1000, 5);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuMemAlloc(&address, 4000);
    cuLaunchHostFunc(stream, Gate::wait, &gate);
    CHECK(cuMemcpyHtoDAsync(address, host.data(), 4000, stream) == CUDA_SUCCESS);
    std::fill(host.begin(), host.end(), 6);
    gate.open = true;
    CHECK(cuMemcpyDtoHAsync(host.data(), address, 4000, stream) == CUDA_SUCCESS);
    CHECK(host[999] == 5);
    cuMemFree(address);
    cuStreamDestroy(stream);
}

TEST_CASE("races when a wait is missing, and only then")
{
    OnDevice on(0);
    CUstream writer = nullptr;
    Gate gate;
    CUdeviceptr address = 0;
    void *pinned = nullptr;
    cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING);
    cuMemAlloc(&address, 4);
    cuMemHostAlloc(&pinned, 4, 0);
    cuMemsetD32(address, 1, 1);
    cuLaunchHostFunc(writer, Gate::wait, &gate);
    cuMemsetD32Async(address, 2, 1, writer);
    int seen = 0;
    cuMemcpyDtoH(&seen, address, 4);
    CHECK(seen == 1);
    gate.open = true;
    cuStreamSynchronize(writer);
    cuMemcpyDtoH(&seen, address, 4);
    CHECK(seen == 2);
    cuMemFree(address);
    cuMemFreeHost(pinned);
    cuStreamDestroy(writer);
}

TEST_CASE("counts what lives")
{
    OnDevice on(0);
    uint64_t streams = metrale_emulator_live_streams();
    uint64_t events = metrale_emulator_live_events();
    CUstream stream = nullptr;
    CUevent event = nullptr;
    cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -3);
    int priority = 0;
    unsigned long long id = 0;
    CUdevice device = -1;
    CHECK(cuStreamGetPriority(stream, &priority) == CUDA_SUCCESS);
    CHECK(priority == -3);
    CHECK(cuStreamGetId(stream, &id) == CUDA_SUCCESS);
    CHECK(cuStreamGetDevice(stream, &device) == CUDA_SUCCESS);
    CHECK(device == 0);
    cuEventCreate(&event, 0);
    CHECK(metrale_emulator_live_streams() == streams + 1);
    CHECK(metrale_emulator_live_events() == events + 1);
    cuEventDestroy(event);
    cuStreamDestroy(stream);
    CHECK(metrale_emulator_live_streams() == streams);
    CHECK(metrale_emulator_live_events() == events);
}

TEST_SUITE_END();
