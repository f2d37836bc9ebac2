#include "fixture.hpp"

TEST_SUITE("a100_mig")
{
    nvmlDevice_t instance(const Nvml &nvml, unsigned int index)
    {
        nvmlDevice_t mig = nullptr;
        REQUIRE(nvmlDeviceGetMigDeviceHandleByIndex(nvml.device(), index, &mig) == NVML_SUCCESS);
        return mig;
    }

    TEST_CASE("is in MIG mode with three instances of seven possible")
    {
        const Nvml nvml;
        unsigned int current = 0;
        unsigned int pending = 0;
        CHECK(nvmlDeviceGetMigMode(nvml.device(), &current, &pending) == NVML_SUCCESS);
        CHECK(current == 1);
        CHECK(pending == 1);
        CHECK(number(nvmlDeviceGetMaxMigDeviceCount, nvml.device()) == 7);
        nvmlDevice_t mig = nullptr;
        CHECK(nvmlDeviceGetMigDeviceHandleByIndex(nvml.device(), 2, &mig) == NVML_SUCCESS);
        CHECK(nvmlDeviceGetMigDeviceHandleByIndex(nvml.device(), 3, &mig) == NVML_ERROR_NOT_FOUND);
        CHECK(nvmlDeviceGetMigDeviceHandleByIndex(nvml.device(), 7, &mig) ==
              NVML_ERROR_INVALID_ARGUMENT);
    }

    TEST_CASE("gives an instance its own name, uuid, memory and ids")
    {
        const Nvml nvml;
        const nvmlDevice_t mig = instance(nvml, 1);
        CHECK(number(nvmlDeviceIsMigDeviceHandle, mig) == 1);
        CHECK(number(nvmlDeviceIsMigDeviceHandle, nvml.device()) == 0);
        CHECK(text(nvmlDeviceGetName, mig) == "NVIDIA A100-SXM4-80GB MIG 2g.20gb");
        const std::string uuid = text(nvmlDeviceGetUUID, mig);
        CHECK(uuid.substr(0, 4) == "MIG-");
        nvmlDevice_t found = nullptr;
        CHECK(nvmlDeviceGetHandleByUUID(uuid.c_str(), &found) == NVML_SUCCESS);
        CHECK(found == mig);
        CHECK(number(nvmlDeviceGetGpuInstanceId, mig) == 3);
        CHECK(number(nvmlDeviceGetComputeInstanceId, mig) == 0);
        nvmlMemory_t memory = {};
        CHECK(nvmlDeviceGetMemoryInfo(mig, &memory) == NVML_SUCCESS);
        CHECK(memory.total == (20ULL * 1024 - 128) << 20U);
        nvmlDevice_t parent = nullptr;
        CHECK(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig, &parent) == NVML_SUCCESS);
        CHECK(parent == nvml.device());
        CHECK(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvml.device(), &parent) ==
              NVML_ERROR_INVALID_ARGUMENT);
        nvmlDeviceAttributes_t attributes = {};
        CHECK(nvmlDeviceGetAttributes_v2(mig, &attributes) == NVML_SUCCESS);
        CHECK(attributes.gpuInstanceSliceCount == 2);
        CHECK(attributes.multiprocessorCount == 28);
        CHECK(attributes.memorySizeMB == 20 * 1024 - 128);
    }

    TEST_CASE("has no utilisation, neither whole nor in part")
    {
        const Nvml nvml;
        nvmlUtilization_t rates = {};
        CHECK(nvmlDeviceGetUtilizationRates(nvml.device(), &rates) == NVML_ERROR_NOT_SUPPORTED);
        CHECK(nvmlDeviceGetUtilizationRates(instance(nvml, 0), &rates) == NVML_ERROR_NOT_SUPPORTED);
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device()) == 73456);
        CHECK(number(nvmlDeviceGetPowerUsage, instance(nvml, 0)) == -NVML_ERROR_NOT_SUPPORTED);
    }

    TEST_CASE("tells which instance a process runs in")
    {
        const Nvml nvml;
        nvmlProcessInfo_t infos[2] = {};
        unsigned int count = 2;
        CHECK(nvmlDeviceGetComputeRunningProcesses_v3(nvml.device(), &count, infos) ==
              NVML_SUCCESS);
        CHECK(count == 1);
        CHECK(infos[0].gpuInstanceId == 2);
        CHECK(infos[0].computeInstanceId == 0);
        count = 2;
        CHECK(nvmlDeviceGetComputeRunningProcesses_v3(instance(nvml, 0), &count, infos) ==
              NVML_SUCCESS);
        CHECK(count == 1);
        count = 2;
        CHECK(nvmlDeviceGetComputeRunningProcesses_v3(instance(nvml, 1), &count, infos) ==
              NVML_SUCCESS);
        CHECK(count == 0);
    }

    TEST_CASE("walks GPU and compute instances")
    {
        const Nvml nvml;
        nvmlGpuInstanceProfileInfo_t profile = {};
        CHECK(nvmlDeviceGetGpuInstanceProfileInfo(nvml.device(), NVML_GPU_INSTANCE_PROFILE_3_SLICE,
                                                  &profile) == NVML_SUCCESS);
        CHECK(profile.id == 9);
        CHECK(profile.sliceCount == 3);
        nvmlGpuInstanceProfileInfo_v2_t named = {};
        named.version = nvmlGpuInstanceProfileInfo_v2;
        CHECK(nvmlDeviceGetGpuInstanceProfileInfoV(nvml.device(), NVML_GPU_INSTANCE_PROFILE_3_SLICE,
                                                   &named) == NVML_SUCCESS);
        CHECK(std::string(named.name) == "MIG 3g.40gb");
        nvmlGpuInstance_t instances[7] = {};
        unsigned int count = 0;
        CHECK(nvmlDeviceGetGpuInstances(nvml.device(), profile.id, instances, &count) ==
              NVML_SUCCESS);
        REQUIRE(count == 1);
        nvmlGpuInstanceInfo_t info = {};
        CHECK(nvmlGpuInstanceGetInfo(instances[0], &info) == NVML_SUCCESS);
        CHECK(info.id == 2);
        CHECK(info.device == nvml.device());
        nvmlComputeInstance_t computes[7] = {};
        CHECK(nvmlGpuInstanceGetComputeInstances(instances[0], 0, computes, &count) ==
              NVML_SUCCESS);
        REQUIRE(count == 1);
        nvmlComputeInstanceInfo_t compute = {};
        CHECK(nvmlComputeInstanceGetInfo_v2(computes[0], &compute) == NVML_SUCCESS);
        CHECK(compute.gpuInstance == instances[0]);
        unsigned int left = 9;
        CHECK(nvmlDeviceGetGpuInstanceRemainingCapacity(nvml.device(), 19, &left) == NVML_SUCCESS);
        CHECK(left == 1);
        CHECK(nvmlGpuInstanceDestroy(instances[0]) == NVML_ERROR_NOT_SUPPORTED);
    }

    TEST_CASE("has no GPM before Hopper")
    {
        const Nvml nvml;
        nvmlGpmSupport_t support = {NVML_GPM_SUPPORT_VERSION, 5};
        CHECK(nvmlGpmQueryDeviceSupport(nvml.device(), &support) == NVML_SUCCESS);
        CHECK(support.isSupportedDevice == 0);
    }
}
