#include "fixture.hpp"

TEST_SUITE("gb10")
{
    TEST_CASE("supports neither memory call, nor fans, limits or ECC")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        nvmlMemory_t plain = {};
        nvmlMemory_v2_t split = {};
        split.version = nvmlMemory_v2;
        CHECK(nvmlDeviceGetMemoryInfo(gpu, &plain) == NVML_ERROR_NOT_SUPPORTED);
        CHECK(nvmlDeviceGetMemoryInfo_v2(gpu, &split) == NVML_ERROR_NOT_SUPPORTED);
        CHECK(number(nvmlDeviceGetFanSpeed, gpu) == -NVML_ERROR_NOT_SUPPORTED);
        CHECK(number(nvmlDeviceGetPowerManagementLimit, gpu) == -NVML_ERROR_NOT_SUPPORTED);
        nvmlEnableState_t current = NVML_FEATURE_DISABLED;
        nvmlEnableState_t pending = NVML_FEATURE_DISABLED;
        CHECK(nvmlDeviceGetEccMode(gpu, &current, &pending) == NVML_ERROR_NOT_SUPPORTED);
        nvmlEnableState_t link = NVML_FEATURE_DISABLED;
        CHECK(nvmlDeviceGetNvLinkState(gpu, 0, &link) == NVML_ERROR_NOT_SUPPORTED);
        unsigned int mode = 0;
        CHECK(nvmlDeviceGetMigMode(gpu, &mode, &mode) == NVML_ERROR_NOT_SUPPORTED);
        CHECK(number(nvmlDeviceGetMaxMigDeviceCount, gpu) == 0);
    }

    TEST_CASE("still reads power, clocks and temperature")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        CHECK(text(nvmlDeviceGetName, gpu) == "NVIDIA GB10");
        CHECK(number(nvmlDeviceGetPowerUsage, gpu) == 11340);
        unsigned int value = 0;
        CHECK(nvmlDeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS);
        CHECK(value == 52);
        CHECK(nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_SM, &value) == NVML_SUCCESS);
        CHECK(value == 2405);
        CHECK(nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_MEM, &value) == NVML_ERROR_NOT_SUPPORTED);
        int major = 0;
        int minor = 0;
        CHECK(nvmlDeviceGetCudaComputeCapability(gpu, &major, &minor) == NVML_SUCCESS);
        CHECK(major == 12);
        CHECK(minor == 1);
    }

    TEST_CASE("shows its bridge to the CPU as one lane of PCIe, and says C2C and ATS")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        CHECK(number(nvmlDeviceGetCurrPcieLinkGeneration, gpu) == 1);
        CHECK(number(nvmlDeviceGetCurrPcieLinkWidth, gpu) == 1);
        unsigned int value = 0;
        CHECK(nvmlDeviceGetPcieThroughput(gpu, NVML_PCIE_UTIL_TX_BYTES, &value) ==
              NVML_ERROR_NOT_SUPPORTED);
        nvmlC2cModeInfo_v1_t c2c = {};
        CHECK(nvmlDeviceGetC2cModeInfoV(gpu, &c2c) == NVML_SUCCESS);
        CHECK(c2c.isC2cEnabled == 1);
        nvmlDeviceAddressingMode_t mode = {nvmlDeviceAddressingMode_v1, 0};
        CHECK(nvmlDeviceGetAddressingMode(gpu, &mode) == NVML_SUCCESS);
        CHECK(mode.value == NVML_DEVICE_ADDRESSING_MODE_ATS);
    }

    TEST_CASE("numbers its fields as driver 580.95 does")
    {
        const Nvml nvml;
        ConfigFile file("nvml.gpu0.smoothing.enabled = 1\nnvml.gpu0.event_ns.sw_thermal = 270\n");
        CHECK(field(nvml.device(), NVML_FI_PWR_SMOOTHING_ENABLED).value.uiVal == 1);
        CHECK(field(nvml.device(), 269).value.ullVal == 270);
        CHECK(field(nvml.device(), 274).nvmlReturn == NVML_ERROR_INVALID_ARGUMENT);
    }
}
