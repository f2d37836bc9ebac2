#include "support.h"

#include <cstring>
#include <dirent.h>

TEST_SUITE_BEGIN("nccl_api");

TEST_CASE("says its version and its errors")
{
    int version = 0;
    CHECK(ncclGetVersion(&version) == ncclSuccess);
    CHECK(version == NCCL_VERSION_CODE);
    CHECK(ncclGetVersion(nullptr) == ncclInvalidArgument);
    for (int code = 0; code <= 9; ++code)
        CHECK(std::strlen(ncclGetErrorString(static_cast<ncclResult_t>(code))) > 0);
    CHECK(std::string(ncclGetLastError(nullptr)).find("version") != std::string::npos);
    CHECK(pncclGetVersion(&version) == ncclSuccess);
}

TEST_CASE("refuses bad arguments without harm")
{
    OnDevice on(0);
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    int value = 0;
    ncclResult_t state = ncclSuccess;
    auto *nonsense = reinterpret_cast<ncclComm_t>(0x10);
    REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
    CHECK(ncclGetUniqueId(nullptr) == ncclInvalidArgument);
    CHECK(ncclCommInitRank(nullptr, 1, id, 0) == ncclInvalidArgument);
    CHECK(ncclCommInitRank(&comm, 0, id, 0) == ncclInvalidArgument);
    CHECK(ncclCommInitRank(&comm, 2, id, 2) == ncclInvalidArgument);
    CHECK(ncclCommInitRank(&comm, 2, id, -1) == ncclInvalidArgument);
    ncclUniqueId zero{};
    CHECK(ncclCommInitRank(&comm, 1, zero, 0) == ncclInvalidArgument);
    CHECK(comm == nullptr);
    for (ncclComm_t handle : {static_cast<ncclComm_t>(nullptr), nonsense}) {
        CHECK(ncclCommCount(handle, &value) == ncclInvalidArgument);
        CHECK(ncclCommGetAsyncError(handle, &state) == ncclInvalidArgument);
        CHECK(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, handle, nullptr) ==
              ncclInvalidArgument);
        CHECK(ncclCommSplit(handle, 0, 0, &comm, nullptr) == ncclInvalidArgument);
        CHECK(ncclCommRevoke(handle, 0) == ncclInvalidArgument);
    }
    CHECK(ncclCommDestroy(nonsense) == ncclInvalidArgument);
    CHECK(ncclCommAbort(nonsense) == ncclInvalidArgument);
    CHECK(ncclCommDestroy(nullptr) == ncclSuccess);
    CHECK(ncclGroupEnd() == ncclInvalidUsage);

    REQUIRE(ncclCommInitRank(&comm, 1, id, 0) == ncclSuccess);
    CUdeviceptr data = 0;
    cuMemAlloc(&data, 64);
    CHECK(ncclCommCount(comm, nullptr) == ncclInvalidArgument);
    CHECK(ncclAllReduce(nullptr, pointer(data), 1, ncclInt, ncclSum, comm, nullptr) ==
          ncclInvalidArgument);
    CHECK(ncclAllReduce(pointer(data), pointer(data), 1, strange<ncclDataType_t>(50), ncclSum, comm,
                        nullptr) == ncclInvalidArgument);
    CHECK(ncclAllReduce(pointer(data), pointer(data), 1, ncclInt, static_cast<ncclRedOp_t>(9), comm,
                        nullptr) == ncclInvalidArgument);
    CHECK(ncclBroadcast(pointer(data), pointer(data), 1, ncclInt, 1, comm, nullptr) ==
          ncclInvalidArgument);
    CHECK(ncclAllReduce(pointer(data), pointer(data), SIZE_MAX / 2, ncclDouble, ncclSum, comm,
                        nullptr) == ncclInvalidArgument);
    CHECK(ncclAllReduce(pointer(data), pointer(data), 0, ncclInt, ncclSum, comm, nullptr) ==
          ncclSuccess);
    CHECK(ncclAllReduce(pointer(data), pointer(data), 1, ncclInt, ncclSum, comm,
                        reinterpret_cast<cudaStream_t>(0x99)) == ncclUnhandledCudaError);
    CHECK(ncclCommDestroy(comm) == ncclSuccess);
    CHECK(ncclCommDestroy(comm) == ncclInvalidArgument);
    CHECK(ncclCommInitRank(&comm, 1, id, 0) != ncclSuccess);
    cuMemFree(data);
}

