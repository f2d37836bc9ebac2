#include "fixture.hpp"

#include <cerrno>

static bool holds(const char *memory, std::size_t offset, std::size_t bytes)
{
    const std::vector<char> wanted = TestFile::expected(offset, bytes);
    return std::memcmp(memory, wanted.data(), bytes) == 0;
}

TEST_SUITE("io")
{
    TEST_CASE("reads any offset, size and buffer offset right")
    {
        const Driver driver;
        constexpr std::size_t kBytes = 3 * 4096 + 777;
        TestFile file(kBytes);
        const bool direct = file.has_direct();
        const Handle plain(file.open_as(O_RDONLY));
        const Handle unbuffered(file.open_as(O_RDONLY | (direct ? O_DIRECT : 0)));
        AlignedMemory memory(32768);
        for (const CUfileHandle_t handle : {plain.value, unbuffered.value})
            for (const std::size_t offset : {0, 1, 511, 4096, 4097, 12287, 12288})
                for (const std::size_t bytes : {1, 511, 4096, 4097, 8192})
                    for (const off_t into : {0, 1, 4096, 5000}) {
                        const std::size_t there = kBytes - offset;
                        const std::size_t wanted = bytes < there ? bytes : there;
                        std::memset(memory.data, 0, 32768);
                        const ssize_t done = cuFileRead(handle, memory.data, bytes,
                                                        static_cast<off_t>(offset), into);
                        REQUIRE(done == static_cast<ssize_t>(wanted));
                        REQUIRE(holds(memory.data + into, offset, wanted));
                        REQUIRE(memory.data[static_cast<std::size_t>(into) + bytes] == 0);
                    }
    }

    TEST_CASE("writes what it is given, and reads it back")
    {
        const Driver driver;
        TestFile file(0);
        const bool direct = file.has_direct();
        const Handle handle(file.open_as(O_RDWR | (direct ? O_DIRECT : 0)));
        AlignedMemory memory(65536);
        const std::vector<char> content = TestFile::expected(0, 50000);
        std::memcpy(memory.data + 8, content.data(), content.size());
        CHECK(cuFileWrite(handle.value, memory.data, 50000, 0, 8) == 50000);
        std::memcpy(memory.data, content.data() + 4096, 8192);
        CHECK(cuFileWrite(handle.value, memory.data, 8192, 4096, 0) == 8192);
        std::memset(memory.data, 0, 65536);
        CHECK(cuFileRead(handle.value, memory.data, 65536, 0, 0) == 50000);
        CHECK(holds(memory.data, 0, 50000));
    }

    TEST_CASE("reads short at the end, also of a file truncated meanwhile")
    {
        const Driver driver;
        TestFile file(10000);
        const Handle handle(file.open_as(O_RDONLY));
        AlignedMemory memory(16384);
        CHECK(cuFileRead(handle.value, memory.data, 16384, 0, 0) == 10000);
        CHECK(cuFileRead(handle.value, memory.data, 16384, 10000, 0) == 0);
        CHECK(cuFileRead(handle.value, memory.data, 16384, 1 << 20U, 0) == 0);
        REQUIRE(truncate(file.path().c_str(), 300) == 0);
        CHECK(cuFileRead(handle.value, memory.data, 16384, 0, 0) == 300);
        CHECK(cuFileRead(handle.value, memory.data, 0, 0, 0) == 0);
    }

    TEST_CASE("says what the file system says with -1 and errno")
    {
        const Driver driver;
        TestFile file(4096);
        const Handle handle(file.open_as(O_RDONLY));
        AlignedMemory memory(4096);
        errno = 0;
        CHECK(cuFileWrite(handle.value, memory.data, 4096, 0, 0) == -1);
        CHECK(errno == EBADF);
        errno = 0;
        CHECK(cuFileRead(handle.value, reinterpret_cast<void *>(0x1000), 4096, 0, 0) == -1);
        CHECK(errno == EFAULT);
    }

    TEST_CASE("says all else with minus a code of its own")
    {
        AlignedMemory memory(8192);
        TestFile file(8192);
        CHECK(cuFileRead(nullptr, memory.data, 1, 0, 0) == -CU_FILE_DRIVER_NOT_INITIALIZED);
        const Driver driver;
        const Handle handle(file.open_as(O_RDWR));
        CHECK(cuFileRead(nullptr, memory.data, 1, 0, 0) == -CU_FILE_HANDLE_NOT_REGISTERED);
        CHECK(cuFileRead(memory.data, memory.data, 1, 0, 0) == -CU_FILE_HANDLE_NOT_REGISTERED);
        CHECK(cuFileRead(handle.value, nullptr, 1, 0, 0) == -CU_FILE_INVALID_VALUE);
        CHECK(cuFileRead(handle.value, memory.data, 1, -1, 0) == -CU_FILE_INVALID_VALUE);
        CHECK(cuFileRead(handle.value, memory.data, 1, 0, -1) == -CU_FILE_INVALID_VALUE);
        CHECK(cuFileWrite(handle.value, memory.data, ~std::size_t{0}, 0, 0) ==
              -CU_FILE_INVALID_VALUE);
        REQUIRE(cuFileBufRegister(memory.data, 4096, 0).err == CU_FILE_SUCCESS);
        CHECK(cuFileRead(handle.value, memory.data, 4096, 0, 0) == 4096);
        CHECK(cuFileRead(handle.value, memory.data, 4096, 0, 1) == -CU_FILE_INVALID_MAPPING_RANGE);
        CHECK(cuFileRead(handle.value, memory.data, 8192, 0, 0) == -CU_FILE_INVALID_MAPPING_RANGE);
        CHECK(cuFileBufDeregister(memory.data).err == CU_FILE_SUCCESS);
    }

    TEST_CASE("reads into device memory, and not beyond it")
    {
        const Driver driver;
        const Context context;
        TestFile file(100000);
        const Handle handle(file.open_as(O_RDONLY));
        const DeviceMemory memory(65536);
        CHECK(cuFileRead(handle.value, memory.pointer(), 60000, 3, 17) == 60000);
        CHECK(holds(memory.content(65536).data() + 17, 3, 60000));
        CHECK(cuFileRead(handle.value, memory.pointer(), 1ULL << 40U, 0, 0) ==
              -CU_FILE_CUDA_POINTER_RANGE_ERROR);
    }

    TEST_CASE("scatters and gathers")
    {
        const Driver driver;
        TestFile file(9000);
        const Handle handle(file.open_as(O_RDWR));
        AlignedMemory first(4096);
        AlignedMemory second(8192);
        const CUfileIOVec_t vectors[] = {{first.data, 4000}, {nullptr, 0}, {second.data, 8000}};
        CHECK(cuFileReadv(handle.value, vectors, 3, 0, 0) == 9000);
        CHECK(holds(first.data, 0, 4000));
        CHECK(holds(second.data, 4000, 5000));
        CHECK(cuFileWritev(handle.value, vectors, 3, 100, 0) == 12000);
        CHECK(cuFileReadv(handle.value, vectors, 3, 0, 5) == -CU_FILE_INVALID_VALUE);
        CHECK(cuFileReadv(handle.value, nullptr, 3, 0, 0) == -CU_FILE_INVALID_VALUE);
        CHECK(cuFileReadv(handle.value, vectors, 0, 0, 0) == 0);
        CHECK(cuFileReadv(nullptr, vectors, 3, 0, 0) == -CU_FILE_HANDLE_NOT_REGISTERED);
    }

    TEST_CASE("reads a file in memory the compatible way")
    {
        const Driver driver;
        if (access("/dev/shm", W_OK) != 0) {
            MESSAGE("skipped: no /dev/shm");
            return;
        }
        TestFile file(5000, "/dev/shm");
        const Handle handle(file.open_as(O_RDONLY));
        AlignedMemory memory(8192);
        CHECK(cuFileRead(handle.value, memory.data, 8192, 0, 0) == 5000);
        CHECK(holds(memory.data, 0, 5000));
    }
}
