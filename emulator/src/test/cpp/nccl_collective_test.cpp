#include "support.h"

#include "nccl/reduce.h"

#include <numeric>

using namespace metrale::emulator;

TEST_SUITE_BEGIN("nccl_collective");

namespace
{

std::vector<float> values(int rank, size_t count)
{
    std::vector<float> result(count);
    for (size_t i = 0; i < count; ++i)
        result[i] = static_cast<float>(static_cast<int>(i % 97) + 100 * rank);
    return result;
}

std::vector<float> sums(int nranks, size_t count)
{
    std::vector<float> result(count);
    for (int rank = 0; rank < nranks; ++rank) {
        std::vector<float> one = values(rank, count);
        for (size_t i = 0; i < count; ++i)
            result[i] += one[i];
    }
    return result;
}

} // namespace

TEST_CASE("all-reduces, in place and out of place, on 1, 2, 3 and 8 ranks")
{
    for (int nranks : {1, 2, 3, 8}) {
        for (size_t count : {1UL, 63UL, 64UL, 10007UL}) {
            on_ranks(nranks, [&](Rank &self) {
                CUdeviceptr send = self.upload(values(self.rank, count));
                CUdeviceptr recv = self.allocate(count * 4);
                CHECK(ncclAllReduce(pointer(send), pointer(recv), count, ncclFloat, ncclSum,
                                    self.comm, self.stream) == ncclSuccess);
                CHECK(ncclAllReduce(pointer(send), pointer(send), count, ncclFloat, ncclSum,
                                    self.comm, self.stream) == ncclSuccess);
                CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
                CHECK(self.download<float>(recv, count) == sums(nranks, count));
                CHECK(self.download<float>(send, count) == sums(nranks, count));
                cuMemFree(send);
                cuMemFree(recv);
            });
        }
    }
}

TEST_CASE("reduces every type with every operation")
{
    constexpr int kRanks = 3;
    constexpr size_t kCount = 130;
    for (int type = 0; type < ncclNumTypes; ++type) {
        size_t bytes = nccl::element_bytes(type);
        // The same bytes for all ways of doing it; narrow ones stay clear of not-a-number.
        auto fill = [&](int rank) {
            std::vector<char> data(kCount * bytes);
            for (size_t i = 0; i < data.size(); ++i)
                data[i] = static_cast<char>((i * 7 + static_cast<size_t>(rank) * 13) % 0x3c);
            return data;
        };
        on_ranks(kRanks, [&](Rank &self) {
            CUdeviceptr send = self.upload(fill(self.rank));
            CUdeviceptr recv = self.allocate(kCount * bytes);
            for (int op = 0; op < ncclNumOps; ++op) {
                CHECK(ncclAllReduce(pointer(send), pointer(recv), kCount,
                                    static_cast<ncclDataType_t>(type), static_cast<ncclRedOp_t>(op),
                                    self.comm, self.stream) == ncclSuccess);
                CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
                std::vector<std::vector<char>> inputs;
                std::vector<nccl::Input> all;
                bool average = op == ncclAvg;
                bool scaled = average && nccl::is_floating(type);
                for (int i = 0; i < kRanks; ++i)
                    inputs.push_back(fill(i));
                for (const std::vector<char> &input : inputs)
                    all.push_back({input.data(), nccl::reciprocal(type, kRanks), scaled});
                std::vector<char> expected(kCount * bytes);
                nccl::reduce(type, average ? ncclSum : op, all, {expected.data()}, kCount,
                             average && !scaled ? kRanks : 1);
                CHECK(self.download<char>(recv, kCount * bytes) == expected);
            }
            cuMemFree(send);
            cuMemFree(recv);
        });
    }
}

