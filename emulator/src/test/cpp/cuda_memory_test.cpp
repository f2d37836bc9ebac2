#include "support.h"

#include <cstring>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

TEST_SUITE_BEGIN("cuda_memory");

TEST_CASE("refuses everything before cuInit and without a context")
{
    int count = 0;
    CUdeviceptr address = 0;
    CUcontext context = nullptr;
    CHECK(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuInit(1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS);
    CHECK(count == 8);
    CHECK(cuMemAlloc(&address, 16) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    CHECK(context == nullptr);
    CHECK(cuCtxPopCurrent(&context) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxSetCurrent(reinterpret_cast<CUcontext>(0x1234)) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("names devices, attributes and addresses")
{
    OnDevice on(0);
    char name[64];
    CUdevice device = -1;
    CUuuid uuid;
    int value = 0;
    size_t bytes = 0;
    CHECK(cuDeviceGet(&device, 8) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceGet(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuDeviceGet(&device, 3) == CUDA_SUCCESS);
    CHECK(cuDeviceGetName(name, sizeof(name), device) == CUDA_SUCCESS);
    CHECK(std::string(name) == "NVIDIA H200");
    CHECK(cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS);
    CHECK(cuDeviceTotalMem(&bytes, device) == CUDA_SUCCESS);
    CHECK(bytes == 4ULL << 30);
    CHECK(cuDeviceGetPCIBusId(name, sizeof(name), device) == CUDA_SUCCESS);
    CHECK(cuDeviceGetByPCIBusId(&device, name) == CUDA_SUCCESS);
    CHECK(device == 3);
    CHECK(cuDeviceGetByPCIBusId(&device, "ff:ff.0") == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 3) ==
          CUDA_SUCCESS);
    CHECK(value == 9);
    CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_INTEGRATED, 7) == CUDA_SUCCESS);
    CHECK(value == 1);
    CHECK(cuDeviceGetAttribute(&value, strange<CUdevice_attribute>(9999), 0) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(cuDeviceCanAccessPeer(&value, 0, 1) == CUDA_SUCCESS);
    CHECK(value == 1);
}

TEST_CASE("has a name and a text for every code")
{
    const char *text = nullptr;
    std::set<std::string> names;
    for (int code = 0; code < 1000; ++code) {
        if (cuGetErrorName(static_cast<CUresult>(code), &text) != CUDA_SUCCESS)
            continue;
        CHECK(names.insert(text).second);
        CHECK(cuGetErrorString(static_cast<CUresult>(code), &text) == CUDA_SUCCESS);
        CHECK(std::strlen(text) > 0);
    }
    CHECK(names.size() > 100);
    CHECK(cuGetErrorName(strange<CUresult>(12345), &text) == CUDA_ERROR_INVALID_VALUE);
    CHECK(text == nullptr);
}

TEST_CASE("copies within bounds and refuses what leaves them")
{
    OnDevice on(0);
    std::vector<char> host(4096, 'x');
    CUdeviceptr a = 0;
    CUdeviceptr b = 0;
    REQUIRE(cuMemAlloc(&a, 1000) == CUDA_SUCCESS);
    REQUIRE(cuMemAlloc(&b, 1000) == CUDA_SUCCESS);
    CHECK(cuMemcpyHtoD(a, host.data(), 1000) == CUDA_SUCCESS);
    CHECK(cuMemcpyHtoD(a, host.data(), 1001) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyHtoD(a + 999, host.data(), 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyHtoD(0x1000, host.data(), 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyHtoD(a, nullptr, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemsetD8(a + 10, 'y', 10) == CUDA_SUCCESS);
    CHECK(cuMemsetD32(a + 2, 7, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemsetD32(a, 7, 251) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyDtoD(b, a, 1000) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH(host.data(), b, 1000) == CUDA_SUCCESS);
    CHECK(host[9] == 'x');
    CHECK(host[10] == 'y');
    CHECK(cuMemcpy(b, a, 1001) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFree(a + 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFree(a) == CUDA_SUCCESS);
    CHECK(cuMemFree(a) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFree(b) == CUDA_SUCCESS);
    CHECK(cuMemFree(0) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH(host.data(), a, 1) == CUDA_ERROR_INVALID_VALUE);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("survives a host address that is not mapped")
{
    OnDevice on(0);
    CUdeviceptr a = 0;
    REQUIRE(cuMemAlloc(&a, 4096) == CUDA_SUCCESS);
    void *hole = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(hole, 4096);
    CHECK(cuMemcpyHtoD(a, hole, 4096) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyDtoH(hole, a, 4096) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyHtoDAsync(a, hole, 4096, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemHostRegister(hole, 4096, 0) == CUDA_ERROR_INVALID_VALUE);
    cuMemFree(a);
}
#endif

TEST_CASE("runs out of memory where the profile says so")
{
    OnDevice on(1);
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    size_t free_bytes = 0;
    size_t total = 0;
    REQUIRE(cuMemAlloc(&first, 3ULL << 30) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&second, 3ULL << 30) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemGetInfo(&free_bytes, &total) == CUDA_SUCCESS);
    CHECK(free_bytes < 1ULL << 30);
    CHECK(cuMemFree(first) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&second, 3ULL << 30) == CUDA_SUCCESS);
    CHECK(cuMemFree(second) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&second, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemAlloc(&second, SIZE_MAX) == CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_CASE("knows pinned, registered and managed memory")
{
    OnDevice on(0);
    void *pinned = nullptr;
    CUdeviceptr managed = 0;
    CUdeviceptr address = 0;
    unsigned flags = 0;
    unsigned type = 0;
    std::vector<char> own(8192);
    CHECK(cuMemHostAlloc(&pinned, 4096, 0x80) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS);
    CHECK(cuMemHostGetFlags(&flags, pinned) == CUDA_SUCCESS);
    CHECK(cuMemHostGetDevicePointer(&address, pinned, 0) == CUDA_SUCCESS);
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS);
    CHECK(type == CU_MEMORYTYPE_HOST);
    CHECK(cuMemHostRegister(own.data(), own.size(), 0) == CUDA_SUCCESS);
    CHECK(cuMemHostRegister(own.data() + 100, 10, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(cuMemHostUnregister(own.data()) == CUDA_SUCCESS);
    CHECK(cuMemHostUnregister(own.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed) == CUDA_SUCCESS);
    CHECK(type == 1);
    size_t size = 0;
    CHECK(cuMemGetAddressRange(&address, &size, managed + 5) == CUDA_SUCCESS);
    CHECK(address == managed);
    CHECK(size == 4096);
    CHECK(cuMemGetAddressRange(&address, &size, 0x10) == CUDA_ERROR_NOT_FOUND);
    CHECK(cuMemFreeHost(pinned) == CUDA_SUCCESS);
    CHECK(cuMemFreeHost(pinned) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFree(managed) == CUDA_SUCCESS);
}

TEST_CASE("hands out a file for a range, where the device can")
{
    int fd = -1;
    CUdeviceptr address = 0;
    {
        OnDevice on(0);
        REQUIRE(cuMemAlloc(&address, 8192) == CUDA_SUCCESS);
        cuMemsetD8(address + 4096, 'z', 1);
        CHECK(cuMemGetHandleForAddressRange(&fd, address, 8192, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                                            0) == CUDA_SUCCESS);
        char seen = 0;
        CHECK(pread(fd, &seen, 1, 4096) == 1);
        CHECK(seen == 'z');
        close(fd);
        CHECK(cuMemGetHandleForAddressRange(&fd, address, 100, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                                            0) == CUDA_ERROR_INVALID_VALUE);
        cuMemFree(address);
    }
    OnDevice integrated(7);
    REQUIRE(cuMemAlloc(&address, 8192) == CUDA_SUCCESS);
    CHECK(cuMemGetHandleForAddressRange(&fd, address, 8192, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                                        0) == CUDA_ERROR_NOT_SUPPORTED);
    cuMemFree(address);
}

TEST_CASE("retains, resets and releases primary contexts")
{
    cuInit(0);
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    CUdeviceptr address = 0;
    unsigned flags = 0;
    int active = 1;
    CHECK(cuDevicePrimaryCtxRelease(5) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuDevicePrimaryCtxRetain(&first, 5) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&second, 5) == CUDA_SUCCESS);
    CHECK(first == second);
    cuCtxSetCurrent(first);
    CHECK(cuMemAlloc(&address, 100) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxReset(5) == CUDA_SUCCESS);
    CHECK(cuMemFree(address) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuDevicePrimaryCtxRelease(5) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRelease(5) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxGetState(5, &flags, &active) == CUDA_SUCCESS);
    CHECK(active == 0);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    cuCtxSetCurrent(nullptr);
}

TEST_CASE("creates and stacks contexts")
{
    cuInit(0);
    CUcontext made = nullptr;
    CUcontext top = nullptr;
    CUdevice device = -1;
    CHECK(cuCtxCreate(&made, nullptr, 0, 99) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuCtxCreate(&made, nullptr, 0, 2) == CUDA_SUCCESS);
    CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
    CHECK(device == 2);
    CHECK(cuCtxPushCurrent(made) == CUDA_SUCCESS);
    CHECK(cuCtxPopCurrent(&top) == CUDA_SUCCESS);
    CHECK(top == made);
    CHECK(cuCtxDestroy(made) == CUDA_SUCCESS);
    CHECK(cuCtxDestroy(made) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxGetCurrent(&top) == CUDA_SUCCESS);
    CHECK(top == nullptr);
}

TEST_CASE("stays lost once lost")
{
    OnDevice on(6);
    CUdeviceptr address = 0;
    REQUIRE(cuMemAlloc(&address, 16) == CUDA_SUCCESS);
    {
        WithFault fault("cuda.cuMemsetD8_v2 lost");
        CHECK(cuMemsetD8(address, 0, 16) == CUDA_ERROR_LAUNCH_FAILED);
    }
    CHECK(cuMemsetD8(address, 0, 16) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    CUcontext context = nullptr;
    CHECK(cuDevicePrimaryCtxRetain(&context, 6) == CUDA_ERROR_LAUNCH_FAILED);
    OnDevice other(5);
    CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
}

TEST_CASE("returns codes on the call asked for, and leaks nothing itself")
{
    OnDevice on(0);
    CUdeviceptr address = 0;
    uint64_t before = metrale_emulator_live_bytes();
    WithFault fault("cuda.cuMemAlloc_v2 call=2 code=2");
    CHECK(cuMemAlloc(&address, 64) == CUDA_SUCCESS);
    CUdeviceptr second = 0;
    CHECK(cuMemAlloc(&second, 64) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(metrale_emulator_live_bytes() == before + 64);
    CHECK(cuMemFree(address) == CUDA_SUCCESS);
    CHECK(metrale_emulator_live_bytes() == before);
}

TEST_CASE("finds its own functions by name")
{
    void *found = nullptr;
    CUdriverProcAddressQueryResult status;
    CHECK(cuGetProcAddress("cuMemAlloc", &found, 13000, 0, &status) == CUDA_SUCCESS);
    CHECK(found != nullptr);
    CHECK(cuGetProcAddress("cuNoSuch", &found, 13000, 0, &status) == CUDA_ERROR_NOT_FOUND);
    CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST_SUITE_END();
