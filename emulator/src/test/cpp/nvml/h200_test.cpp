#include "fixture.hpp"

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <unistd.h>

TEST_SUITE("h200")
{
    TEST_CASE("counts its uses and refuses when it has none")
    {
        unsigned int count = 0;
        CHECK(nvmlDeviceGetCount_v2(&count) == NVML_ERROR_UNINITIALIZED);
        CHECK(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
        CHECK(nvmlInit_v2() == NVML_SUCCESS);
        CHECK(nvmlInitWithFlags(0) == NVML_SUCCESS);
        CHECK(nvmlShutdown() == NVML_SUCCESS);
        CHECK(nvmlDeviceGetCount_v2(&count) == NVML_SUCCESS);
        CHECK(count == 2);
        CHECK(nvmlShutdown() == NVML_SUCCESS);
        CHECK(nvmlDeviceGetCount_v2(&count) == NVML_ERROR_UNINITIALIZED);
    }

    TEST_CASE("refuses a handle of an earlier session after the last shutdown")
    {
        nvmlDevice_t stale = nullptr;
        {
            const Nvml nvml;
            stale = nvml.device();
        }
        CHECK(number(nvmlDeviceGetPowerUsage, stale) == -NVML_ERROR_UNINITIALIZED);
        const Nvml nvml;
        CHECK(number(nvmlDeviceGetPowerUsage, stale) == -NVML_ERROR_INVALID_ARGUMENT);
    }

    TEST_CASE("names its devices alike by index, uuid, PCI address and serial")
    {
        const Nvml nvml;
        const nvmlDevice_t second = nvml.device(1);
        const std::string uuid = text(nvmlDeviceGetUUID, second);
        CHECK(uuid.size() == 40);
        CHECK(uuid != text(nvmlDeviceGetUUID, nvml.device(0)));
        nvmlDevice_t found = nullptr;
        CHECK(nvmlDeviceGetHandleByUUID(uuid.c_str(), &found) == NVML_SUCCESS);
        CHECK(found == second);
        nvmlPciInfo_t pci = {};
        CHECK(nvmlDeviceGetPciInfo_v3(second, &pci) == NVML_SUCCESS);
        CHECK(std::string(pci.busId) == "00000000:1A:00.0");
        CHECK(std::string(pci.busIdLegacy) == "0000:1A:00.0");
        CHECK(pci.pciDeviceId == 0x233510DE);
        CHECK(nvmlDeviceGetHandleByPciBusId_v2(pci.busIdLegacy, &found) == NVML_SUCCESS);
        CHECK(found == second);
        const std::string serial = text(nvmlDeviceGetSerial, second);
        CHECK(serial == "1652123015012");
        CHECK(nvmlDeviceGetHandleBySerial(serial.c_str(), &found) == NVML_SUCCESS);
        CHECK(found == second);
        CHECK(nvmlDeviceGetHandleByUUID("GPU-no", &found) == NVML_ERROR_NOT_FOUND);
        CHECK(nvmlDeviceGetHandleByPciBusId_v2("0:99:0.0", &found) == NVML_ERROR_NOT_FOUND);
        CHECK(nvmlDeviceGetHandleByIndex_v2(2, &found) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(number(nvmlDeviceGetIndex, second) == 1);
    }

    TEST_CASE("takes a uuid as text and as bytes")
    {
        const Nvml nvml;
        const std::string uuid = text(nvmlDeviceGetUUID, nvml.device(1));
        nvmlUUID_t request = {};
        nvmlDevice_t found = nullptr;
        CHECK(nvmlDeviceGetHandleByUUIDV(&request, &found) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        request.version = nvmlUUID_v1;
        request.type = NVML_UUID_TYPE_ASCII;
        std::memcpy(request.value.str, uuid.c_str(), uuid.size() + 1);
        CHECK(nvmlDeviceGetHandleByUUIDV(&request, &found) == NVML_SUCCESS);
        CHECK(found == nvml.device(1));
        request.type = NVML_UUID_TYPE_BINARY;
        std::size_t byte = 0;
        for (std::size_t i = 4; i + 1 < uuid.size() && byte < 16; ++i)
            if (uuid[i] != '-') {
                request.value.bytes[byte++] =
                    static_cast<unsigned char>(std::stoi(uuid.substr(i, 2), nullptr, 16));
                ++i;
            }
        CHECK(nvmlDeviceGetHandleByUUIDV(&request, &found) == NVML_SUCCESS);
        CHECK(found == nvml.device(1));
    }

    TEST_CASE("says what it is")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        CHECK(text(nvmlDeviceGetName, gpu) == "NVIDIA H200");
        CHECK(text(nvmlDeviceGetVbiosVersion, gpu) == "96.00.99.00.00");
        CHECK(text(nvmlDeviceGetBoardPartNumber, gpu) == "692-2G520-0280-000");
        CHECK(number(nvmlDeviceGetArchitecture, gpu) == NVML_DEVICE_ARCH_HOPPER);
        CHECK(number(nvmlDeviceGetBrand, gpu) == NVML_BRAND_NVIDIA);
        CHECK(number(nvmlDeviceGetNumGpuCores, gpu) == 16896);
        CHECK(number(nvmlDeviceGetMemoryBusWidth, gpu) == 6144);
        CHECK(number(nvmlDeviceGetPersistenceMode, gpu) == 1);
        int major = 0;
        int minor = -1;
        CHECK(nvmlDeviceGetCudaComputeCapability(gpu, &major, &minor) == NVML_SUCCESS);
        CHECK(major == 9);
        CHECK(minor == 0);
        char version[80];
        CHECK(nvmlSystemGetDriverVersion(version, sizeof(version)) == NVML_SUCCESS);
        CHECK(std::string(version) == "610.43.02");
        CHECK(nvmlSystemGetNVMLVersion(version, sizeof(version)) == NVML_SUCCESS);
        CHECK(std::string(version) == "13.610.43.02");
        int cuda = 0;
        CHECK(nvmlSystemGetCudaDriverVersion_v2(&cuda) == NVML_SUCCESS);
        CHECK(cuda == 13050);
        CHECK(nvmlSystemGetDriverVersion(version, 4) == NVML_ERROR_INSUFFICIENT_SIZE);
        nvmlSystemDriverBranchInfo_t branch = {};
        branch.version = nvmlSystemDriverBranchInfo_v1;
        CHECK(nvmlSystemGetDriverBranch(&branch, sizeof(branch.branch)) == NVML_SUCCESS);
        CHECK(std::string(branch.branch) == "r610_00");
    }

    TEST_CASE("keeps reserved memory apart in version 2 only")
    {
        const Nvml nvml;
        nvmlMemory_t plain = {};
        nvmlMemory_v2_t split = {};
        CHECK(nvmlDeviceGetMemoryInfo(nvml.device(), &plain) == NVML_SUCCESS);
        CHECK(nvmlDeviceGetMemoryInfo_v2(nvml.device(), &split) ==
              NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        split.version = nvmlMemory_v2;
        CHECK(nvmlDeviceGetMemoryInfo_v2(nvml.device(), &split) == NVML_SUCCESS);
        CHECK(split.total == 150754820096ULL);
        CHECK(split.reserved == 658505728ULL);
        CHECK(split.used == 3221225472ULL);
        CHECK(split.total == split.reserved + split.free + split.used);
        CHECK(plain.total == split.total);
        CHECK(plain.free == split.free);
        CHECK(plain.used == split.used + split.reserved);
        nvmlBAR1Memory_t bar = {};
        CHECK(nvmlDeviceGetBAR1MemoryInfo(nvml.device(), &bar) == NVML_SUCCESS);
        CHECK(bar.bar1Total == bar.bar1Free + bar.bar1Used);
    }

    TEST_CASE("reads power, energy, clocks and temperatures")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        CHECK(number(nvmlDeviceGetPowerUsage, gpu) == 118734);
        CHECK(number(nvmlDeviceGetPowerManagementLimit, gpu) == 700000);
        CHECK(number(nvmlDeviceGetEnforcedPowerLimit, gpu) == 700000);
        unsigned int low = 0;
        unsigned int high = 0;
        CHECK(nvmlDeviceGetPowerManagementLimitConstraints(gpu, &low, &high) == NVML_SUCCESS);
        CHECK(low == 200000);
        CHECK(high == 700000);
        const long long before = number(nvmlDeviceGetTotalEnergyConsumption, gpu);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const long long after = number(nvmlDeviceGetTotalEnergyConsumption, gpu);
        CHECK(before >= 8123456789LL);
        CHECK(after - before >= 1000); /* 118 W for 20 ms are 2.4 J */
        CHECK(after - before < 1000000);
        unsigned int clock = 0;
        CHECK(nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_MEM, &clock) == NVML_SUCCESS);
        CHECK(clock == 3201);
        CHECK(nvmlDeviceGetMaxClockInfo(gpu, NVML_CLOCK_SM, &clock) == NVML_SUCCESS);
        CHECK(clock == 1980);
        CHECK(nvmlDeviceGetApplicationsClock(gpu, NVML_CLOCK_GRAPHICS, &clock) == NVML_SUCCESS);
        CHECK(clock == 1830);
        CHECK(nvmlDeviceGetClock(gpu, NVML_CLOCK_GRAPHICS, NVML_CLOCK_ID_CURRENT, &clock) ==
              NVML_SUCCESS);
        CHECK(clock == 1785);
        unsigned int celsius = 0;
        CHECK(nvmlDeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU, &celsius) == NVML_SUCCESS);
        CHECK(celsius == 41);
        nvmlTemperature_t versioned = {nvmlTemperature_v1, NVML_TEMPERATURE_GPU, 0};
        CHECK(nvmlDeviceGetTemperatureV(gpu, &versioned) == NVML_SUCCESS);
        CHECK(versioned.temperature == 41);
        versioned.version = 7;
        CHECK(nvmlDeviceGetTemperatureV(gpu, &versioned) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        CHECK(nvmlDeviceGetTemperatureThreshold(gpu, NVML_TEMPERATURE_THRESHOLD_GPU_MAX,
                                                &celsius) == NVML_SUCCESS);
        CHECK(celsius == 87);
        CHECK(number(nvmlDeviceGetFanSpeed, gpu) == -NVML_ERROR_NOT_SUPPORTED);
        CHECK(number(nvmlDeviceGetNumFans, gpu) == 0);
        CHECK(number(nvmlDeviceGetCurrentClocksEventReasons, gpu) == 4);
        CHECK(number(nvmlDeviceGetCurrentClocksThrottleReasons, gpu) == 4);
        CHECK(number(nvmlDeviceGetPerformanceState, gpu) == 0);
    }

    TEST_CASE("lists clocks when there is room")
    {
        const Nvml nvml;
        unsigned int clocks[8] = {};
        unsigned int count = 0;
        CHECK(nvmlDeviceGetSupportedMemoryClocks(nvml.device(), &count, nullptr) ==
              NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK(count == 2);
        CHECK(nvmlDeviceGetSupportedMemoryClocks(nvml.device(), &count, clocks) == NVML_SUCCESS);
        CHECK(clocks[1] == 1593);
        count = 8;
        CHECK(nvmlDeviceGetSupportedGraphicsClocks(nvml.device(), 3201, &count, clocks) ==
              NVML_SUCCESS);
        CHECK(count == 4);
        CHECK(nvmlDeviceGetSupportedGraphicsClocks(nvml.device(), 1, &count, clocks) ==
              NVML_ERROR_NOT_FOUND);
    }

    TEST_CASE("reads utilisation of every engine")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        nvmlUtilization_t rates = {};
        CHECK(nvmlDeviceGetUtilizationRates(gpu, &rates) == NVML_SUCCESS);
        CHECK(rates.gpu == 37);
        CHECK(rates.memory == 21);
        unsigned int percent = 0;
        unsigned int period = 0;
        CHECK(nvmlDeviceGetEncoderUtilization(gpu, &percent, &period) == NVML_SUCCESS);
        CHECK(percent == 3);
        CHECK(period == 167000);
        CHECK(nvmlDeviceGetDecoderUtilization(gpu, &percent, &period) == NVML_SUCCESS);
        CHECK(percent == 5);
        CHECK(nvmlDeviceGetJpgUtilization(gpu, &percent, &period) == NVML_SUCCESS);
        CHECK(percent == 2);
        CHECK(nvmlDeviceGetOfaUtilization(gpu, &percent, &period) == NVML_SUCCESS);
        CHECK(percent == 1);
    }

    TEST_CASE("counts ECC errors by kind, time and place")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        nvmlEnableState_t current = NVML_FEATURE_DISABLED;
        nvmlEnableState_t pending = NVML_FEATURE_DISABLED;
        CHECK(nvmlDeviceGetEccMode(gpu, &current, &pending) == NVML_SUCCESS);
        CHECK(current == NVML_FEATURE_ENABLED);
        unsigned long long count = 0;
        CHECK(nvmlDeviceGetTotalEccErrors(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC,
                                          &count) == NVML_SUCCESS);
        CHECK(count == 4);
        CHECK(nvmlDeviceGetTotalEccErrors(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                          NVML_AGGREGATE_ECC, &count) == NVML_SUCCESS);
        CHECK(count == 2);
        CHECK(nvmlDeviceGetMemoryErrorCounter(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED,
                                              NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_DRAM,
                                              &count) == NVML_SUCCESS);
        CHECK(count == 17);
        unsigned int rows[4] = {};
        CHECK(nvmlDeviceGetRemappedRows(gpu, &rows[0], &rows[1], &rows[2], &rows[3]) ==
              NVML_SUCCESS);
        CHECK(rows[0] == 1);
        CHECK(rows[1] == 2);
        nvmlRowRemapperHistogramValues_t histogram = {};
        CHECK(nvmlDeviceGetRowRemapperHistogram(gpu, &histogram) == NVML_SUCCESS);
        CHECK(histogram.max == 190);
    }

    TEST_CASE("measures PCIe throughput for twenty milliseconds")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        CHECK(number(nvmlDeviceGetCurrPcieLinkGeneration, gpu) == 5);
        CHECK(number(nvmlDeviceGetCurrPcieLinkWidth, gpu) == 16);
        CHECK(number(nvmlDeviceGetPcieReplayCounter, gpu) == 3);
        unsigned int value = 0;
        const auto start = std::chrono::steady_clock::now();
        CHECK(nvmlDeviceGetPcieThroughput(gpu, NVML_PCIE_UTIL_RX_BYTES, &value) == NVML_SUCCESS);
        CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(20));
        CHECK(value == 61440);
    }

    TEST_CASE("has eighteen links with state, speed, errors and throughput")
    {
        const Nvml nvml;
        const nvmlDevice_t gpu = nvml.device();
        nvmlEnableState_t active = NVML_FEATURE_DISABLED;
        CHECK(nvmlDeviceGetNvLinkState(gpu, 17, &active) == NVML_SUCCESS);
        CHECK(active == NVML_FEATURE_ENABLED);
        CHECK(nvmlDeviceGetNvLinkState(gpu, 18, &active) == NVML_ERROR_INVALID_ARGUMENT);
        unsigned long long errors = 0;
        CHECK(nvmlDeviceGetNvLinkErrorCounter(gpu, 3, NVML_NVLINK_ERROR_DL_CRC_FLIT, &errors) ==
              NVML_SUCCESS);
        CHECK(errors == 9);
        unsigned int version = 0;
        CHECK(nvmlDeviceGetNvLinkVersion(gpu, 0, &version) == NVML_SUCCESS);
        CHECK(version == 6);
        CHECK(field(gpu, NVML_FI_DEV_NVLINK_LINK_COUNT).value.uiVal == 18);
        CHECK(field(gpu, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, 4).value.ullVal == 7340032);
        CHECK(field(gpu, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, 0xFFFFFFFFU).value.ullVal ==
              18ULL * 6291456ULL);
        CHECK(field(gpu, NVML_FI_DEV_NVLINK_GET_SPEED, 2).value.uiVal == 26562);
        CHECK(field(gpu, NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL).value.ullVal == 18 * 6);
        CHECK(field(gpu, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L7).value.ullVal == 9);
    }

    TEST_CASE("answers each field value with a code of its own")
    {
        const Nvml nvml;
        nvmlFieldValue_t values[4] = {};
        values[0].fieldId = NVML_FI_DEV_POWER_INSTANT;
        values[1].fieldId = NVML_FI_DEV_C2C_LINK_COUNT;
        values[2].fieldId = 5000;
        values[3].fieldId = NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION;
        CHECK(nvmlDeviceGetFieldValues(nvml.device(), 4, values) == NVML_SUCCESS);
        CHECK(values[0].nvmlReturn == NVML_SUCCESS);
        CHECK(values[0].valueType == NVML_VALUE_TYPE_UNSIGNED_INT);
        CHECK(values[0].value.uiVal == 118734);
        CHECK(values[0].timestamp > 0);
        CHECK(values[1].nvmlReturn == NVML_ERROR_NOT_SUPPORTED);
        CHECK(values[2].nvmlReturn == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(values[3].value.ullVal >= 8123456789ULL);
        CHECK(nvmlDeviceGetFieldValues(nvml.device(), 0, values) == NVML_ERROR_INVALID_ARGUMENT);
    }

    TEST_CASE("lists this process, with the struct of each version")
    {
        const Nvml nvml;
        unsigned int count = 0;
        CHECK(nvmlDeviceGetComputeRunningProcesses_v3(nvml.device(), &count, nullptr) ==
              NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK(count == 1);
        nvmlProcessInfo_t infos[2] = {};
        CHECK(nvmlDeviceGetComputeRunningProcesses_v3(nvml.device(), &count, infos) ==
              NVML_SUCCESS);
        CHECK(infos[0].pid == static_cast<unsigned int>(getpid()));
        CHECK(infos[0].usedGpuMemory == 1073741824ULL);
        CHECK(infos[0].gpuInstanceId == 0xFFFFFFFFU);
        char name[64] = "";
        CHECK(nvmlSystemGetProcessName(infos[0].pid, name, sizeof(name)) == NVML_SUCCESS);
        CHECK(std::string(name).find("nvml") != std::string::npos);
        CHECK(nvmlSystemGetProcessName(0x7FFFFFFF, name, sizeof(name)) == NVML_ERROR_NOT_FOUND);
        count = 2;
        CHECK(nvmlDeviceGetGraphicsRunningProcesses_v3(nvml.device(), &count, infos) ==
              NVML_SUCCESS);
        CHECK(count == 0);
    }

    TEST_CASE("computes GPM metrics from two samples")
    {
        const Nvml nvml;
        nvmlGpmSupport_t support = {NVML_GPM_SUPPORT_VERSION, 0};
        CHECK(nvmlGpmQueryDeviceSupport(nvml.device(), &support) == NVML_SUCCESS);
        CHECK(support.isSupportedDevice == 1);
        nvmlGpmMetricsGet_t request = {};
        request.version = NVML_GPM_METRICS_GET_VERSION;
        CHECK(nvmlGpmSampleAlloc(&request.sample1) == NVML_SUCCESS);
        CHECK(nvmlGpmSampleAlloc(&request.sample2) == NVML_SUCCESS);
        request.numMetrics = 2;
        request.metrics[0].metricId = NVML_GPM_METRIC_SM_OCCUPANCY;
        request.metrics[1].metricId = NVML_GPM_METRIC_NVOFA_1_UTIL;
        CHECK(nvmlGpmMetricsGet(&request) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlGpmSampleGet(nvml.device(), request.sample1) == NVML_SUCCESS);
        CHECK(nvmlGpmSampleGet(nvml.device(), request.sample2) == NVML_SUCCESS);
        CHECK(nvmlGpmMetricsGet(&request) == NVML_SUCCESS);
        CHECK(request.metrics[0].value == doctest::Approx(18.75));
        CHECK(std::string(request.metrics[0].metricInfo.unit) == "%");
        CHECK(request.metrics[1].nvmlReturn == NVML_ERROR_NOT_SUPPORTED);
        CHECK(nvmlGpmSampleFree(request.sample1) == NVML_SUCCESS);
        CHECK(nvmlGpmSampleFree(request.sample1) == NVML_ERROR_INVALID_ARGUMENT);
        CHECK(nvmlGpmSampleFree(request.sample2) == NVML_SUCCESS);
    }

    TEST_CASE("says what it has no model for, and what nobody here may do")
    {
        const Nvml nvml;
        unsigned int value = 0;
        CHECK(nvmlDeviceGetAccountingBufferSize(nvml.device(), &value) == NVML_ERROR_NOT_SUPPORTED);
        CHECK(nvmlDeviceSetPowerManagementLimit(nvml.device(), 300000) == NVML_ERROR_NO_PERMISSION);
        CHECK(nvmlDeviceResetGpuLockedClocks(nvml.device()) == NVML_ERROR_NO_PERMISSION);
    }

    TEST_CASE("serves many threads while others start and stop")
    {
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 4; ++thread)
            threads.emplace_back([] {
                for (int round = 0; round < 100; ++round) {
                    nvmlDevice_t gpu = nullptr;
                    unsigned int power = 0;
                    nvmlInit_v2();
                    if (nvmlDeviceGetHandleByIndex_v2(0, &gpu) == NVML_SUCCESS)
                        nvmlDeviceGetPowerUsage(gpu, &power);
                    nvmlShutdown();
                }
            });
        for (std::thread &thread : threads)
            thread.join();
        CHECK(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
    }
}