TEST_CASE("checks the configuration as the real library does")
{
    OnDevice on(0);
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    ncclGetUniqueId(&id);
    ncclConfig_t zero;
    std::memset(&zero, 0, sizeof(zero));
    CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &zero) == ncclInvalidArgument);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 2;
    CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
    config = NCCL_CONFIG_INITIALIZER;
    config.minCTAs = 8;
    config.maxCTAs = 4;
    CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
    config = NCCL_CONFIG_INITIALIZER;
    CHECK(ncclCommInitRankScalable(&comm, 1, 0, 1, &id, &config) == ncclSuccess);
    ncclCollConfig_t call;
    std::memset(&call, 0, sizeof(call));
    CUdeviceptr data = 0;
    cuMemAlloc(&data, 64);
    CHECK(ncclAllReduceConfig(pointer(data), pointer(data), 4, ncclFloat, ncclSum, comm, nullptr,
                              &call) == ncclInvalidArgument);
    call = NCCL_COLLCONFIG_INITIALIZER;
    CHECK(ncclAllReduceConfig(pointer(data), pointer(data), 4, ncclFloat, ncclSum, comm, nullptr,
                              &call) == ncclSuccess);
    cuStreamSynchronize(nullptr);
    cuMemFree(data);
    CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

TEST_CASE("goes through in-progress where it must not block")
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
            OnDevice on(i);
            ncclComm_t comm = nullptr;
            ncclConfig_t copy = config;
            int count = 0;
            ncclResult_t state = ncclSuccess;
            CHECK(ncclCommInitRankConfig(&comm, 2, id, i, &copy) == ncclInProgress);
            if (i == 0) {
                CHECK(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
            }
            CHECK(settle(comm) == ncclSuccess);
            CHECK(ncclCommCount(comm, &count) == ncclSuccess);
            CHECK(count == 2);
            CUdeviceptr data = 0;
            cuMemAlloc(&data, 16);
            cuMemsetD32(data, 3, 4);
            CHECK(ncclAllReduce(pointer(data), pointer(data), 4, ncclInt, ncclSum, comm, nullptr) ==
                  ncclInProgress);
            CHECK(settle(comm) == ncclSuccess);
            CHECK(ncclAllReduce(pointer(data), pointer(data), 4, ncclInt, ncclSum, comm, nullptr) ==
                  ncclSuccess);
            CHECK(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
            int seen[4];
            cuMemcpyDtoH(seen, data, 16);
            CHECK(seen[3] == 12);
            CHECK(ncclCommFinalize(comm) == ncclInProgress);
            CHECK(settle(comm) == ncclSuccess);
            CHECK(ncclAllReduce(pointer(data), pointer(data), 4, ncclInt, ncclSum, comm, nullptr) ==
                  ncclInvalidUsage);
            CHECK(ncclCommDestroy(comm) == ncclSuccess);
            cuMemFree(data);
        });
    }
    for (std::thread &thread : threads)
        thread.join();
}

