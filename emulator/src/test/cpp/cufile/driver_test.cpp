#include "fixture.hpp"

#include <cerrno>

#include <dlfcn.h>

TEST_SUITE("driver")
{
    TEST_CASE("counts its uses")
    {
        CHECK(cuFileUseCount() == 0);
        CHECK(cuFileDriverClose().err == CU_FILE_DRIVER_NOT_INITIALIZED);
        CHECK(cuFileDriverOpen().err == CU_FILE_SUCCESS);
        CHECK(cuFileDriverOpen().err == CU_FILE_SUCCESS);
        CHECK(cuFileUseCount() == 2);
        CHECK(cuFileDriverClose().err == CU_FILE_SUCCESS);
        CHECK(cuFileUseCount() == 1);
        CHECK(cuFileDriverClose().err == CU_FILE_SUCCESS);
        CHECK(cuFileUseCount() == 0);
    }

    TEST_CASE("has the old name of close as well")
    {
        void *library = dlopen("libcufile.so.0", RTLD_NOW | RTLD_NOLOAD);
        REQUIRE(library != nullptr);
        CHECK(dlsym(library, "cuFileDriverClose") != nullptr);
        CHECK(dlsym(library, "cuFileDriverClose_v2") != nullptr);
        CHECK(dlsym(library, "metrale_emulator_marker") != nullptr);
        dlclose(library);
    }

    TEST_CASE("says its version with the driver closed")
    {
        int version = 0;
        CHECK(cuFileGetVersion(&version).err == CU_FILE_SUCCESS);
        CHECK(version == 1200);
        CHECK(cuFileGetVersion(nullptr).err == CU_FILE_INVALID_VALUE);
    }

    TEST_CASE("describes itself with nvidia-fs")
    {
        const Driver driver;
        CUfileDrvProps_t properties = {};
        CHECK(cuFileDriverGetProperties(&properties).err == CU_FILE_SUCCESS);
        CHECK(properties.nvfs.major_version == 2);
        CHECK((properties.nvfs.dstatusflags & 1U << CU_FILE_NVME_SUPPORTED) != 0);
        CHECK((properties.nvfs.dcontrolflags & 1U << CU_FILE_ALLOW_COMPAT_MODE) != 0);
        CHECK((properties.fflags & 1U << CU_FILE_BATCH_IO_SUPPORTED) != 0);
        CHECK(properties.nvfs.max_direct_io_size == 16384);
        CHECK(properties.max_batch_io_size == 128);
        CHECK(cuFileDriverGetProperties(nullptr).err == CU_FILE_INVALID_VALUE);
        CUfileP2PFlags_t flags = {};
        CHECK(cuFileDriverGetP2PFlags(CU_FILE_NVME_SUPPORTED, &flags).err == CU_FILE_SUCCESS);
        CHECK(flags == CU_FILE_P2P_FLAG_NVFS);
        std::size_t kilobytes = 0;
        CHECK(cuFileGetBARSizeInKB(0, &kilobytes).err == CU_FILE_SUCCESS);
        CHECK(kilobytes == 256ULL << 20U);
        CHECK(cuFileGetBARSizeInKB(99, &kilobytes).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileExportPCIeTopology("topology.json").err == CU_FILE_SUCCESS);
        CHECK(access("topology.json", R_OK) == 0);
        CHECK(cuFileExportPCIeTopology(nullptr).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileExportPCIeTopology("/no/such/folder/x").err == CU_FILE_INVALID_VALUE);
    }
}

TEST_SUITE("no_gpu")
{
    TEST_CASE("passes on what CUDA says")
    {
        const CUfileError_t answer = cuFileDriverOpen();
        CHECK(answer.err == CU_FILE_CUDA_DRIVER_ERROR);
        CHECK(answer.cu_err == CUDA_ERROR_NO_DEVICE);
        CHECK(cuFileUseCount() == 0);
        CHECK(cuFileDriverSetMaxCacheSize(4096).err == CU_FILE_CUDA_DRIVER_ERROR);
    }
}

TEST_SUITE("no_libcuda")
{
    TEST_CASE("cannot set itself up")
    {
        const CUfileError_t answer = cuFileDriverOpen();
        CHECK(answer.err == CU_FILE_NVFS_SETUP_ERROR);
        CHECK(answer.cu_err == CUDA_SUCCESS);
    }
}

TEST_SUITE("no_nvfs_no_compat")
{
    TEST_CASE("has no driver to open")
    {
        CHECK(cuFileDriverOpen().err == CU_FILE_DRIVER_NOT_INITIALIZED);
        CHECK(cuFileUseCount() == 0);
        CHECK(cuFileSetParameterBool(CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE, true).err ==
              CU_FILE_SUCCESS);
        CHECK(cuFileDriverOpen().err == CU_FILE_SUCCESS);
        CHECK(cuFileDriverClose().err == CU_FILE_SUCCESS);
    }
}

TEST_SUITE("gb10_no_compat")
{
    TEST_CASE("has a GPU that cannot do it")
    {
        CHECK(cuFileDriverOpen().err == CU_FILE_DEVICE_NOT_SUPPORTED);
    }
}

TEST_SUITE("json")
{
    TEST_CASE("reads cuFile's own configuration")
    {
        CUfileDrvProps_t properties = {};
        CHECK(cuFileDriverGetProperties(&properties).err == CU_FILE_SUCCESS);
        CHECK(properties.nvfs.dcontrolflags == 1U << CU_FILE_USE_POLL_MODE);
        bool allowed = true;
        CHECK(cuFileGetParameterBool(CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE, &allowed).err ==
              CU_FILE_SUCCESS);
        CHECK_FALSE(allowed);
        int version = 0;
        CHECK(cuFileGetVersion(&version).err == CU_FILE_SUCCESS);
        CHECK(version == 1131);
    }
}

TEST_SUITE("faults")
{
    TEST_CASE("answers in each of the three conventions")
    {
        CHECK(cuFileDriverOpen().err == CU_FILE_DRIVER_VERSION_MISMATCH);
        const Driver driver;
        TestFile file(4096);
        const Handle handle(file.open_as(O_RDWR));
        AlignedMemory memory(4096);
        errno = 0;
        CHECK(cuFileRead(handle.value, memory.data, 4096, 0, 0) == -1);
        CHECK(errno == ENOSPC);
        CHECK(cuFileRead(handle.value, memory.data, 4096, 0, 0) == -CU_FILE_HANDLE_NOT_REGISTERED);
        CHECK(cuFileRead(handle.value, memory.data, 4096, 0, 0) == 4096);
        CHECK(cuFileWrite(handle.value, memory.data, 4096, 0, 0) == -CU_FILE_IO_ERROR);
    }
}
