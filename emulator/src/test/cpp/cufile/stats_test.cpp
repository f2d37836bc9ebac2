#include "fixture.hpp"

/* One aligned read of 8192 bytes and one of 100, as the statistics of the first GPU have them. */
static CUfilePerGpuStats_t statistics_of_two_reads(bool *direct)
{
    const Driver driver;
    TestFile file(8192);
    *direct = file.has_direct();
    const Handle handle(file.open_as(O_RDONLY | (*direct ? O_DIRECT : 0)));
    AlignedMemory memory(8192);
    REQUIRE(cuFileSetStatsLevel(3).err == CU_FILE_SUCCESS);
    REQUIRE(cuFileStatsReset().err == CU_FILE_SUCCESS);
    REQUIRE(cuFileStatsStart().err == CU_FILE_SUCCESS);
    CHECK(cuFileRead(handle.value, memory.data, 8192, 0, 0) == 8192);
    CHECK(cuFileRead(handle.value, memory.data, 100, 3, 0) == 100);
    auto all = std::make_unique<CUfileStatsLevel3_t>();
    REQUIRE(cuFileGetStatsL3(all.get()).err == CU_FILE_SUCCESS);
    CHECK(all->num_gpus == 2);
    CHECK(all->detailed.basic.read_ops.ok == 2);
    CHECK(all->detailed.basic.read_bytes == 8292);
    CHECK(all->detailed.read_size_kb_hist[0] == 1);
    CHECK(all->detailed.read_size_kb_hist[4] == 1);
    CHECK(cuFileStatsStop().err == CU_FILE_SUCCESS);
    return all->per_gpu_stats[0];
}

TEST_SUITE("stats")
{
    TEST_CASE("counts only while started, and hands out no more than the level")
    {
        CUfileStatsLevel1_t basic = {};
        CHECK(cuFileStatsStart().err == CU_FILE_DRIVER_NOT_INITIALIZED);
        CHECK(cuFileGetStatsL1(&basic).err == CU_FILE_DRIVER_NOT_INITIALIZED);
        CHECK(cuFileSetStatsLevel(4).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileSetStatsLevel(-1).err == CU_FILE_INVALID_VALUE);
        const Driver driver;
        CHECK(cuFileStatsStart().err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileSetStatsLevel(1).err == CU_FILE_SUCCESS);
        int level = 0;
        CHECK(cuFileGetStatsLevel(&level).err == CU_FILE_SUCCESS);
        CHECK(level == 1);
        AlignedMemory memory(4096);
        CHECK(cuFileBufRegister(memory.data, 4096, 0).err == CU_FILE_SUCCESS);
        CHECK(cuFileStatsStart().err == CU_FILE_SUCCESS);
        CHECK(cuFileBufDeregister(memory.data).err == CU_FILE_SUCCESS);
        CHECK(cuFileBufDeregister(memory.data).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileGetStatsL1(&basic).err == CU_FILE_SUCCESS);
        CHECK(basic.buf_register_ops.ok == 0);
        CHECK(basic.buf_deregister_ops.ok == 1);
        CHECK(basic.buf_deregister_ops.err == 1);
        auto detailed = std::make_unique<CUfileStatsLevel2_t>();
        CHECK(cuFileGetStatsL2(detailed.get()).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileStatsReset().err == CU_FILE_SUCCESS);
        CHECK(cuFileGetStatsL1(&basic).err == CU_FILE_SUCCESS);
        CHECK(basic.buf_deregister_ops.ok == 0);
        CHECK(cuFileGetStatsL1(nullptr).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileStatsStop().err == CU_FILE_SUCCESS);
    }

    TEST_CASE("tells nvidia-fs reads")
    {
        bool direct = false;
        const CUfilePerGpuStats_t gpu = statistics_of_two_reads(&direct);
        CHECK(gpu.n_total_reads == 2);
        CHECK(gpu.n_nvfs_reads == (direct ? 2 : 0));
        CHECK(gpu.n_posix_reads == (direct ? 0 : 2));
        CHECK(gpu.n_unaligned_reads == 1);
    }
}

TEST_SUITE("no_nvfs")
{
    TEST_CASE("tells compatible reads")
    {
        bool direct = false;
        const CUfilePerGpuStats_t gpu = statistics_of_two_reads(&direct);
        CHECK(gpu.n_posix_reads == 2);
        CHECK(gpu.n_nvfs_reads == 0);
        CUfileDrvProps_t properties = {};
        const Driver driver;
        CHECK(cuFileDriverGetProperties(&properties).err == CU_FILE_SUCCESS);
        CHECK(properties.nvfs.major_version == 0);
        CHECK(properties.nvfs.dstatusflags == 0);
    }
}

TEST_SUITE("p2pdma")
{
    TEST_CASE("tells peer-to-peer reads")
    {
        bool direct = false;
        const CUfilePerGpuStats_t gpu = statistics_of_two_reads(&direct);
        CHECK(gpu.n_p2p_reads == (direct ? 2 : 0));
        CUfileDrvProps_t properties = {};
        const Driver driver;
        CHECK(cuFileDriverGetProperties(&properties).err == CU_FILE_SUCCESS);
        CHECK((properties.fflags & 1U << CU_FILE_P2P_SUPPORTED) != 0);
    }
}