TEST_CASE("splits, shrinks and grows")
{
    ncclUniqueId grow_id;
    std::atomic<bool> known{false};
    std::thread newcomer([&] {
        REQUIRE(eventually([&] { return known.load(); }));
        OnDevice on(5);
        ncclComm_t grown = nullptr;
        int rank = -1;
        CHECK(ncclCommGrow(nullptr, 5, &grow_id, 4, &grown, nullptr) == ncclSuccess);
        CHECK(ncclCommUserRank(grown, &rank) == ncclSuccess);
        CHECK(rank == 4);
        CHECK(ncclCommDestroy(grown) == ncclSuccess);
    });
    on_ranks(4, [&](Rank &self) {
        ncclComm_t part = nullptr;
        int rank = -1;
        int count = 0;
        // Reversed by the key.
        CHECK(ncclCommSplit(self.comm, self.rank % 2, -self.rank, &part, nullptr) == ncclSuccess);
        CHECK(ncclCommUserRank(part, &rank) == ncclSuccess);
        CHECK(rank == (self.rank < 2 ? 1 : 0));
        CUdeviceptr data = self.upload(std::vector<int>{1 << self.rank});
        CHECK(ncclAllReduce(pointer(data), pointer(data), 1, ncclInt, ncclSum, part, self.stream) ==
              ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        CHECK(self.download<int>(data, 1)[0] == (self.rank % 2 == 0 ? 5 : 10));
        CHECK(ncclCommDestroy(part) == ncclSuccess);

        ncclComm_t none = self.comm;
        int color = self.rank == 0 ? NCCL_SPLIT_NOCOLOR : 1;
        CHECK(ncclCommSplit(self.comm, color, 0, &none, nullptr) == ncclSuccess);
        CHECK((none == nullptr) == (self.rank == 0));
        CHECK(ncclCommDestroy(none) == ncclSuccess);

        int excluded[] = {1};
        if (self.rank != 1) {
            ncclComm_t fewer = nullptr;
            CHECK(ncclCommShrink(self.comm, excluded, 1, &fewer, nullptr, NCCL_SHRINK_DEFAULT) ==
                  ncclSuccess);
            CHECK(ncclCommCount(fewer, &count) == ncclSuccess);
            CHECK(count == 3);
            CHECK(ncclCommDestroy(fewer) == ncclSuccess);
        }
        ncclComm_t more = nullptr;
        if (self.rank == 2) {
            CHECK(ncclCommGetUniqueId(self.comm, &grow_id) == ncclSuccess);
            ncclUniqueId again;
            CHECK(ncclCommGetUniqueId(self.comm, &again) == ncclInvalidUsage);
            known = true;
        }
        CHECK(ncclCommGrow(self.comm, 5, self.rank == 2 ? &grow_id : nullptr, -1, &more, nullptr) ==
              ncclSuccess);
        CHECK(ncclCommCount(more, &count) == ncclSuccess);
        CHECK(count == 5);
        CHECK(ncclCommDestroy(more) == ncclSuccess);
        cuMemFree(data);
    });
    newcomer.join();
}

TEST_CASE("registers buffers and windows, puts, signals and waits")
{
    on_ranks(2, [](Rank &self) {
        void *memory = nullptr;
        void *handle = nullptr;
        void *user = nullptr;
        ncclWindow_t window = nullptr;
        int other = 1 - self.rank;
        CHECK(ncclMemAlloc(&memory, 4096) == ncclSuccess);
        CHECK(ncclCommRegister(self.comm, memory, 4096, &handle) == ncclSuccess);
        CHECK(ncclCommDeregister(self.comm, handle) == ncclSuccess);
        CHECK(ncclCommDeregister(self.comm, handle) == ncclInvalidArgument);
        CHECK(ncclCommRegister(self.comm, memory, 5000, &handle) == ncclInvalidArgument);
        CHECK(ncclCommWindowRegister(self.comm, static_cast<char *>(memory) + 8, 64, &window,
                                     NCCL_WIN_COLL_SYMMETRIC) == ncclInvalidArgument);
        CHECK(ncclCommWindowRegister(self.comm, memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC) ==
              ncclSuccess);
        CHECK(ncclWinGetUserPtr(self.comm, window, &user) == ncclSuccess);
        CHECK(user == memory);
        CUdeviceptr data = self.upload(std::vector<int>{self.rank + 40});
        CHECK(ncclPutSignal(pointer(data), 1, ncclInt, other, window, 256, 0, 0, 0, self.comm,
                            self.stream) == ncclSuccess);
        CHECK(ncclSignal(other, 0, 0, 0, self.comm, self.stream) == ncclSuccess);
        CHECK(ncclSignal(other, 7, 0, 0, self.comm, self.stream) == ncclInvalidArgument);
        ncclWaitSignalDesc_t wait{2, other, 0, 0};
        CHECK(ncclWaitSignal(1, &wait, self.comm, self.stream) == ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        auto address = reinterpret_cast<CUdeviceptr>(memory);
        CHECK(self.download<int>(address + 256, 1)[0] == other + 40);
        CHECK(ncclCommWindowDeregister(self.comm, window) == ncclSuccess);
        CHECK(ncclCommWindowDeregister(self.comm, window) == ncclInvalidArgument);
        cuMemFree(data);
        CHECK(ncclMemFree(memory) == ncclSuccess);
    });
}

TEST_CASE("suspends, resumes, counts memory and revokes")
{
    on_ranks(2, [](Rank &self) {
        uint64_t value = 9;
        CUdeviceptr data = self.upload(std::vector<int>{1});
        CHECK(ncclCommSuspend(self.comm, NCCL_SUSPEND_MEM) == ncclSuccess);
        CHECK(ncclCommMemStats(self.comm, ncclStatGpuMemSuspended, &value) == ncclSuccess);
        CHECK(value == 1);
        CHECK(ncclAllReduce(pointer(data), pointer(data), 1, ncclInt, ncclSum, self.comm,
                            self.stream) == ncclInvalidUsage);
        CHECK(ncclCommResume(self.comm) == ncclSuccess);
        CHECK(ncclCommResume(self.comm) == ncclInvalidUsage);
        CHECK(ncclAllReduce(pointer(data), pointer(data), 1, ncclInt, ncclSum, self.comm,
                            self.stream) == ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        // Only one rank has work in flight: revoking lets its stream go.
        if (self.rank == 0)
            CHECK(ncclAllReduce(pointer(data), pointer(data), 1, ncclInt, ncclSum, self.comm,
                                self.stream) == ncclSuccess);
        CHECK(ncclCommRevoke(self.comm, 1) == ncclInvalidArgument);
        CHECK(ncclCommRevoke(self.comm, 0) == ncclSuccess);
        CHECK(cuStreamSynchronize(self.stream) == CUDA_SUCCESS);
        CHECK(ncclAllReduce(pointer(data), pointer(data), 1, ncclInt, ncclSum, self.comm,
                            self.stream) == ncclInvalidUsage);
        CHECK(ncclCommFinalize(self.comm) == ncclInvalidUsage);
        cuMemFree(data);
    });
}

TEST_CASE("knows parameters and simulates groups")
{
    ncclParamHandle_t handle = nullptr;
    int32_t number = 0;
    int8_t small = 0;
    const char *text = nullptr;
    const char **keys = nullptr;
    int count = 0;
    CHECK(ncclParamBind(&handle, "NCCL_BUFFSIZE") == ncclSuccess);
    CHECK(ncclParamGetI32(handle, &number) == ncclSuccess);
    CHECK(number == 4194304);
    CHECK(ncclParamGetI8(handle, &small) == ncclInvalidArgument);
    CHECK(ncclParamGetStr(handle, &text) == ncclSuccess);
    CHECK(ncclParamBind(&handle, "NO_SUCH") == ncclInvalidArgument);
    CHECK(ncclParamGetI32(nullptr, &number) == ncclInvalidArgument);
    CHECK(ncclParamGetAllParameterKeys(&keys, &count) == ncclSuccess);
    CHECK(count > 5);
    ncclEncryptionConfig_t encryption = NCCL_ENCRYPTION_CONFIG_INITIALIZER;
    CHECK(ncclSetEncryption(&encryption) == ncclSuccess);
    encryption.mode = NCCL_ENCRYPTION_MODE_PSK;
    CHECK(ncclSetEncryption(&encryption) == ncclInvalidArgument);
    on_ranks(1, [](Rank &self) {
        ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
        CUdeviceptr data = self.upload(std::vector<int>{5});
        ncclGroupStart();
        ncclAllReduce(pointer(data), pointer(data), 1, ncclInt, ncclSum, self.comm, self.stream);
        CHECK(ncclGroupSimulateEnd(&info) == ncclSuccess);
        CHECK(info.estimatedTime > 0);
        cuMemFree(data);
    });
}

TEST_CASE("refuses two ranks on one device")
{
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
            OnDevice on(0);
            ncclComm_t comm = nullptr;
            CHECK(ncclCommInitRank(&comm, 2, id, i) == ncclInvalidUsage);
            CHECK(comm == nullptr);
            CHECK(std::string(ncclGetLastError(nullptr)).find("Duplicate") != std::string::npos);
        });
    }
    for (std::thread &thread : threads)
        thread.join();
}

