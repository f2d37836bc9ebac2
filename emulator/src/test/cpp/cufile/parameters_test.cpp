#include "fixture.hpp"

TEST_SUITE("parameters")
{
    TEST_CASE("stages values until the driver is opened")
    {
        std::size_t value = 0;
        CHECK(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, 64).err ==
              CU_FILE_SUCCESS);
        const Driver driver;
        CHECK(cuFileGetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, &value).err ==
              CU_FILE_SUCCESS);
        CHECK(value == 64);
        CHECK(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, 32).err ==
              CU_FILE_DRIVER_ALREADY_OPEN);
        CHECK(cuFileSetParameterBool(CUFILE_PARAM_FORCE_COMPAT_MODE, true).err ==
              CU_FILE_DRIVER_ALREADY_OPEN);
        CHECK(cuFileSetParameterString(CUFILE_PARAM_LOG_DIR, "/tmp").err ==
              CU_FILE_DRIVER_ALREADY_OPEN);
    }

    TEST_CASE("knows its parameters and their limits")
    {
        std::size_t low = 0;
        std::size_t high = 0;
        bool flag = false;
        char text[32] = "";
        CHECK(cuFileGetParameterMinMaxValue(CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH, &low, &high)
                  .err == CU_FILE_SUCCESS);
        CHECK(low == 1);
        CHECK(high == 256);
        CHECK(cuFileGetParameterMinMaxValue(CUFILE_PARAM_PROFILE_STATS, &low, &high).err ==
              CU_FILE_INVALID_VALUE);
        CHECK(cuFileGetParameterSizeT(static_cast<CUFileSizeTConfigParameter_t>(15), &low).err ==
              CU_FILE_INVALID_VALUE);
        CHECK(cuFileGetParameterSizeT(CUFILE_PARAM_PROFILE_STATS, nullptr).err ==
              CU_FILE_INVALID_VALUE);
        CHECK(cuFileGetParameterBool(CUFILE_PARAM_EXECUTION_PARALLEL_IO, &flag).err ==
              CU_FILE_SUCCESS);
        CHECK(flag);
        CHECK(cuFileGetParameterBool(CUFILE_PARAM_PROFILE_NVTX, &flag).err ==
              CU_FILE_INVALID_VALUE);
        CHECK(cuFileGetParameterString(CUFILE_PARAM_RDMA_TRANSPORT, text, sizeof(text)).err ==
              CU_FILE_SUCCESS);
        CHECK(std::string(text) == "DC_V1");
        CHECK(cuFileGetParameterString(CUFILE_PARAM_RDMA_TRANSPORT, text, 3).err ==
              CU_FILE_INVALID_VALUE);
    }

    TEST_CASE("takes slab sizes in ascending pages")
    {
        const std::size_t sizes[] = {4, 1024, 2048};
        const std::size_t counts[] = {8, 16, 32};
        const std::size_t wrong[] = {4, 3, 2048};
        std::size_t back[3] = {};
        std::size_t many[3] = {};
        CHECK(cuFileGetParameterPosixPoolSlabArray(back, many, 3).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileSetParameterPosixPoolSlabArray(wrong, counts, 3).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileSetParameterPosixPoolSlabArray(sizes, counts, 3).err == CU_FILE_SUCCESS);
        CHECK(cuFileGetParameterPosixPoolSlabArray(back, many, 2).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileGetParameterPosixPoolSlabArray(back, many, 3).err == CU_FILE_SUCCESS);
        CHECK(back[2] == 2048);
        CHECK(many[1] == 16);
        CHECK(cuFileSetParameterGpuBounceBufferSlabArray(sizes, counts, 2).err == CU_FILE_SUCCESS);
        CHECK(cuFileGetParameterGpuBounceBufferSlabArray(back, many, 2).err == CU_FILE_SUCCESS);
    }

    TEST_CASE("checks sizes in steps of four kilobytes")
    {
        CHECK(cuFileDriverSetMaxDirectIOSize(3).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileDriverSetMaxDirectIOSize(4096).err == CU_FILE_SUCCESS);
        CHECK(cuFileDriverSetPollMode(true, 3).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileDriverSetPollMode(true, 8).err == CU_FILE_SUCCESS);
        CHECK(cuFileDriverSetMaxCacheSize(8).err == CU_FILE_SUCCESS);
        CHECK(cuFileDriverSetMaxPinnedMemSize(8).err == CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
        CUfileDrvProps_t properties = {};
        CHECK(cuFileDriverGetProperties(&properties).err == CU_FILE_SUCCESS);
        CHECK(properties.nvfs.max_direct_io_size == 4096);
        CHECK(properties.nvfs.poll_thresh_size == 8);
        CHECK((properties.nvfs.dcontrolflags & 1U << CU_FILE_USE_POLL_MODE) != 0);
        CHECK(properties.max_device_cache_size == 8);
    }
}
