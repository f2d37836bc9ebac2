#include "cuda/bridge.h"
#include "fixture.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace
{

struct Stream {
    CUstream value = nullptr;
    Stream()
    {
        REQUIRE(cuStreamCreate(&value, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    }
    ~Stream()
    {
        cuStreamDestroy(value);
    }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
};

void CUDA_CB wait_for_gate(void *gate)
{
    while (!static_cast<std::atomic<bool> *>(gate)->load())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

} // namespace

TEST_SUITE("async")
{
    TEST_CASE("runs in the stream's order and reads its arguments only then")
    {
        const Context context;
        const Driver driver;
        const Stream stream;
        TestFile file(10000);
        const Handle handle(file.open_as(O_RDONLY));
        const DeviceMemory memory(16384);
        std::atomic<bool> gate{false};
        std::size_t bytes = 16384;
        off_t from = 0;
        off_t into = 0;
        ssize_t done = -7;
        REQUIRE(cuLaunchHostFunc(stream.value, wait_for_gate, &gate) == CUDA_SUCCESS);
        CHECK(cuFileReadAsync(handle.value, memory.pointer(), &bytes, &from, &into, &done,
                              stream.value)
                  .err == CU_FILE_SUCCESS);
        CHECK(done == -7);
        CHECK(cuFileDriverClose().err == CU_FILE_DRIVER_CLOSING);
        bytes = 5000;
        from = 100;
        into = 8;
        gate = true;
        CHECK(cuStreamSynchronize(stream.value) == CUDA_SUCCESS);
        CHECK(done == 5000);
        const std::vector<char> content = memory.content(16384);
        const std::vector<char> wanted = TestFile::expected(100, 5000);
        CHECK(std::memcmp(content.data() + 8, wanted.data(), 5000) == 0);
    }

    TEST_CASE("fixes what the stream's flags say at submission")
    {
        const Context context;
        const Driver driver;
        const Stream stream;
        TestFile file(10000);
        const Handle handle(file.open_as(O_RDWR));
        const DeviceMemory memory(16384);
        CHECK(cuFileStreamRegister(stream.value, 64).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileStreamRegister(stream.value, 1 | 2 | 4).err == CU_FILE_SUCCESS);
        CHECK(cuFileStreamRegister(stream.value, 0).err == CU_FILE_INVALID_VALUE);
        std::atomic<bool> gate{false};
        std::size_t bytes = 4096;
        off_t from = 0;
        off_t into = 0;
        ssize_t done = -7;
        REQUIRE(cuLaunchHostFunc(stream.value, wait_for_gate, &gate) == CUDA_SUCCESS);
        CHECK(cuFileWriteAsync(handle.value, memory.pointer(), &bytes, &from, &into, &done,
                               stream.value)
                  .err == CU_FILE_SUCCESS);
        bytes = 1;
        gate = true;
        CHECK(cuStreamSynchronize(stream.value) == CUDA_SUCCESS);
        CHECK(done == 4096);
        CHECK(cuFileStreamDeregister(stream.value).err == CU_FILE_SUCCESS);
        CHECK(cuFileStreamDeregister(stream.value).err == CU_FILE_INVALID_VALUE);
    }

    TEST_CASE("checks alignment where it was promised, and its arguments always")
    {
        const Context context;
        const Driver driver;
        const Stream stream;
        TestFile file(10000);
        const Handle handle(file.open_as(O_RDONLY));
        const DeviceMemory memory(16384);
        std::size_t bytes = 100;
        off_t from = 0;
        off_t into = 0;
        ssize_t done = 0;
        REQUIRE(cuFileStreamRegister(stream.value, 15).err == CU_FILE_SUCCESS);
        CHECK(cuFileReadAsync(handle.value, memory.pointer(), &bytes, &from, &into, &done,
                              stream.value)
                  .err == CU_FILE_SUCCESS);
        CHECK(cuStreamSynchronize(stream.value) == CUDA_SUCCESS);
        CHECK(done == -CU_FILE_INVALID_VALUE);
        CHECK(cuFileReadAsync(nullptr, memory.pointer(), &bytes, &from, &into, &done, stream.value)
                  .err == CU_FILE_HANDLE_NOT_REGISTERED);
        CHECK(cuFileReadAsync(handle.value, memory.pointer(), nullptr, &from, &into, &done,
                              stream.value)
                  .err == CU_FILE_INVALID_VALUE);
    }
}

TEST_SUITE("lost")
{
    TEST_CASE("gives up what a lost device never runs once the stream is deregistered")
    {
        const Context context;
        const Driver driver;
        const Stream stream;
        TestFile file(10000);
        const Handle handle(file.open_as(O_RDONLY));
        const DeviceMemory memory(16384);
        std::atomic<bool> gate{false};
        std::size_t bytes = 100;
        off_t from = 0;
        off_t into = 0;
        ssize_t done = -7;
        REQUIRE(cuLaunchHostFunc(stream.value, wait_for_gate, &gate) == CUDA_SUCCESS);
        REQUIRE(cuFileReadAsync(handle.value, memory.pointer(), &bytes, &from, &into, &done,
                                stream.value)
                    .err == CU_FILE_SUCCESS);
        metrale_emulator_cuda_lose(0, 0);
        gate = true;
        CHECK(cuStreamSynchronize(stream.value) != CUDA_SUCCESS);
        CHECK(cuFileStreamDeregister(stream.value).err == CU_FILE_SUCCESS);
        CHECK(done == -7);
        CHECK(cuFileReadAsync(handle.value, memory.pointer(), &bytes, &from, &into, &done,
                              stream.value)
                  .err == CU_FILE_CUDA_DRIVER_ERROR);
    }
}
