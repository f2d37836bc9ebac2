#include "fixture.hpp"

#include <cstring>

TEST_SUITE("gb200")
{
    TEST_CASE("has four GPUs, each in a PCI domain of its own")
    {
        const Nvml nvml;
        unsigned int count = 0;
        CHECK(nvmlDeviceGetCount_v2(&count) == NVML_SUCCESS);
        CHECK(count == 4);
        nvmlPciInfo_t pci = {};
        CHECK(nvmlDeviceGetPciInfo_v3(nvml.device(3), &pci) == NVML_SUCCESS);
        CHECK(std::string(pci.busId) == "0000000B:01:00.0");
        nvmlPciInfoExt_t extended = {};
        CHECK(nvmlDeviceGetPciInfoExt(nvml.device(3), &extended) ==
              NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        extended.version = nvmlPciInfoExt_v1;
        CHECK(nvmlDeviceGetPciInfoExt(nvml.device(3), &extended) == NVML_SUCCESS);
        CHECK(extended.domain == 11);
        CHECK(extended.baseClass == 3);
        nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_INTERNAL;
        CHECK(nvmlDeviceGetTopologyCommonAncestor(nvml.device(0), nvml.device(1), &level) ==
              NVML_SUCCESS);
        CHECK(level == NVML_TOPOLOGY_SYSTEM);
    }

    TEST_CASE("tells its fabric in every version of the struct")
    {
        const Nvml nvml;
        nvmlGpuFabricInfo_t first = {};
        CHECK(nvmlDeviceGetGpuFabricInfo(nvml.device(), &first) == NVML_SUCCESS);
        CHECK(first.state == NVML_GPU_FABRIC_STATE_COMPLETED);
        CHECK(first.cliqueId == 32766);
        CHECK(first.clusterUuid[0] == 0x5a);
        CHECK(first.clusterUuid[15] == 0x45);
        nvmlGpuFabricInfo_v2_t second = {};
        second.version = nvmlGpuFabricInfo_v2;
        CHECK(nvmlDeviceGetGpuFabricInfoV(nvml.device(), reinterpret_cast<nvmlGpuFabricInfoV_t *>(
                                                             &second)) == NVML_SUCCESS);
        CHECK(second.healthMask == 0x51AA);
        CHECK(second.cliqueId == 32766);
        nvmlGpuFabricInfo_v3_t third = {};
        CHECK(nvmlDeviceGetGpuFabricInfoV(nvml.device(), &third) ==
              NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        third.version = nvmlGpuFabricInfo_v3;
        CHECK(nvmlDeviceGetGpuFabricInfoV(nvml.device(), &third) == NVML_SUCCESS);
        CHECK(third.healthSummary == NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY);
        nvmlGpuFabricInfo_v4_t fourth = {};
        CHECK(nvmlDeviceGetGpuFabricInfo_v4(nvml.device(), &fourth) == NVML_SUCCESS);
        CHECK(fourth.numCliques == 1);
        CHECK(fourth.cliques[0].id == 32766);
    }

    TEST_CASE("reports no PCIe, but C2C")
    {
        const Nvml nvml;
        CHECK(number(nvmlDeviceGetCurrPcieLinkGeneration, nvml.device()) ==
              -NVML_ERROR_NOT_SUPPORTED);
        CHECK(field(nvml.device(), NVML_FI_DEV_C2C_LINK_COUNT).value.uiVal == 5);
        CHECK(number(nvmlDeviceGetModuleId, nvml.device(2)) == 2);
        CHECK(number(nvmlDeviceGetNumaNodeId, nvml.device()) == 8);
    }
}
