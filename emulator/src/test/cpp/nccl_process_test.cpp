#include "support.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

std::string hex(const ncclUniqueId &id)
{
    std::string text;
    char digits[3];
    for (char byte : id.internal) {
        std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
        text += digits;
    }
    return text;
}

ncclUniqueId from_hex(const char *text)
{
    ncclUniqueId id;
    for (size_t i = 0; i < sizeof(id.internal); ++i) {
        char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        id.internal[i] = static_cast<char>(std::strtol(digits, nullptr, 16));
    }
    return id;
}

/* Two ranks a process: 0, 1 here and 2, 3 there. Counts what is wrong. */
int run_ranks(const ncclUniqueId &id, int first, int nranks, size_t count, bool die)
{
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    auto expect = [&](bool condition) { wrong += condition ? 0 : 1; };
    for (int rank = first; rank < first + 2; ++rank) {
        threads.emplace_back([&, rank] {
            OnDevice on(rank);
            Rank self;
            expect(cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
            expect(ncclCommInitRank(&self.comm, nranks, id, rank) == ncclSuccess);
            std::vector<int> mine(count);
            std::iota(mine.begin(), mine.end(), rank);
            CUdeviceptr data = self.upload(mine);
            CUdeviceptr out = self.allocate(count * 4);
            int next = (rank + 1) % nranks;
            int previous = (rank + nranks - 1) % nranks;
            ncclGroupStart();
            ncclSend(pointer(data), count, ncclInt, next, self.comm, self.stream);
            ncclRecv(pointer(out), count, ncclInt, previous, self.comm, self.stream);
            expect(ncclGroupEnd() == ncclSuccess);
            expect(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
            expect(self.download<int>(out, 1)[0] == previous);
            for (int round = 0; round < 20; ++round) {
                expect(ncclAllReduce(pointer(data), pointer(out), count, ncclInt, ncclSum,
                                     self.comm, self.stream) == ncclSuccess);
            }
            expect(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
            std::vector<int> sum = self.download<int>(out, count);
            for (size_t i = 0; i < count; ++i)
                expect(sum[i] == 6 + 4 * static_cast<int>(i));
            if (die) {
                // The other process kills itself instead of joining this one.
                expect(ncclAllReduce(pointer(data), pointer(out), count, ncclInt, ncclSum,
                                     self.comm, self.stream) == ncclSuccess);
                expect(eventually([&] {
                    ncclResult_t state = ncclSuccess;
                    ncclCommGetAsyncError(self.comm, &state);
                    return state == ncclRemoteError;
                }));
                expect(cuStreamQuery(self.stream) == CUDA_ERROR_NOT_READY);
                expect(ncclCommAbort(self.comm) == ncclSuccess);
                expect(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
            } else {
                std::vector<int> own(64, rank);
                cuMemHostRegister(own.data(), 256, 0);
                expect(ncclAllReduce(own.data(), own.data(), 64, ncclInt, ncclMax, self.comm,
                                     self.stream) == ncclSuccess);
                expect(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
                expect(own[63] == 3);
                cuMemHostUnregister(own.data());
                ncclComm_t part = nullptr;
                expect(ncclCommSplit(self.comm, rank % 2, 0, &part, nullptr) == ncclSuccess);
                expect(ncclAllReduce(pointer(data), pointer(out), count, ncclInt, ncclMin, part,
                                     self.stream) == ncclSuccess);
                expect(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
                expect(self.download<int>(out, 1)[0] == rank % 2);
                expect(ncclCommDestroy(part) == ncclSuccess);
                expect(ncclCommDestroy(self.comm) == ncclSuccess);
            }
            cuMemFree(data);
            cuMemFree(out);
            cuStreamDestroy(self.stream);
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    return wrong;
}

pid_t spawn(const ncclUniqueId &id, const char *count, const char *fault)
{
    std::string text = hex(id);
    pid_t child = fork();
    if (child == 0) {
        if (fault != nullptr)
            setenv("METRALE_EMULATOR_FAULT", fault, 1);
        execl("/proc/self/exe", "test", "worker", "ranks", text.c_str(), count,
              static_cast<char *>(nullptr));
        _exit(99);
    }
    return child;
}

constexpr int kFatal = 77;

} // namespace

int run_worker(int argc, char **argv)
{
    if (argc == 6 && std::strcmp(argv[2], "names") == 0) {
        void *library = dlopen(argv[3], RTLD_NOW);
        if (library == nullptr)
            return kFatal;
        return (dlsym(library, argv[4]) != nullptr ? 1 : 0) |
               (dlsym(library, argv[5]) != nullptr ? 2 : 0);
    }
    if (argc == 5 && std::strcmp(argv[2], "ranks") == 0) {
        auto count = static_cast<size_t>(std::atoll(argv[4]));
        return run_ranks(from_hex(argv[3]), 2, 4, count, false) == 0 ? 0 : 1;
    }
    return kFatal;
}

TEST_SUITE_BEGIN("nccl_process");

TEST_CASE("joins ranks of two processes")
{
    for (const char *count : {"1", "4096", "300001"}) {
        ncclUniqueId id;
        REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
        pid_t child = spawn(id, count, nullptr);
        CHECK(run_ranks(id, 0, 4, static_cast<size_t>(std::atoll(count)), false) == 0);
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
    }
}

TEST_CASE("survives a process that is killed in the middle")
{
    ncclUniqueId id;
    REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
    pid_t child = spawn(id, "1000", "nccl.ncclCommSplit kill; nccl.ncclAllReduce call=41 kill");
    CHECK(run_ranks(id, 0, 4, 1000, true) == 0);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("ends with the status asked for")
{
    ncclUniqueId id;
    REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
    pid_t child = spawn(id, "10", "cuda.cuStreamCreate exit=7");
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("refuses an id whose maker is gone")
{
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        ncclUniqueId id;
        ncclGetUniqueId(&id);
        ssize_t written = write(ends[1], &id, sizeof(id));
        _exit(written == sizeof(id) ? 0 : 1);
    }
    ncclUniqueId id;
    CHECK(read(ends[0], &id, sizeof(id)) == sizeof(id));
    int status = -1;
    waitpid(child, &status, 0);
    close(ends[0]);
    close(ends[1]);
    OnDevice on(0);
    ncclComm_t comm = nullptr;
    CHECK(ncclCommInitRank(&comm, 1, id, 0) == ncclSystemError);
}

TEST_SUITE_END();