TEST_CASE("moves data: broadcast, reduce, gathers, scatters, all-to-all")
{
    constexpr int kRanks = 4;
    constexpr size_t kCount = 1001;
    on_ranks(kRanks, [](Rank &self) {
        auto at = static_cast<size_t>(self.rank);
        std::vector<float> mine = values(self.rank, kCount);
        std::vector<float> wide(kRanks * kCount);
        std::iota(wide.begin(), wide.end(), 10000.0F * static_cast<float>(self.rank));
        CUdeviceptr one = self.upload(mine);
        CUdeviceptr all = self.upload(wide);
        CUdeviceptr out = self.allocate(kRanks * kCount * 4);
        auto result = [&](size_t count) {
            CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
            return self.download<float>(out, count);
        };
        auto part = [](const std::vector<float> &from, size_t index) {
            auto start = from.begin() + static_cast<long>(index * kCount);
            return std::vector<float>(start, start + static_cast<long>(kCount));
        };

        CHECK(ncclBroadcast(pointer(one), pointer(out), kCount, ncclFloat, 2, self.comm,
                            self.stream) == ncclSuccess);
        CHECK(result(kCount) == values(2, kCount));
        CHECK(ncclReduce(pointer(one), pointer(out), kCount, ncclFloat, ncclSum, 1, self.comm,
                         self.stream) == ncclSuccess);
        if (self.rank == 1)
            CHECK(result(kCount) == sums(kRanks, kCount));
        CHECK(ncclAllGather(pointer(one), pointer(out), kCount, ncclFloat, self.comm,
                            self.stream) == ncclSuccess);
        std::vector<float> gathered = result(kRanks * kCount);
        for (size_t i = 0; i < kRanks; ++i)
            CHECK(part(gathered, i) == values(static_cast<int>(i), kCount));
        CHECK(ncclReduceScatter(pointer(all), pointer(out), kCount, ncclFloat, ncclMax, self.comm,
                                self.stream) == ncclSuccess);
        CHECK(result(1)[0] == 30000.0F + static_cast<float>(at * kCount));
        CHECK(ncclAlltoAll(pointer(all), pointer(out), kCount, ncclFloat, self.comm, self.stream) ==
              ncclSuccess);
        std::vector<float> exchanged = result(kRanks * kCount);
        for (size_t i = 0; i < kRanks; ++i)
            CHECK(part(exchanged, i)[5] ==
                  10000.0F * static_cast<float>(i) + static_cast<float>(at * kCount + 5));
        CHECK(ncclGather(pointer(one), self.rank == 3 ? pointer(out) : nullptr, kCount, ncclFloat,
                         3, self.comm, self.stream) == ncclSuccess);
        if (self.rank == 3)
            CHECK(part(result(kRanks * kCount), 1) == values(1, kCount));
        CHECK(ncclScatter(self.rank == 0 ? pointer(all) : nullptr, pointer(out), kCount, ncclFloat,
                          0, self.comm, self.stream) == ncclSuccess);
        CHECK(result(1)[0] == static_cast<float>(at * kCount));
        // In place, where the documentation has it.
        CUdeviceptr place = self.allocate(kRanks * kCount * 4);
        cuMemcpyHtoD(place + at * kCount * 4, mine.data(), kCount * 4);
        CHECK(ncclAllGather(pointer(place + at * kCount * 4), pointer(place), kCount, ncclFloat,
                            self.comm, self.stream) == ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        CHECK(self.download<float>(place, kRanks * kCount) == gathered);
        CHECK(ncclReduceScatter(pointer(all), pointer(all + at * kCount * 4), kCount, ncclFloat,
                                ncclMax, self.comm, self.stream) == ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        CHECK(self.download<float>(all + at * kCount * 4, 1)[0] ==
              30000.0F + static_cast<float>(at * kCount));
        for (CUdeviceptr address : {one, all, out, place})
            cuMemFree(address);
    });
}

TEST_CASE("sends and receives, alone, in rings and to itself")
{
    constexpr int kRanks = 3;
    constexpr size_t kCount = 5000;
    on_ranks(kRanks, [](Rank &self) {
        CUdeviceptr send = self.upload(values(self.rank, kCount));
        CUdeviceptr recv = self.allocate(kCount * 4);
        int next = (self.rank + 1) % kRanks;
        int previous = (self.rank + kRanks - 1) % kRanks;
        ncclGroupStart();
        CHECK(ncclSend(pointer(send), kCount, ncclFloat, next, self.comm, self.stream) ==
              ncclSuccess);
        CHECK(ncclRecv(pointer(recv), kCount, ncclFloat, previous, self.comm, self.stream) ==
              ncclSuccess);
        CHECK(ncclGroupEnd() == ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        CHECK(self.download<float>(recv, kCount) == values(previous, kCount));
        // More messages than an outbox holds, in order.
        if (self.rank == 0) {
            ncclGroupStart();
            for (size_t i = 0; i < 200; ++i)
                ncclSend(pointer(send + i * 4), 1, ncclFloat, 1, self.comm, self.stream);
            CHECK(ncclGroupEnd() == ncclSuccess);
        } else if (self.rank == 1) {
            for (size_t i = 0; i < 200; ++i)
                ncclRecv(pointer(recv + i * 4), 1, ncclFloat, 0, self.comm, self.stream);
        }
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        if (self.rank == 1)
            CHECK(self.download<float>(recv, 200) == values(0, 200));
        ncclGroupStart();
        ncclSend(pointer(send), kCount, ncclFloat, self.rank, self.comm, self.stream);
        ncclRecv(pointer(recv), kCount, ncclFloat, self.rank, self.comm, self.stream);
        CHECK(ncclGroupEnd() == ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        CHECK(self.download<float>(recv, kCount) == values(self.rank, kCount));
        CHECK(ncclSend(pointer(send), 1, ncclFloat, self.rank, self.comm, self.stream) ==
              ncclInvalidUsage);
        cuMemFree(send);
        cuMemFree(recv);
    });
}

TEST_CASE("multiplies before summing, with a scalar of the host or of the device")
{
    on_ranks(2, [](Rank &self) {
        ncclRedOp_t immediate;
        ncclRedOp_t late;
        float scalar = self.rank == 0 ? 2.0F : 10.0F;
        CUdeviceptr on_device = self.upload(std::vector<float>{scalar});
        CUdeviceptr data = self.upload(std::vector<float>{1, 2, 3});
        CUdeviceptr out = self.allocate(12);
        CHECK(ncclRedOpCreatePreMulSum(&immediate, &scalar, ncclFloat, ncclScalarHostImmediate,
                                       self.comm) == ncclSuccess);
        CHECK(ncclRedOpCreatePreMulSum(&late, pointer(on_device), ncclFloat, ncclScalarDevice,
                                       self.comm) == ncclSuccess);
        for (ncclRedOp_t op : {immediate, late}) {
            CHECK(ncclAllReduce(pointer(data), pointer(out), 3, ncclFloat, op, self.comm,
                                self.stream) == ncclSuccess);
            cuStreamSynchronize(self.stream);
            CHECK(self.download<float>(out, 3) == std::vector<float>{12, 24, 36});
        }
        CHECK(ncclAllReduce(pointer(data), pointer(out), 3, ncclInt32, late, self.comm,
                            self.stream) == ncclInvalidArgument);
        CHECK(ncclRedOpDestroy(immediate, self.comm) == ncclSuccess);
        CHECK(ncclRedOpDestroy(immediate, self.comm) == ncclInvalidArgument);
        CHECK(ncclRedOpDestroy(ncclSum, self.comm) == ncclInvalidArgument);
        CHECK(ncclAllReduce(pointer(data), pointer(out), 3, ncclFloat, immediate, self.comm,
                            self.stream) == ncclInvalidArgument);
        for (CUdeviceptr address : {on_device, data, out})
            cuMemFree(address);
    });
}

TEST_CASE("drives several devices from one thread in groups")
{
    constexpr int kRanks = 4;
    ncclComm_t comms[kRanks];
    CUstream streams[kRanks];
    CUdeviceptr data[kRanks];
    cuInit(0);
    CUcontext contexts[kRanks];
    for (int i = 0; i < kRanks; ++i) {
        cuDevicePrimaryCtxRetain(&contexts[i], i);
        cuCtxSetCurrent(contexts[i]);
        cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING);
        cuMemAlloc(&data[i], 40);
        cuMemsetD32(data[i], static_cast<unsigned>(i + 1), 10);
    }
    CHECK(ncclCommInitAll(comms, kRanks, nullptr) == ncclSuccess);
    ncclGroupStart();
    for (int i = 0; i < kRanks; ++i)
        CHECK(ncclAllReduce(pointer(data[i]), pointer(data[i]), 10, ncclInt32, ncclSum, comms[i],
                            streams[i]) == ncclSuccess);
    CHECK(ncclGroupEnd() == ncclSuccess);
    for (int i = 0; i < kRanks; ++i) {
        int seen[10];
        cuCtxSetCurrent(contexts[i]);
        CHECK(cuStreamSynchronize(streams[i]) == CUDA_SUCCESS);
        cuMemcpyDtoH(seen, data[i], 40);
        CHECK(seen[9] == 10);
    }
    for (int i = 0; i < kRanks; ++i) {
        cuCtxSetCurrent(contexts[i]);
        CHECK(ncclCommDestroy(comms[i]) == ncclSuccess);
        cuMemFree(data[i]);
        cuStreamDestroy(streams[i]);
    }
    cuCtxSetCurrent(nullptr);
}

TEST_CASE("orders one communicator's work over several streams")
{
    on_ranks(2, [](Rank &self) {
        CUstream second = nullptr;
        cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
        CUdeviceptr data = self.upload(std::vector<float>{1, 2, 3, 4});
        for (int i = 0; i < 10; ++i) {
            CHECK(ncclAllReduce(pointer(data), pointer(data), 4, ncclFloat, ncclSum, self.comm,
                                i % 2 == 0 ? self.stream : second) == ncclSuccess);
        }
        ncclGroupStart();
        ncclAllReduce(pointer(data), pointer(data), 4, ncclFloat, ncclMax, self.comm, second);
        ncclAllReduce(pointer(data), pointer(data), 4, ncclFloat, ncclMax, self.comm, self.stream);
        CHECK(ncclGroupEnd() == ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        CHECK(self.download<float>(data, 4) == std::vector<float>{1024, 2048, 3072, 4096});
        cuMemFree(data);
        cuStreamDestroy(second);
    });
}

TEST_CASE("takes pinned and registered host memory")
{
    on_ranks(2, [](Rank &self) {
        void *pinned = nullptr;
        cuMemHostAlloc(&pinned, 64, 0);
        std::vector<float> own(16, 3.0F);
        CHECK(cuMemHostRegister(own.data(), 64, 0) == CUDA_SUCCESS);
        CHECK(ncclAllReduce(own.data(), pinned, 16, ncclFloat, ncclSum, self.comm, self.stream) ==
              ncclSuccess);
        CHECK(ncclAllReduce(pinned, own.data(), 16, ncclFloat, ncclSum, self.comm, self.stream) ==
              ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        CHECK(own[15] == 12.0F);
        cuMemHostUnregister(own.data());
        cuMemFreeHost(pinned);
    });
}

TEST_SUITE_END();
