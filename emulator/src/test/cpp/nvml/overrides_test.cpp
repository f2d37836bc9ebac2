#include "fixture.hpp"

#include <chrono>

TEST_SUITE("overrides")
{
    TEST_CASE("takes any value from the file, per GPU and for all")
    {
        const Nvml nvml;
        ConfigFile file("nvml.gpu.power = 55501\nnvml.gpu1.power = 66602\n"
                        "# a comment\nnvml.gpu0.name = Other name\n");
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device(0)) == 55501);
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device(1)) == 66602);
        CHECK(text(nvmlDeviceGetName, nvml.device(0)) == "Other name");
        file.write("nvml.gpu.power = 77703\n");
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device(1)) == 77703);
        file.write("");
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device(1)) == 118734);
    }

    TEST_CASE("answers every code that is asked for, and text that is no number")
    {
        const Nvml nvml;
        for (const int code : {1, 2, 3, 4, 6, 13, 15, 16, 17, 25, 999, 1001}) {
            ConfigFile file("nvml.gpu0.power = error:" + std::to_string(code) + "\n");
            CHECK(number(nvmlDeviceGetPowerUsage, nvml.device()) == -code);
        }
        ConfigFile file("nvml.gpu0.power = error:12345\n");
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device()) == -NVML_ERROR_UNKNOWN);
        file.write("nvml.gpu0.power = N/A\n");
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device()) == -NVML_ERROR_NOT_SUPPORTED);
        file.write("nvml.gpu0.power = many\n");
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device()) == -NVML_ERROR_UNKNOWN);
    }

    TEST_CASE("runs through a sequence and stays at its end")
    {
        const Nvml nvml;
        ConfigFile file("nvml.gpu0.energy = 10, 20, error:15, 18446744073709551615, 7\n");
        CHECK(number(nvmlDeviceGetTotalEnergyConsumption, nvml.device()) == 10);
        CHECK(number(nvmlDeviceGetTotalEnergyConsumption, nvml.device()) == 20);
        CHECK(number(nvmlDeviceGetTotalEnergyConsumption, nvml.device()) ==
              -NVML_ERROR_GPU_IS_LOST);
        CHECK(number(nvmlDeviceGetTotalEnergyConsumption, nvml.device()) == -1);
        CHECK(number(nvmlDeviceGetTotalEnergyConsumption, nvml.device()) == 7);
        CHECK(number(nvmlDeviceGetTotalEnergyConsumption, nvml.device()) == 7);
        CHECK(field(nvml.device(), NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION).value.ullVal == 7);
    }

    TEST_CASE("loses a device between two samples, and only that one")
    {
        const Nvml nvml;
        ConfigFile file("");
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device(0)) == 118734);
        const nvmlDevice_t gpu = nvml.device(0);
        file.write("nvml.gpu0.lost = 1\n");
        CHECK(number(nvmlDeviceGetPowerUsage, gpu) == -NVML_ERROR_GPU_IS_LOST);
        CHECK(text(nvmlDeviceGetName, gpu) == "error 15");
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device(1)) == 118734);
        nvmlDevice_t again = nullptr;
        CHECK(nvmlDeviceGetHandleByIndex_v2(0, &again) == NVML_ERROR_GPU_IS_LOST);
    }

    TEST_CASE("loses a device after so many calls")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device(1);
        /* Calls are counted from the session's beginning. */
        ConfigFile file("nvml.gpu1.lost = after:3\n");
        for (int call = 0; call < 3; ++call)
            CHECK(number(nvmlDeviceGetPowerUsage, gpu) == 118734);
        CHECK(number(nvmlDeviceGetPowerUsage, gpu) == -NVML_ERROR_GPU_IS_LOST);
        CHECK(number(nvmlDeviceGetPowerUsage, gpu) == -NVML_ERROR_GPU_IS_LOST);
    }

    TEST_CASE("fails to start as it is told to")
    {
        ConfigFile file("nvml.init = error:9, error:18, 0\n");
        CHECK(nvmlInit_v2() == NVML_ERROR_DRIVER_NOT_LOADED);
        CHECK(nvmlInit_v2() == NVML_ERROR_LIB_RM_VERSION_MISMATCH);
        CHECK(nvmlInit_v2() == NVML_SUCCESS);
        CHECK(nvmlShutdown() == NVML_SUCCESS);
    }

    TEST_CASE("prices the slow calls")
    {
        const Nvml nvml;
        ConfigFile file("nvml.pcie.cost_ms = 0\nnvml.processes.cost_ms = 4.5\n"
                        "nvml.gpu0.processes = 1:N/A\n");
        unsigned int value = 0;
        auto start = std::chrono::steady_clock::now();
        CHECK(nvmlDeviceGetPcieThroughput(nvml.device(), NVML_PCIE_UTIL_TX_BYTES, &value) ==
              NVML_SUCCESS);
        CHECK(value == 51200);
        nvmlProcessInfo_t infos[1] = {};
        unsigned int count = 1;
        start = std::chrono::steady_clock::now();
        CHECK(nvmlDeviceGetComputeRunningProcesses_v3(nvml.device(), &count, infos) ==
              NVML_SUCCESS);
        CHECK(std::chrono::steady_clock::now() - start >= std::chrono::microseconds(4500));
        CHECK(infos[0].usedGpuMemory == ~0ULL);
    }

    TEST_CASE("brings a fan, a broken link and a field that has no model")
    {
        const Nvml nvml;
        ConfigFile file("nvml.gpu0.fan.count = 2\nnvml.gpu0.fan.0 = 43\nnvml.gpu0.fan.1 = 44\n"
                        "nvml.gpu0.nvlink.5.state = 0\nnvml.gpu0.nvlink.6.replay = error:15\n"
                        "nvml.gpu0.field.226 = 77\n");
        unsigned int speed = 0;
        CHECK(nvmlDeviceGetFanSpeed_v2(nvml.device(), 1, &speed) == NVML_SUCCESS);
        CHECK(speed == 44);
        CHECK(number(nvmlDeviceGetNumFans, nvml.device()) == 2);
        nvmlEnableState_t active = NVML_FEATURE_ENABLED;
        CHECK(nvmlDeviceGetNvLinkState(nvml.device(), 5, &active) == NVML_SUCCESS);
        CHECK(active == NVML_FEATURE_DISABLED);
        unsigned long long count = 0;
        CHECK(nvmlDeviceGetNvLinkErrorCounter(nvml.device(), 6, NVML_NVLINK_ERROR_DL_REPLAY,
                                              &count) == NVML_ERROR_GPU_IS_LOST);
        CHECK(field(nvml.device(), NVML_FI_DEV_RESET_STATUS).value.ullVal == 77);
    }
}

TEST_SUITE("faults")
{
    TEST_CASE("returns a code on the third call, waits, and loses the device")
    {
        const Nvml nvml;
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device()) == 118734);
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device()) == 118734);
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device()) == -NVML_ERROR_UNKNOWN);
        CHECK(number(nvmlDeviceGetPowerUsage, nvml.device()) == 118734);
        const auto start = std::chrono::steady_clock::now();
        unsigned int speed = 0;
        CHECK(nvmlDeviceGetFanSpeed_v2(nvml.device(), 0, &speed) == NVML_ERROR_NOT_SUPPORTED);
        CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(30));
        unsigned int celsius = 0;
        const nvmlDevice_t gpu = nvml.device();
        CHECK(nvmlDeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU, &celsius) == NVML_SUCCESS);
        CHECK(nvmlDeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU, &celsius) ==
              NVML_ERROR_GPU_IS_LOST);
        CHECK(number(nvmlDeviceGetPowerUsage, gpu) == -NVML_ERROR_GPU_IS_LOST);
    }
}
