#include "fixture.hpp"

static CUfileOpError register_code(int fd,
                                   CUfileFileHandleType type = CU_FILE_HANDLE_TYPE_OPAQUE_FD)
{
    CUfileDescr_t described = descriptor(fd);
    described.type = type;
    CUfileHandle_t handle = nullptr;
    const CUfileError_t answer = cuFileHandleRegister(&handle, &described);
    if (answer.err == CU_FILE_SUCCESS)
        cuFileHandleDeregister(handle);
    return answer.err;
}

TEST_SUITE("files")
{
    TEST_CASE("opens the driver by itself")
    {
        TestFile file(10);
        CHECK(cuFileUseCount() == 0);
        CHECK(register_code(file.open_as(O_RDONLY)) == CU_FILE_SUCCESS);
        CHECK(cuFileUseCount() == 1);
        CHECK(cuFileDriverClose().err == CU_FILE_SUCCESS);
    }

    TEST_CASE("refuses what is no regular file")
    {
        const Driver driver;
        TestFile file(10);
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        CHECK(register_code(ends[0]) == CU_FILE_INVALID_FILE_TYPE);
        close(ends[0]);
        close(ends[1]);
        CHECK(register_code(ends[0]) == CU_FILE_INVALID_FILE_TYPE);
        CHECK(register_code(-1) == CU_FILE_INVALID_VALUE);
        const int fd = file.open_as(O_RDONLY);
        CHECK(register_code(fd, CU_FILE_HANDLE_TYPE_OPAQUE_WIN32) == CU_FILE_IO_NOT_SUPPORTED);
        CHECK(register_code(fd, CU_FILE_HANDLE_TYPE_USERSPACE_FS) == CU_FILE_IO_NOT_SUPPORTED);
        CHECK(register_code(fd, CUfileFileHandleType{}) == CU_FILE_INVALID_VALUE);
        CHECK(cuFileHandleRegister(nullptr, nullptr).err == CU_FILE_INVALID_VALUE);
        cuFileHandleDeregister(nullptr);
        cuFileHandleDeregister(reinterpret_cast<CUfileHandle_t>(0x10));
    }

    TEST_CASE("registers a descriptor once")
    {
        const Driver driver;
        TestFile file(10);
        const int fd = file.open_as(O_RDONLY);
        const Handle handle(fd);
        CHECK(register_code(fd) == CU_FILE_HANDLE_ALREADY_REGISTERED);
        CHECK(register_code(file.open_as(O_RDONLY)) == CU_FILE_SUCCESS);
    }

    TEST_CASE("keeps registered buffers apart")
    {
        const Driver driver;
        AlignedMemory memory(8192);
        CHECK(cuFileBufRegister(nullptr, 4096, 0).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileBufRegister(memory.data, 0, 0).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileBufRegister(memory.data, 4096, 64).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileBufRegister(memory.data, 4096, CU_FILE_RDMA_REGISTER).err == CU_FILE_SUCCESS);
        CHECK(cuFileBufRegister(memory.data, 4096, 0).err == CU_FILE_MEMORY_ALREADY_REGISTERED);
        CHECK(cuFileBufRegister(memory.data + 100, 8, 0).err == CU_FILE_MEMORY_ALREADY_REGISTERED);
        CHECK(cuFileBufRegister(memory.data + 4096, 4096, 0).err == CU_FILE_SUCCESS);
        CHECK(cuFileBufDeregister(memory.data).err == CU_FILE_SUCCESS);
        CHECK(cuFileBufDeregister(memory.data).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileBufDeregister(memory.data + 4096).err == CU_FILE_SUCCESS);
    }

    TEST_CASE("pins no more than it may")
    {
        REQUIRE(cuFileDriverSetMaxPinnedMemSize(64).err == CU_FILE_SUCCESS);
        const Driver driver;
        AlignedMemory memory(128 << 10U);
        CHECK(cuFileBufRegister(memory.data, 64 << 10U, 0).err == CU_FILE_SUCCESS);
        CHECK(cuFileBufRegister(memory.data + (64 << 10U), 1, 0).err ==
              CU_FILE_GPU_MEMORY_PINNING_FAILED);
        CHECK(cuFileBufDeregister(memory.data).err == CU_FILE_SUCCESS);
    }

    TEST_CASE("refuses device memory beyond its end")
    {
        const Driver driver;
        const Context context;
        const DeviceMemory memory(1 << 20U);
        CHECK(cuFileBufRegister(memory.pointer(), 1 << 20U, 0).err == CU_FILE_SUCCESS);
        CHECK(cuFileBufDeregister(memory.pointer()).err == CU_FILE_SUCCESS);
        CHECK(cuFileBufRegister(memory.pointer(), 1ULL << 40U, 0).err ==
              CU_FILE_CUDA_POINTER_RANGE_ERROR);
    }
}

TEST_SUITE("no_compat")
{
    TEST_CASE("takes only O_DIRECT")
    {
        const Driver driver;
        TestFile file(4096);
        CHECK(register_code(file.open_as(O_RDONLY)) == CU_FILE_INVALID_FILE_OPEN_FLAG);
        if (file.has_direct())
            CHECK(register_code(file.open_as(O_RDONLY | O_DIRECT)) == CU_FILE_SUCCESS);
        else
            MESSAGE("skipped: no O_DIRECT in the working folder");
    }

    TEST_CASE("takes no file in memory")
    {
        const Driver driver;
        if (access("/dev/shm", W_OK) != 0) {
            MESSAGE("skipped: no /dev/shm");
            return;
        }
        TestFile file(4096, "/dev/shm");
        CHECK(register_code(file.open_as(O_RDONLY)) == CU_FILE_IO_NOT_SUPPORTED);
    }
}
