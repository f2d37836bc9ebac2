#include "fixture.hpp"

#include <dlfcn.h>

#include <string>
#include <vector>

namespace
{

constexpr unsigned int kCodes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 999};

#define METRALE_GETTERS(X)                                                                         \
    X(nvmlDeviceGetBrand)                                                                          \
    X(nvmlDeviceGetIndex)                                                                          \
    X(nvmlDeviceGetMinorNumber)                                                                    \
    X(nvmlDeviceGetDisplayMode)                                                                    \
    X(nvmlDeviceGetDisplayActive)                                                                  \
    X(nvmlDeviceGetPersistenceMode)                                                                \
    X(nvmlDeviceGetPciInfoExt)                                                                     \
    X(nvmlDeviceGetPciInfo)                                                                        \
    X(nvmlDeviceGetPciInfo_v2)                                                                     \
    X(nvmlDeviceGetPciInfo_v3)                                                                     \
    X(nvmlDeviceGetMaxPcieLinkGeneration)                                                          \
    X(nvmlDeviceGetCurrPcieLinkWidth)                                                              \
    X(nvmlDeviceGetFanSpeed)                                                                       \
    X(nvmlDeviceGetNumFans)                                                                        \
    X(nvmlDeviceGetTemperatureV)                                                                   \
    X(nvmlDeviceGetMarginTemperature)                                                              \
    X(nvmlDeviceGetPerformanceState)                                                               \
    X(nvmlDeviceGetCurrentClocksEventReasons)                                                      \
    X(nvmlDeviceGetPowerUsage)                                                                     \
    X(nvmlDeviceGetTotalEnergyConsumption)                                                         \
    X(nvmlDeviceGetMemoryInfo)                                                                     \
    X(nvmlDeviceGetMemoryInfo_v2)                                                                  \
    X(nvmlDeviceGetBAR1MemoryInfo)                                                                 \
    X(nvmlDeviceGetComputeMode)                                                                    \
    X(nvmlDeviceGetUtilizationRates)                                                               \
    X(nvmlDeviceGetAddressingMode)                                                                 \
    X(nvmlDeviceGetRepairStatus)                                                                   \
    X(nvmlDeviceGetArchitecture)                                                                   \
    X(nvmlDeviceGetGpuFabricInfo)                                                                  \
    X(nvmlDeviceGetGpuFabricInfoV)                                                                 \
    X(nvmlDeviceGetSupportedEventTypes)                                                            \
    X(nvmlDeviceIsMigDeviceHandle)                                                                 \
    X(nvmlDeviceGetMaxMigDeviceCount)                                                              \
    X(nvmlDeviceGetAttributes_v2)                                                                  \
    X(nvmlDeviceGetRunningProcessDetailList)                                                       \
    X(nvmlDeviceGetRowRemapperHistogram)                                                           \
    X(nvmlGpmQueryDeviceSupport)

template <typename T>
void refuses(const char *name, nvmlReturn_t (*getter)(nvmlDevice_t, T *), nvmlDevice_t device)
{
    INFO(name);
    alignas(16) static unsigned char junk[256];
    T value = {};
    CHECK(getter(device, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(getter(nullptr, &value) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(getter(reinterpret_cast<nvmlDevice_t>(junk), &value) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(getter(reinterpret_cast<nvmlDevice_t>(0x10), &value) == NVML_ERROR_INVALID_ARGUMENT);
}

} // namespace

TEST_SUITE("arguments")
{
    TEST_CASE("refuses wrong handles and missing places for the answer")
    {
        const Nvml nvml;
#define METRALE_REFUSES(getter) refuses(#getter, getter, nvml.device());
        METRALE_GETTERS(METRALE_REFUSES)
    }

    TEST_CASE("refuses wrong enums, lengths and pointers")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        unsigned int value = 0;
        unsigned long long count = 0;
        char name[4];
        CHECK(nvmlDeviceGetClockInfo(gpu, static_cast<nvmlClockType_t>(7), &value) ==
              NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetTemperature(gpu, static_cast<nvmlTemperatureSensors_t>(3), &value) ==
              NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetTotalEccErrors(gpu, static_cast<nvmlMemoryErrorType_t>(3),
                                          NVML_VOLATILE_ECC,
                                          &count) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetPcieThroughput(gpu, static_cast<nvmlPcieUtilCounter_t>(3), &value) ==
              NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetName(gpu, name, sizeof(name)) == NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK(nvmlDeviceGetName(gpu, nullptr, 64) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetHandleByIndex_v2(0, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetHandleByUUID(nullptr, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetHandleByPciBusId_v2("nonsense", nullptr) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetFieldValues(gpu, 1, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlGpmMetricsGet(nullptr) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlGpmSampleFree(nullptr) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlEventSetWait_v2(nullptr, nullptr, 0) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlGpuInstanceGetInfo(nullptr, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetComputeRunningProcesses_v3(gpu, nullptr, nullptr) ==
              NVML_ERROR_INVALID_ARGUMENT);
    }

    TEST_CASE("has a text for every code")
    {
        const std::string unknown = nvmlErrorString(NVML_ERROR_UNKNOWN);
        for (const unsigned int code : kCodes) {
            const std::string text = nvmlErrorString(static_cast<nvmlReturn_t>(code));
            CHECK(!text.empty());
            CHECK((text == unknown) == (code == NVML_ERROR_UNKNOWN));
        }
        CHECK(nvmlErrorString(static_cast<nvmlReturn_t>(1000)) == unknown);
    }

    TEST_CASE("says that it is the emulator")
    {
        void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD);
        REQUIRE(library != nullptr);
        CHECK(dlsym(library, "metrale_emulator_marker") != nullptr);
        dlclose(library);
    }
}
