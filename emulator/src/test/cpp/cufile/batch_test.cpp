#include "fixture.hpp"

#include <array>
#include <ctime>

static CUfileIOParams_t request(CUfileHandle_t handle, void *memory, off_t from, off_t into,
                                std::size_t bytes, std::size_t cookie)
{
    CUfileIOParams_t parameters;
    std::memset(&parameters, 0, sizeof(parameters));
    parameters.mode = CUFILE_BATCH;
    parameters.u.batch.devPtr_base = memory;
    parameters.u.batch.file_offset = from;
    parameters.u.batch.devPtr_offset = into;
    parameters.u.batch.size = bytes;
    parameters.fh = handle;
    parameters.opcode = CUFILE_READ;
    parameters.cookie = reinterpret_cast<void *>(cookie);
    return parameters;
}

TEST_SUITE("batch")
{
    TEST_CASE("completes each request with its cookie and its bytes")
    {
        const Driver driver;
        TestFile file(8 * 4096);
        const Handle handle(file.open_as(O_RDONLY));
        AlignedMemory memory(8 * 4096);
        CUfileBatchHandle_t batch = nullptr;
        REQUIRE(cuFileBatchIOSetUp(&batch, 8).err == CU_FILE_SUCCESS);
        std::vector<CUfileIOParams_t> requests;
        for (std::size_t i = 0; i < 7; ++i)
            requests.push_back(request(handle.value, memory.data, static_cast<off_t>(i * 4096),
                                       static_cast<off_t>(i * 4096), 4096, i + 1));
        requests.push_back(request(handle.value, memory.data, -1, 0, 4096, 8));
        CHECK(cuFileBatchIOSubmit(batch, 8, requests.data(), 0).err == CU_FILE_SUCCESS);
        std::array<CUfileIOEvents_t, 8> events = {};
        std::size_t seen = 0;
        while (seen < 8) {
            unsigned int count = static_cast<unsigned int>(8 - seen);
            REQUIRE(cuFileBatchIOGetStatus(batch, 1, &count, events.data() + seen, nullptr).err ==
                    CU_FILE_SUCCESS);
            seen += count;
        }
        for (std::size_t i = 0; i < 7; ++i) {
            CHECK(events[i].cookie == reinterpret_cast<void *>(i + 1));
            CHECK(events[i].status == CUFILE_COMPLETE);
            CHECK(events[i].ret == 4096);
        }
        CHECK(events[7].status == CUFILE_FAILED);
        CHECK(static_cast<ssize_t>(events[7].ret) == -CU_FILE_INVALID_VALUE);
        const std::vector<char> wanted = TestFile::expected(0, 7 * 4096);
        CHECK(std::memcmp(memory.data, wanted.data(), wanted.size()) == 0);
        cuFileBatchIODestroy(batch);
    }

    TEST_CASE("refuses too much and what is wrong")
    {
        const Driver driver;
        TestFile file(4096);
        const Handle handle(file.open_as(O_RDONLY));
        AlignedMemory memory(4096);
        CUfileBatchHandle_t batch = nullptr;
        CHECK(cuFileBatchIOSetUp(nullptr, 8).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileBatchIOSetUp(&batch, 0).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileBatchIOSetUp(&batch, 129).err == CU_FILE_INVALID_VALUE);
        REQUIRE(cuFileBatchIOSetUp(&batch, 1).err == CU_FILE_SUCCESS);
        CUfileIOParams_t two[2] = {request(handle.value, memory.data, 0, 0, 4096, 1),
                                   request(handle.value, memory.data, 0, 0, 4096, 2)};
        CHECK(cuFileBatchIOSubmit(batch, 2, two, 0).err == CU_FILE_BATCH_FULL);
        CHECK(cuFileBatchIOSubmit(batch, 1, nullptr, 0).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileBatchIOSubmit(batch, 1, two, 1).err == CU_FILE_INVALID_VALUE);
        CHECK(cuFileBatchIOSubmit(nullptr, 1, two, 0).err == CU_FILE_INVALID_VALUE);
        two[0].fh = nullptr;
        CHECK(cuFileBatchIOSubmit(batch, 1, two, 0).err == CU_FILE_HANDLE_NOT_REGISTERED);
        CHECK(cuFileBatchIOCancel(batch).err == CU_FILE_SUCCESS);
        unsigned int count = 1;
        CUfileIOEvents_t event = {};
        struct timespec soon = {0, 1000000};
        CHECK(cuFileBatchIOGetStatus(batch, 1, &count, &event, &soon).err == CU_FILE_SUCCESS);
        CHECK(count == 0);
        cuFileBatchIODestroy(batch);
        cuFileBatchIODestroy(batch);
        CHECK(cuFileBatchIOCancel(batch).err == CU_FILE_INVALID_VALUE);
    }
}
