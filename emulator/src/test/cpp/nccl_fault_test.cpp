#include "support.h"

#include <atomic>

TEST_SUITE_BEGIN("nccl_fault");

namespace
{

void abort_comm(Rank &self)
{
    CHECK(ncclCommAbort(self.comm) == ncclSuccess);
    CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
}

ncclResult_t reduce_one(Rank &self, CUdeviceptr data, size_t count = 1)
{
    return ncclAllReduce(pointer(data), pointer(data), count, ncclInt, ncclSum, self.comm,
                         self.stream);
}

} // namespace

TEST_CASE("returns a code on the n-th call of one rank")
{
    WithFault fault("nccl.ncclAllReduce rank=1 call=2 code=2");
    on_ranks(2, [](Rank &self) {
        CUdeviceptr data = self.upload(std::vector<int>{1});
        CHECK(reduce_one(self, data) == ncclSuccess);
        cuStreamSynchronize(self.stream);
        if (self.rank == 1)
            CHECK(reduce_one(self, data) == ncclSystemError);
        CHECK(reduce_one(self, data) == ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        cuMemFree(data);
    });
}

TEST_CASE("hangs until it is aborted")
{
    WithFault fault("nccl.ncclAllReduce rank=0 hang");
    on_ranks(
        2,
        [](Rank &self) {
            CUdeviceptr data = self.upload(std::vector<int>{1});
            CHECK(reduce_one(self, data) == ncclSuccess);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            CHECK(cuStreamQuery(self.stream) == CUDA_ERROR_NOT_READY);
        },
        abort_comm);
}

TEST_CASE("delays on the stream, not in the call")
{
    WithFault fault("nccl.ncclAllReduce delay=80");
    on_ranks(2, [](Rank &self) {
        CUdeviceptr data = self.upload(std::vector<int>{1});
        auto begin = std::chrono::steady_clock::now();
        CHECK(reduce_one(self, data) == ncclSuccess);
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(70));
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(75));
        cuMemFree(data);
    });
}

TEST_CASE("shows an asynchronous error and stays stuck")
{
    WithFault fault("nccl.ncclAllReduce async=6");
    on_ranks(
        2,
        [](Rank &self) {
            CUdeviceptr data = self.upload(std::vector<int>{1});
            CHECK(reduce_one(self, data) == ncclSuccess);
            ncclResult_t state = ncclSuccess;
            CHECK(eventually([&] {
                ncclCommGetAsyncError(self.comm, &state);
                return state == ncclRemoteError;
            }));
            CHECK(cuStreamQuery(self.stream) == CUDA_ERROR_NOT_READY);
            CHECK(reduce_one(self, data) == ncclRemoteError);
        },
        abort_comm);
}

TEST_CASE("loses an operation silently")
{
    WithFault fault("nccl.ncclAllReduce rank=0 skip");
    on_ranks(
        2,
        [](Rank &self) {
            CUdeviceptr data = self.upload(std::vector<int>{1});
            CHECK(reduce_one(self, data) == ncclSuccess);
            if (self.rank == 0)
                CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
            else
                CHECK(cuStreamQuery(self.stream) == CUDA_ERROR_NOT_READY);
        },
        abort_comm);
}

TEST_CASE("hangs on mismatched counts, or says so where asked")
{
    for (const char *mode : {"hang", "error"}) {
        metrale_emulator_nccl_configure((std::string("nccl.mismatch = ") + mode).c_str());
        on_ranks(
            2,
            [mode](Rank &self) {
                CUdeviceptr data = self.upload(std::vector<int>{1, 2});
                CHECK(reduce_one(self, data, self.rank == 0 ? 1 : 2) == ncclSuccess);
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                CHECK(cuStreamQuery(self.stream) == CUDA_ERROR_NOT_READY);
                ncclResult_t expected =
                    std::string(mode) == "error" ? ncclInvalidUsage : ncclSuccess;
                CHECK(eventually([&] {
                    ncclResult_t state = ncclSuccess;
                    ncclCommGetAsyncError(self.comm, &state);
                    return state == expected;
                }));
            },
            abort_comm);
    }
    metrale_emulator_nccl_configure("nccl.mismatch = hang");
}

TEST_CASE("sees a rank that leaves as a remote error")
{
    on_ranks(
        2,
        [](Rank &self) {
            if (self.rank == 1)
                return;
            CUdeviceptr data = self.upload(std::vector<int>{1});
            CHECK(reduce_one(self, data) == ncclSuccess);
            CHECK(eventually([&] {
                ncclResult_t state = ncclSuccess;
                ncclCommGetAsyncError(self.comm, &state);
                return state == ncclRemoteError;
            }));
        },
        abort_comm);
}

