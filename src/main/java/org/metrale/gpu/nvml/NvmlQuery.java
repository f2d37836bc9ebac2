package org.metrale.gpu.nvml;

/**
 * What {@code metrale_nvml_query} asks; the ordinals are the header's numbers (a test compares).
 */
enum NvmlQuery {
  POWER("nvmlDeviceGetPowerUsage"),
  ENERGY("nvmlDeviceGetTotalEnergyConsumption"),
  CLOCK("nvmlDeviceGetClockInfo"),
  TEMPERATURE("nvmlDeviceGetTemperatureV"),
  EVENT_REASONS("nvmlDeviceGetCurrentClocksEventReasons"),
  MEMORY("nvmlDeviceGetMemoryInfo_v2"),
  UTILIZATION("nvmlDeviceGetUtilizationRates"),
  PCIE_THROUGHPUT("nvmlDeviceGetPcieThroughput"),
  LINKS("nvmlDeviceGetNvLinkState"),
  ENCODER("nvmlDeviceGetEncoderUtilization"),
  DECODER("nvmlDeviceGetDecoderUtilization"),
  JPEG("nvmlDeviceGetJpgUtilization"),
  OPTICAL_FLOW("nvmlDeviceGetOfaUtilization"),
  PERFORMANCE_STATE("nvmlDeviceGetPerformanceState"),
  MAX_CLOCK("nvmlDeviceGetMaxClockInfo"),
  APPLICATION_CLOCK("nvmlDeviceGetApplicationsClock"),
  DEFAULT_CLOCK("nvmlDeviceGetDefaultApplicationsClock"),
  BOOST_CLOCK("nvmlDeviceGetMaxCustomerBoostClock"),
  SUPPORTED_REASONS("nvmlDeviceGetSupportedClocksEventReasons"),
  VIOLATION("nvmlDeviceGetViolationStatus"),
  POWER_LIMIT("nvmlDeviceGetPowerManagementLimit"),
  DEFAULT_POWER_LIMIT("nvmlDeviceGetPowerManagementDefaultLimit"),
  ENFORCED_POWER_LIMIT("nvmlDeviceGetEnforcedPowerLimit"),
  POWER_CONSTRAINTS("nvmlDeviceGetPowerManagementLimitConstraints"),
  POWER_MANAGEMENT("nvmlDeviceGetPowerManagementMode"),
  POWER_SOURCE("nvmlDeviceGetPowerSource"),
  TEMPERATURE_MARGIN("nvmlDeviceGetMarginTemperature"),
  THRESHOLD("nvmlDeviceGetTemperatureThreshold"),
  FAN_COUNT("nvmlDeviceGetNumFans"),
  FAN_SPEED("nvmlDeviceGetFanSpeed_v2"),
  FAN_TARGET("nvmlDeviceGetTargetFanSpeed"),
  FAN_RPM("nvmlDeviceGetFanSpeedRPM"),
  FAN_LIMITS("nvmlDeviceGetMinMaxFanSpeed"),
  BAR1("nvmlDeviceGetBAR1MemoryInfo"),
  ECC_MODE("nvmlDeviceGetEccMode"),
  DEFAULT_ECC_MODE("nvmlDeviceGetDefaultEccMode"),
  ECC_ERRORS("nvmlDeviceGetTotalEccErrors"),
  MEMORY_ERRORS("nvmlDeviceGetMemoryErrorCounter"),
  REMAPPED_ROWS("nvmlDeviceGetRemappedRows"),
  REMAPPER_HISTOGRAM("nvmlDeviceGetRowRemapperHistogram"),
  REPAIR_STATUS("nvmlDeviceGetRepairStatus"),
  PCIE_GENERATION("nvmlDeviceGetCurrPcieLinkGeneration"),
  PCIE_MAX_GENERATION("nvmlDeviceGetMaxPcieLinkGeneration"),
  PCIE_DEVICE_GENERATION("nvmlDeviceGetGpuMaxPcieLinkGeneration"),
  PCIE_WIDTH("nvmlDeviceGetCurrPcieLinkWidth"),
  PCIE_MAX_WIDTH("nvmlDeviceGetMaxPcieLinkWidth"),
  PCIE_SPEED("nvmlDeviceGetPcieSpeed"),
  PCIE_REPLAYS("nvmlDeviceGetPcieReplayCounter"),
  LINK_STATE("nvmlDeviceGetNvLinkState"),
  LINK_VERSION("nvmlDeviceGetNvLinkVersion"),
  LINK_ERRORS("nvmlDeviceGetNvLinkErrorCounter"),
  LINK_REMOTE_TYPE("nvmlDeviceGetNvLinkRemoteDeviceType"),
  MIG_MODE("nvmlDeviceGetMigMode"),
  IS_MIG("nvmlDeviceIsMigDeviceHandle"),
  MAX_MIG("nvmlDeviceGetMaxMigDeviceCount"),
  GPU_INSTANCE("nvmlDeviceGetGpuInstanceId"),
  COMPUTE_INSTANCE("nvmlDeviceGetComputeInstanceId"),
  ATTRIBUTES("nvmlDeviceGetAttributes_v2"),
  COMPUTE_CAPABILITY("nvmlDeviceGetCudaComputeCapability"),
  ARCHITECTURE("nvmlDeviceGetArchitecture"),
  BRAND("nvmlDeviceGetBrand"),
  CORES("nvmlDeviceGetNumGpuCores"),
  BUS_WIDTH("nvmlDeviceGetMemoryBusWidth"),
  MINOR("nvmlDeviceGetMinorNumber"),
  INDEX("nvmlDeviceGetIndex"),
  PCI("nvmlDeviceGetPciInfo_v3"),
  MODULE("nvmlDeviceGetModuleId"),
  NUMA_NODE("nvmlDeviceGetNumaNodeId"),
  ADDRESSING_MODE("nvmlDeviceGetAddressingMode"),
  C2C("nvmlDeviceGetC2cModeInfoV"),
  PERSISTENCE("nvmlDeviceGetPersistenceMode"),
  COMPUTE_MODE("nvmlDeviceGetComputeMode"),
  DISPLAY("nvmlDeviceGetDisplayActive"),
  GSP("nvmlDeviceGetGspFirmwareMode"),
  SUPPORTED_EVENTS("nvmlDeviceGetSupportedEventTypes"),
  GPM_SUPPORT("nvmlGpmQueryDeviceSupport"),
  ENCODER_CAPACITY("nvmlDeviceGetEncoderCapacity"),
  ENCODER_STATISTICS("nvmlDeviceGetEncoderStats");

  private final String call;

  NvmlQuery(String call) {
    this.call = call;
  }

  /** The C function that answers, in its newest version. */
  String call() {
    return call;
  }

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
