#include "fixture.hpp"

#include <cstring>

#include <dlfcn.h>

/* Whether a program that looks the name up finds it. */
static bool has(const char *function)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(library != nullptr);
    const bool found = dlsym(library, function) != nullptr;
    dlclose(library);
    return found;
}

TEST_SUITE("driver_470")
{
    TEST_CASE("lacks what came later, to dlsym and to who is linked already")
    {
        const Nvml nvml;
        CHECK(has("nvmlDeviceGetComputeRunningProcesses_v2"));
        CHECK(has("nvmlDeviceGetCurrentClocksThrottleReasons"));
        CHECK_FALSE(has("nvmlDeviceGetComputeRunningProcesses_v3"));
        CHECK_FALSE(has("nvmlDeviceGetMemoryInfo_v2"));
        CHECK_FALSE(has("nvmlDeviceGetCurrentClocksEventReasons"));
        CHECK_FALSE(has("nvmlGpmSampleAlloc"));
        CHECK(number(nvmlDeviceGetNumGpuCores, nvml.device()) == -NVML_ERROR_FUNCTION_NOT_FOUND);
        CHECK(number(nvmlDeviceGetCurrentClocksThrottleReasons, nvml.device()) == 4);
    }

    TEST_CASE("fills the small struct of its process call and no more")
    {
        const Nvml nvml;
        ConfigFile file("nvml.gpu0.processes = 4242:1000; 5151:2000\n");
        nvmlProcessInfo_v1_t small[3];
        std::memset(small, 0x5A, sizeof(small));
        unsigned int count = 2;
        CHECK(nvmlDeviceGetComputeRunningProcesses(nvml.device(), &count, small) == NVML_SUCCESS);
        CHECK(count == 2);
        CHECK(small[0].pid == 4242);
        CHECK(small[1].pid == 5151);
        CHECK(small[1].usedGpuMemory == 2000);
        CHECK(small[2].pid == 0x5A5A5A5A);
        nvmlProcessInfo_v2_t larger[2] = {};
        CHECK(nvmlDeviceGetComputeRunningProcesses_v2(nvml.device(), &count, larger) ==
              NVML_SUCCESS);
        CHECK(larger[1].pid == 5151);
        CHECK(larger[1].gpuInstanceId == 0xFFFFFFFFU);
    }

    TEST_CASE("says its versions")
    {
        const Nvml nvml;
        char version[80];
        CHECK(nvmlSystemGetDriverVersion(version, sizeof(version)) == NVML_SUCCESS);
        CHECK(std::string(version) == "470.256.02");
        int cuda = 0;
        CHECK(nvmlSystemGetCudaDriverVersion(&cuda) == NVML_SUCCESS);
        CHECK(cuda == 11040);
    }
}

TEST_SUITE("driver_550")
{
    TEST_CASE("has both names of the clock reasons, and no addressing mode")
    {
        CHECK(has("nvmlDeviceGetCurrentClocksThrottleReasons"));
        CHECK(has("nvmlDeviceGetCurrentClocksEventReasons"));
        CHECK(has("nvmlDeviceGetGpuFabricInfoV"));
        CHECK_FALSE(has("nvmlDeviceGetAddressingMode"));
        CHECK_FALSE(has("nvmlDeviceGetRepairStatus"));
        CHECK_FALSE(has("nvmlDeviceGetTemperatureV"));
    }

    TEST_CASE("knows two versions of the fabric struct less")
    {
        const Nvml nvml;
        nvmlGpuFabricInfo_v3_t third = {};
        third.version = nvmlGpuFabricInfo_v3;
        CHECK(nvmlDeviceGetGpuFabricInfoV(nvml.device(), &third) ==
              NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        CHECK(field(nvml.device(), NVML_FI_DEV_POWER_AVERAGE).value.uiVal == 119201);
        CHECK(field(nvml.device(), 200).nvmlReturn == NVML_ERROR_INVALID_ARGUMENT);
    }
}

TEST_SUITE("driver_580_65")
{
    TEST_CASE("still numbers the clock reasons before the power smoothing")
    {
        const Nvml nvml;
        ConfigFile file("nvml.gpu0.smoothing.enabled = 1\n"
                        "nvml.gpu0.smoothing.privilege = 2\n"
                        "nvml.gpu0.event_ns.sw_thermal = 31\n"
                        "nvml.gpu0.sync_balancing.factor = 32\n");
        CHECK(has("nvmlDeviceGetAddressingMode"));
        CHECK(field(nvml.device(), 251).value.ullVal == 31);
        CHECK(field(nvml.device(), 255).value.uiVal == 32);
        CHECK(field(nvml.device(), 256).value.uiVal == 1);
        CHECK(field(nvml.device(), 257).value.uiVal == 2);
    }
}

TEST_SUITE("no_gpus")
{
    TEST_CASE("has no driver to load, unless none is asked for")
    {
        CHECK(nvmlInit_v2() == NVML_ERROR_DRIVER_NOT_LOADED);
        CHECK(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
        CHECK(nvmlInitWithFlags(NVML_INIT_FLAG_NO_GPUS) == NVML_SUCCESS);
        unsigned int count = 9;
        CHECK(nvmlDeviceGetCount_v2(&count) == NVML_SUCCESS);
        CHECK(count == 0);
        CHECK(nvmlShutdown() == NVML_SUCCESS);
    }
}
