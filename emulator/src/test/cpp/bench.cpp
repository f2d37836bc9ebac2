#include "cuda/bridge.h"

#include <nccl.h>

#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

/*
 * All-reduce of 64 MiB over four ranks beside the memory traffic it cannot avoid (four reads
 * and four writes of the buffer) done by plain memcpy on as many threads.
 */

namespace
{

constexpr size_t kBytes = 64UL << 20;
constexpr int kRanks = 4;
constexpr int kRounds = 10;

double seconds(std::chrono::steady_clock::time_point since)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

void on_threads(void (*body)(int, void *), void *argument)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < kRanks; ++i)
        threads.emplace_back(body, i, argument);
    for (std::thread &thread : threads)
        thread.join();
}

struct Shared {
    ncclUniqueId id;
    std::vector<char> from[kRanks];
    std::vector<char> to[kRanks];
    double reduce[kRanks];
};

void copy(int rank, void *argument)
{
    auto *shared = static_cast<Shared *>(argument);
    for (int round = 0; round < kRounds; ++round)
        std::memcpy(shared->to[rank].data(), shared->from[rank].data(), kBytes);
}

void reduce(int rank, void *argument)
{
    auto *shared = static_cast<Shared *>(argument);
    CUcontext context;
    CUstream stream;
    CUdeviceptr data;
    ncclComm_t comm;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, rank);
    cuCtxSetCurrent(context);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuMemAlloc(&data, kBytes);
    cuMemsetD32(data, 0, kBytes / 4);
    ncclCommInitRank(&comm, kRanks, shared->id, rank);
    void *buffer = reinterpret_cast<void *>(data);
    ncclAllReduce(buffer, buffer, kBytes / 4, ncclFloat, ncclSum, comm, stream);
    cuStreamSynchronize(stream);
    auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < kRounds; ++round)
        ncclAllReduce(buffer, buffer, kBytes / 4, ncclFloat, ncclSum, comm, stream);
    cuStreamSynchronize(stream);
    shared->reduce[rank] = seconds(begin) / kRounds;
    begin = std::chrono::steady_clock::now();
    for (int round = 0; round < 1000; ++round)
        ncclAllReduce(buffer, buffer, 16, ncclFloat, ncclSum, comm, stream);
    cuStreamSynchronize(stream);
    if (rank == 0)
        std::printf("small all-reduce: %.1f us\n", seconds(begin) * 1000);
    ncclCommDestroy(comm);
}

} // namespace

int main()
{
    setenv("METRALE_EMULATOR_GPUS", "4", 0);
    auto *shared = new Shared();
    for (int i = 0; i < kRanks; ++i) {
        shared->from[i].assign(kBytes, 'a');
        shared->to[i].assign(kBytes, 'b');
    }
    ncclGetUniqueId(&shared->id);
    auto begin = std::chrono::steady_clock::now();
    on_threads(copy, shared);
    double copied = seconds(begin) / kRounds;
    on_threads(reduce, shared);
    double reduced = *std::max_element(shared->reduce, shared->reduce + kRanks);
    std::printf("memcpy of 4 x 64 MiB: %.1f ms; all-reduce of 64 MiB on 4 ranks: %.1f ms; "
                "ratio %.2f\n",
                copied * 1e3, reduced * 1e3, copied / reduced);
    return 0;
}
