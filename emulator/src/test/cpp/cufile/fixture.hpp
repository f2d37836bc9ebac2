#ifndef METRALE_EMULATOR_TEST_CUFILE_FIXTURE_HPP
#define METRALE_EMULATOR_TEST_CUFILE_FIXTURE_HPP

#include <cufile.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

struct Driver {
    Driver()
    {
        REQUIRE(cuFileDriverOpen().err == CU_FILE_SUCCESS);
    }
    ~Driver()
    {
        cuFileDriverClose();
    }
    Driver(const Driver &) = delete;
    Driver &operator=(const Driver &) = delete;
};

/* A file of its own in the working folder, which has O_DIRECT where the folder's file system has.
 */
class TestFile
{
  public:
    explicit TestFile(std::size_t bytes = 0, const char *folder = ".")
    {
        std::string pattern = std::string(folder) + "/cufile-test-XXXXXX";
        const int made = mkstemp(pattern.data());
        REQUIRE(made >= 0);
        path_ = pattern;
        const std::vector<char> content = expected(0, bytes);
        REQUIRE(write(made, content.data(), bytes) == static_cast<ssize_t>(bytes));
        close(made);
    }
    ~TestFile()
    {
        for (const int fd : opened_)
            close(fd);
        unlink(path_.c_str());
    }
    TestFile(const TestFile &) = delete;
    TestFile &operator=(const TestFile &) = delete;

    int open_as(int flags)
    {
        const int fd = open(path_.c_str(), flags | O_CLOEXEC);
        if (fd >= 0)
            opened_.push_back(fd);
        return fd;
    }
    bool has_direct()
    {
        return open_as(O_RDONLY | O_DIRECT) >= 0;
    }
    const std::string &path() const
    {
        return path_;
    }

    /* The byte at each offset is known. */
    static std::vector<char> expected(std::size_t offset, std::size_t bytes)
    {
        std::vector<char> content(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            content[i] = static_cast<char>((offset + i) * 131 + (offset + i) / 251);
        return content;
    }

  private:
    std::string path_;
    std::vector<int> opened_;
};

inline CUfileDescr_t descriptor(int fd)
{
    CUfileDescr_t result;
    std::memset(&result, 0, sizeof(result));
    result.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
    result.handle.fd = fd;
    return result;
}

struct Handle {
    CUfileHandle_t value = nullptr;
    explicit Handle(int fd)
    {
        CUfileDescr_t described = descriptor(fd);
        REQUIRE(cuFileHandleRegister(&value, &described).err == CU_FILE_SUCCESS);
    }
    ~Handle()
    {
        cuFileHandleDeregister(value);
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
};

struct AlignedMemory {
    char *data;
    explicit AlignedMemory(std::size_t bytes)
        : data(static_cast<char *>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)))
    {
        REQUIRE(data != nullptr);
        std::memset(data, 0, bytes);
    }
    ~AlignedMemory()
    {
        std::free(data);
    }
    AlignedMemory(const AlignedMemory &) = delete;
    AlignedMemory &operator=(const AlignedMemory &) = delete;
};

/* Device 0's context, current in this thread. */
struct Context {
    CUcontext value = nullptr;
    Context()
    {
        REQUIRE(cuInit(0) == CUDA_SUCCESS);
        REQUIRE(cuDevicePrimaryCtxRetain(&value, 0) == CUDA_SUCCESS);
        REQUIRE(cuCtxSetCurrent(value) == CUDA_SUCCESS);
    }
    ~Context()
    {
        cuCtxSetCurrent(nullptr);
        cuDevicePrimaryCtxRelease(0);
    }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;
};

struct DeviceMemory {
    CUdeviceptr address = 0;
    explicit DeviceMemory(std::size_t bytes)
    {
        REQUIRE(cuMemAlloc(&address, bytes) == CUDA_SUCCESS);
    }
    ~DeviceMemory()
    {
        cuMemFree(address);
    }
    DeviceMemory(const DeviceMemory &) = delete;
    DeviceMemory &operator=(const DeviceMemory &) = delete;

    void *pointer() const
    {
        return reinterpret_cast<void *>(address);
    }
    std::vector<char> content(std::size_t bytes) const
    {
        std::vector<char> copy(bytes);
        REQUIRE(cuMemcpyDtoH(copy.data(), address, bytes) == CUDA_SUCCESS);
        return copy;
    }
};

#endif