TEST_CASE("aborts an init that waits for a rank that never joins")
{
    WithFault fault("nccl.ncclCommInitRankConfig rank=1 hang");
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comms[2];
    for (int i = 0; i < 2; ++i) {
        OnDevice on(i);
        ncclConfig_t copy = config;
        CHECK(ncclCommInitRankConfig(&comms[i], 2, id, i, &copy) == ncclInProgress);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (ncclComm_t comm : comms) {
        ncclResult_t state = ncclSuccess;
        CHECK(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
        CHECK(state == ncclInProgress);
        CHECK(ncclCommAbort(comm) == ncclSuccess);
        CHECK(ncclCommAbort(comm) == ncclInvalidArgument);
    }
}

TEST_CASE("lets another thread abort a blocking init")
{
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    static ncclComm_t comm = nullptr;
    std::thread waiting([&] {
        OnDevice on(0);
        CHECK(ncclCommInitRank(&comm, 2, id, 0) == ncclInternalError);
    });
    // The handle is written before the call blocks.
    ncclComm_t handle = nullptr;
    CHECK(eventually([&] {
        handle = __atomic_load_n(&comm, __ATOMIC_ACQUIRE);
        return handle != nullptr;
    }));
    CHECK(ncclCommAbort(handle) == ncclSuccess);
    waiting.join();
}

TEST_CASE("fails pageable memory as the hardware does, or at the call where asked")
{
    std::vector<int> pageable(4);
    on_ranks(
        1,
        [&](Rank &self) {
            metrale_emulator_nccl_configure("nccl.check_pointers = 1");
            CHECK(ncclAllReduce(pageable.data(), pageable.data(), 4, ncclInt, ncclSum, self.comm,
                                self.stream) == ncclInvalidArgument);
            metrale_emulator_nccl_configure("nccl.check_pointers = 0");
            CHECK(ncclAllReduce(pageable.data(), pageable.data(), 4, ncclInt, ncclSum, self.comm,
                                self.stream) == ncclSuccess);
            CHECK(cuStreamSynchronize(self.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
            CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
            ncclResult_t state = ncclSuccess;
            CHECK(ncclCommGetAsyncError(self.comm, &state) == ncclSuccess);
            CHECK(state == ncclUnhandledCudaError);
        },
        [](Rank &self) { CHECK(ncclCommAbort(self.comm) == ncclSuccess); });
    // A reset brings the device back.
    cuDevicePrimaryCtxReset(0);
    OnDevice on(0);
    CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
}

TEST_CASE("shrinks away from a hung operation")
{
    on_ranks(
        3,
        [](Rank &self) {
            if (self.rank == 2)
                return;
            CUdeviceptr data = self.upload(std::vector<int>{1});
            CHECK(reduce_one(self, data) == ncclSuccess);
            int excluded[] = {2};
            ncclComm_t fewer = nullptr;
            CHECK(ncclCommShrink(self.comm, excluded, 1, &fewer, nullptr, NCCL_SHRINK_ABORT) ==
                  ncclSuccess);
            CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
            CHECK(ncclAllReduce(pointer(data), pointer(data), 1, ncclInt, ncclSum, fewer,
                                self.stream) == ncclSuccess);
            CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
            CHECK(self.download<int>(data, 1)[0] == 2);
            CHECK(ncclCommDestroy(fewer) == ncclSuccess);
            cuMemFree(data);
        },
        abort_comm);
}

TEST_CASE("frees memory under a peer's hands without harm")
{
    for (int round = 0; round < 20; ++round) {
        on_ranks(
            2,
            [](Rank &self) {
                constexpr size_t kCount = 1 << 20;
                CUdeviceptr data = self.allocate(kCount * 4);
                CHECK(ncclAllReduce(pointer(data), pointer(data), kCount, ncclInt, ncclSum,
                                    self.comm, self.stream) == ncclSuccess);
                CHECK(ncclCommAbort(self.comm) == ncclSuccess);
                CHECK(cuMemFree(data) == CUDA_SUCCESS);
            },
            [](Rank &) {});
    }
}

TEST_CASE("lets go of the streams of a device that is lost")
{
    on_ranks(
        2,
        [](Rank &self) {
            CUdeviceptr data = self.upload(std::vector<int>{1});
            if (self.rank == 0) {
                CHECK(reduce_one(self, data) == ncclSuccess);
                metrale_emulator_cuda_lose(0, 0);
                CHECK(cuStreamSynchronize(self.stream) == CUDA_ERROR_LAUNCH_FAILED);
            }
        },
        [](Rank &self) { CHECK(ncclCommAbort(self.comm) == ncclSuccess); });
}

TEST_SUITE_END();
