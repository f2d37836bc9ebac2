#include "profiles.hpp"

#include "settings.hpp"

namespace metrale::telemetry
{
namespace
{

/*
 * Functions by the driver branch that first has them, from the headers that go with the branches
 * 515 to 610; what came between 470 and 515 is from release notes. All others are in 470 already.
 */
struct Arrival {
    int major;
    std::string_view names;
};

constexpr Arrival kArrivals[] = {
    {515, " nvmlDeviceGetAdaptiveClockInfoStatus nvmlDeviceGetBusType "
          "nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetDefaultEccMode "
          "nvmlDeviceGetDynamicPstatesInfo nvmlDeviceGetGpcClkVfOffset "
          "nvmlDeviceGetGpuInstanceProfileInfoV nvmlDeviceGetGraphicsRunningProcesses_v3 "
          "nvmlDeviceGetGspFirmwareMode nvmlDeviceGetGspFirmwareVersion nvmlDeviceGetIrqNum "
          "nvmlDeviceGetMPSComputeRunningProcesses_v3 nvmlDeviceGetMemoryBusWidth "
          "nvmlDeviceGetMemoryInfo_v2 nvmlDeviceGetMinMaxClockOfPState "
          "nvmlDeviceGetMinMaxFanSpeed nvmlDeviceGetNumFans nvmlDeviceGetNumGpuCores "
          "nvmlDeviceGetPcieLinkMaxSpeed nvmlDeviceGetPcieSpeed nvmlDeviceGetPowerSource "
          "nvmlDeviceGetSupportedPerformanceStates nvmlDeviceGetThermalSettings "
          "nvmlDeviceSetDefaultFanSpeed_v2 nvmlDeviceSetFanSpeed_v2 nvmlDeviceSetGpcClkVfOffset "
          "nvmlGpuInstanceGetComputeInstanceProfileInfoV nvmlVgpuInstanceGetGpuInstanceId "
          "nvmlVgpuInstanceGetGpuPciId nvmlVgpuInstanceGetLicenseInfo_v2 "
          "nvmlVgpuTypeGetCapabilities "},
    {520, " nvmlDeviceGetGpcClkMinMaxVfOffset nvmlDeviceGetMemClkMinMaxVfOffset "
          "nvmlDeviceGetMemClkVfOffset nvmlDeviceGetTargetFanSpeed nvmlDeviceSetMemClkVfOffset "
          "nvmlGpmMetricsGet nvmlGpmQueryDeviceSupport nvmlGpmSampleAlloc nvmlGpmSampleFree "
          "nvmlGpmSampleGet "},
    {535, " nvmlDeviceClearFieldValues nvmlDeviceGetConfComputeGpuAttestationReport "
          "nvmlDeviceGetConfComputeGpuCertificate nvmlDeviceGetConfComputeMemSizeInfo "
          "nvmlDeviceGetConfComputeProtectedMemoryUsage nvmlDeviceGetCurrentClocksEventReasons "
          "nvmlDeviceGetFanControlPolicy_v2 nvmlDeviceGetGpuFabricInfo "
          "nvmlDeviceGetGpuMaxPcieLinkGeneration nvmlDeviceGetJpgUtilization "
          "nvmlDeviceGetModuleId nvmlDeviceGetOfaUtilization "
          "nvmlDeviceGetRunningProcessDetailList nvmlDeviceGetSupportedClocksEventReasons "
          "nvmlDeviceGetVgpuCapabilities nvmlDeviceGetVgpuSchedulerCapabilities "
          "nvmlDeviceGetVgpuSchedulerLog nvmlDeviceGetVgpuSchedulerState "
          "nvmlDeviceSetConfComputeUnprotectedMemSize nvmlDeviceSetFanControlPolicy "
          "nvmlDeviceSetNvLinkDeviceLowPowerThreshold nvmlDeviceSetPowerManagementLimit_v2 "
          "nvmlDeviceSetVgpuSchedulerState nvmlGetVgpuDriverCapabilities nvmlGpmMigSampleGet "
          "nvmlGpmQueryIfStreamingEnabled nvmlGpmSetStreamingEnabled "
          "nvmlGpuInstanceCreateComputeInstanceWithPlacement "
          "nvmlGpuInstanceGetComputeInstancePossiblePlacements "
          "nvmlSystemGetConfComputeCapabilities nvmlSystemGetConfComputeGpusReadyState "
          "nvmlSystemGetConfComputeState nvmlSystemGetNvlinkBwMode "
          "nvmlSystemSetConfComputeGpusReadyState nvmlSystemSetNvlinkBwMode "},
    {550, " nvmlDeviceGetC2cModeInfoV nvmlDeviceGetGpuFabricInfoV nvmlDeviceGetLastBBXFlushTime "
          "nvmlDeviceGetNumaNodeId nvmlDeviceGetPciInfoExt nvmlDeviceGetProcessesUtilizationInfo "
          "nvmlDeviceGetSramEccErrorStatus nvmlDeviceGetVgpuHeterogeneousMode "
          "nvmlDeviceGetVgpuInstancesUtilizationInfo nvmlDeviceGetVgpuProcessesUtilizationInfo "
          "nvmlDeviceGetVgpuTypeCreatablePlacements nvmlDeviceGetVgpuTypeSupportedPlacements "
          "nvmlDeviceSetVgpuCapabilities nvmlDeviceSetVgpuHeterogeneousMode "
          "nvmlSystemGetConfComputeKeyRotationThresholdInfo nvmlSystemGetConfComputeSettings "
          "nvmlSystemSetConfComputeKeyRotationThresholdInfo nvmlVgpuInstanceGetPlacementId "
          "nvmlVgpuTypeGetFbReservation nvmlVgpuTypeGetGspHeapSize "},
    {580, " nvmlDeviceGetAddressingMode nvmlDeviceGetCapabilities nvmlDeviceGetClockOffsets "
          "nvmlDeviceGetCoolerInfo nvmlDeviceGetCurrentClockFreqs nvmlDeviceGetDramEncryptionMode "
          "nvmlDeviceGetDriverModel_v2 nvmlDeviceGetFanSpeedRPM "
          "nvmlDeviceGetGpuInstanceProfileInfoByIdV nvmlDeviceGetHandleByUUIDV "
          "nvmlDeviceGetHostname_v1 nvmlDeviceGetMarginTemperature nvmlDeviceGetNvLinkInfo "
          "nvmlDeviceGetNvlinkBwMode nvmlDeviceGetNvlinkSupportedBwModes nvmlDeviceGetPdi "
          "nvmlDeviceGetPerformanceModes nvmlDeviceGetPlatformInfo nvmlDeviceGetPowerMizerMode_v1 "
          "nvmlDeviceGetRepairStatus nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts "
          "nvmlDeviceGetTemperatureV nvmlDevicePowerSmoothingActivatePresetProfile "
          "nvmlDevicePowerSmoothingSetState nvmlDevicePowerSmoothingUpdatePresetProfileParam "
          "nvmlDeviceReadWritePRM_v1 nvmlDeviceSetClockOffsets nvmlDeviceSetDramEncryptionMode "
          "nvmlDeviceSetHostname_v1 nvmlDeviceSetNvlinkBwMode nvmlDeviceSetPowerMizerMode_v1 "
          "nvmlDeviceWorkloadPowerProfileClearRequestedProfiles "
          "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles "
          "nvmlDeviceWorkloadPowerProfileGetProfilesInfo "
          "nvmlDeviceWorkloadPowerProfileSetRequestedProfiles nvmlGpuInstanceGetActiveVgpus "
          "nvmlGpuInstanceGetCreatableVgpus nvmlGpuInstanceGetVgpuHeterogeneousMode "
          "nvmlGpuInstanceGetVgpuSchedulerLog nvmlGpuInstanceGetVgpuSchedulerState "
          "nvmlGpuInstanceGetVgpuTypeCreatablePlacements nvmlGpuInstanceSetVgpuHeterogeneousMode "
          "nvmlGpuInstanceSetVgpuSchedulerState nvmlSystemEventSetCreate nvmlSystemEventSetFree "
          "nvmlSystemEventSetWait nvmlSystemGetDriverBranch nvmlSystemRegisterEvents "
          "nvmlVgpuInstanceGetRuntimeStateSize nvmlVgpuTypeGetBAR1Info "
          "nvmlVgpuTypeGetMaxInstancesPerGpuInstance "},
    {610, " nvmlDeviceGetAccountingStats_v2 nvmlDeviceGetAdaptiveTgpModeInfo_v1 "
          "nvmlDeviceGetBBXTimeData_v1 nvmlDeviceGetBankRemapperStatus_v1 "
          "nvmlDeviceGetGpuFabricInfo_v4 nvmlDeviceGetGpuUptime_v1 nvmlDeviceGetMemoryLimits_v1 "
          "nvmlDeviceGetNvLinkInfo_v3 nvmlDeviceGetNvLinkTelemetrySamples_v1 "
          "nvmlDeviceGetNvlinkNvlePrivateInfo_v1 nvmlDeviceGetNvlinkRemapTableInfo_v1 "
          "nvmlDeviceGetRemappedRows_v2 nvmlDeviceGetUnrepairableMemoryFlag_v1 "
          "nvmlDeviceGetVgpuSchedulerLog_v2 nvmlDeviceGetVgpuSchedulerState_v2 "
          "nvmlDeviceLockNvlinkRemapTable_v1 nvmlDevicePerfMetricsGetSamples_v1 "
          "nvmlDeviceReadPRMCounters_v1 nvmlDeviceSetAdaptiveTgpMode_v1 "
          "nvmlDeviceSetMemoryLimits_v1 nvmlDeviceSetNvlinkBwModeAsync_v1 "
          "nvmlDeviceSetNvlinkNvleReady_v1 nvmlDeviceSetRusdSettings_v1 "
          "nvmlDeviceSetVgpuSchedulerState_v2 nvmlDeviceSetupNvlinkNvleEncryptionKey_v1 "
          "nvmlDeviceVgpuForceGspUnload nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1 "
          "nvmlEventSetGetContextCount_v1 nvmlEventSetGetContextData_v1 "
          "nvmlEventSetGetContextInfo_v1 nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1 "
          "nvmlEventSetRegisterGpuOperationalEvents_v1 nvmlEventSetWait_v3 "
          "nvmlGpuInstanceGetVgpuSchedulerLog_v2 nvmlGpuInstanceGetVgpuSchedulerState_v2 "
          "nvmlGpuInstanceSetVgpuSchedulerState_v2 nvmlSystemGetCPER_v1 "
          "nvmlSystemGetConfComputeSettings_v2 "},
};

std::map<std::string, int, std::less<>> index_arrivals()
{
    std::map<std::string, int, std::less<>> index;
    for (const Arrival &arrival : kArrivals)
        for (const std::string &name : split(arrival.names, ' '))
            index[name] = arrival.major;
    return index;
}

} // namespace

int driver_with(std::string_view function)
{
    static const auto *index = new std::map(index_arrivals());
    const auto found = index->find(function);
    return found == index->end() ? 470 : found->second;
}

std::vector<std::string> functions_after(int major)
{
    std::vector<std::string> functions;
    for (const Arrival &arrival : kArrivals)
        if (arrival.major > major)
            for (std::string &name : split(arrival.names, ' '))
                functions.push_back(std::move(name));
    return functions;
}

} // namespace metrale::telemetry
