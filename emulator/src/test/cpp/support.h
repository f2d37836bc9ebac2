#ifndef METRALE_EMULATOR_TEST_SUPPORT_H
#define METRALE_EMULATOR_TEST_SUPPORT_H

#include "cuda/bridge.h"

#include <doctest/doctest.h>
#include <nccl.h>

#include <cuda.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

extern "C" void metrale_emulator_cuda_configure(const char *lines);
extern "C" void metrale_emulator_nccl_configure(const char *lines);

/* A device's primary context, current while this lives. */
class OnDevice
{
  public:
    explicit OnDevice(int device) : device_(device)
    {
        cuInit(0);
        cuDevicePrimaryCtxRetain(&context, device);
        cuCtxSetCurrent(context);
    }
    ~OnDevice()
    {
        cuCtxSetCurrent(nullptr);
        cuDevicePrimaryCtxRelease(device_);
    }
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

    CUcontext context = nullptr;

  private:
    int device_;
};

/* One rank: its device is current, it has a stream and, once joined, a communicator. */
struct Rank {
    int rank = 0;
    int nranks = 0;
    CUstream stream = nullptr;
    ncclComm_t comm = nullptr;

    CUdeviceptr allocate(size_t bytes) const
    {
        CUdeviceptr address = 0;
        cuMemAlloc(&address, bytes);
        return address;
    }
    template <typename T> CUdeviceptr upload(const std::vector<T> &values) const
    {
        CUdeviceptr address = allocate(values.size() * sizeof(T));
        cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T));
        return address;
    }
    template <typename T> std::vector<T> download(CUdeviceptr address, size_t count) const
    {
        std::vector<T> values(count);
        cuMemcpyDtoH(values.data(), address, count * sizeof(T));
        return values;
    }
};

/* A value its enumeration does not have, as a caller in another language may give. */
template <typename Enumeration> Enumeration strange(int value)
{
    Enumeration result;
    std::memcpy(&result, &value, sizeof(result));
    return result;
}

inline void *pointer(CUdeviceptr address)
{
    return reinterpret_cast<void *>(address);
}

/* Runs `body` on so many ranks, a thread and a device each, joined into one communicator. */
inline void on_ranks(int nranks, const std::function<void(Rank &)> &body,
                     const std::function<void(Rank &)> &leave = {},
                     const ncclConfig_t *config = nullptr)
{
    ncclUniqueId id;
    REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
    std::vector<std::thread> threads;
    for (int i = 0; i < nranks; ++i) {
        threads.emplace_back([=, &body, &leave] {
            OnDevice device(i);
            Rank self;
            self.rank = i;
            self.nranks = nranks;
            CHECK(cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
            ncclConfig_t copy = NCCL_CONFIG_INITIALIZER;
            if (config != nullptr)
                copy = *config;
            CHECK(ncclCommInitRankConfig(&self.comm, nranks, id, i, &copy) == ncclSuccess);
            body(self);
            if (leave)
                leave(self);
            else
                CHECK(ncclCommDestroy(self.comm) == ncclSuccess);
            cuStreamDestroy(self.stream);
        });
    }
    for (std::thread &thread : threads)
        thread.join();
}

/* Polls until the communicator is not in progress. */
inline ncclResult_t settle(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;
    for (int waited = 0; waited < 20000 && state == ncclInProgress; ++waited) {
        if (ncclCommGetAsyncError(comm, &state) != ncclSuccess)
            return ncclInternalError;
        if (state == ncclInProgress)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return state;
}

inline bool eventually(const std::function<bool()> &condition, int milliseconds = 20000)
{
    for (int waited = 0; waited < milliseconds; ++waited) {
        if (condition())
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

/* Faults for one test. */
class WithFault
{
  public:
    explicit WithFault(const std::string &line)
    {
        cuda_ = line.rfind("cuda.", 0) == 0;
        (cuda_ ? metrale_emulator_cuda_configure
               : metrale_emulator_nccl_configure)(("fault = " + line).c_str());
    }
    ~WithFault()
    {
        (cuda_ ? metrale_emulator_cuda_configure : metrale_emulator_nccl_configure)(nullptr);
    }
    WithFault(const WithFault &) = delete;
    WithFault &operator=(const WithFault &) = delete;

  private:
    bool cuda_;
};

#endif