namespace
{

int open_files()
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != nullptr)
        ++count;
    closedir(folder);
    return count;
}

} // namespace

TEST_CASE("leaves nothing behind after many communicators")
{
    on_ranks(2, [](Rank &) {});
    int files = open_files();
    uint64_t bytes = metrale_emulator_live_bytes();
    for (int i = 0; i < 100; ++i)
        on_ranks(2, [](Rank &self) {
            CUdeviceptr data = self.upload(std::vector<int>{1, 2, 3});
            ncclAllReduce(pointer(data), pointer(data), 3, ncclInt, ncclSum, self.comm,
                          self.stream);
            cuStreamSynchronize(self.stream);
            cuMemFree(data);
        });
    CHECK(open_files() <= files);
    CHECK(metrale_emulator_live_bytes() == bytes);
}

TEST_SUITE_END();

/* From the header of NCCL's device side, which needs a CUDA compiler; only as far as is looked at.
 */
struct Properties {
    size_t size;
    unsigned int magic;
    unsigned int version;
    int rank;
    int ranks;
    int cuda_device;
    char rest[152 - 28];
};
static_assert(sizeof(Properties) == 152, "the layout is NCCL's");
extern "C" ncclResult_t ncclCommQueryProperties(ncclComm_t comm, Properties *properties);

TEST_CASE("tells the properties that the caller has room for")
{
    on_ranks(2, [](Rank &self) {
        const ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
        Properties found{};
        CHECK(ncclCommQueryProperties(self.comm, nullptr) == ncclInvalidArgument);
        CHECK(ncclCommQueryProperties(self.comm, &found) == ncclInvalidArgument);
        found.size = sizeof(found);
        found.magic = initial.magic;
        found.version = initial.version;
        CHECK(ncclCommQueryProperties(self.comm, &found) == ncclSuccess);
        CHECK(found.rank == self.rank);
        CHECK(found.ranks == 2);
        CHECK(found.cuda_device == self.rank);
        found.size = offsetof(Properties, ranks);
        found.ranks = 77;
        CHECK(ncclCommQueryProperties(self.comm, &found) == ncclSuccess);
        CHECK(found.ranks == 77);
    });
}
