package org.metrale.gpu.nvml;

/** What a device is: names, numbers, versions and where it sits. */
public final class NvmlIdentity {
  private final NvmlDevice device;

  NvmlIdentity(NvmlDevice device) {
    this.device = device;
  }

  /**
   * The product.
   *
   * @return for example {@code NVIDIA H200}
   * @wraps {@code nvmlDeviceGetName}; nvml.h
   */
  public NvmlReading<String> name() {
    return device.text(NvmlTextQuery.NAME);
  }

  /**
   * The serial number of the board.
   *
   * @return the number as printed on it
   * @wraps {@code nvmlDeviceGetSerial}; nvml.h
   */
  public NvmlReading<String> serial() {
    return device.text(NvmlTextQuery.SERIAL);
  }

  /**
   * The part number of the board.
   *
   * @return for example {@code 692-2G520-0280-000}
   * @wraps {@code nvmlDeviceGetBoardPartNumber}; nvml.h
   */
  public NvmlReading<String> partNumber() {
    return device.text(NvmlTextQuery.PART_NUMBER);
  }

  /**
   * The version of the video BIOS.
   *
   * @return for example {@code 96.00.99.00.01}
   * @wraps {@code nvmlDeviceGetVbiosVersion}; nvml.h
   */
  public NvmlReading<String> vbiosVersion() {
    return device.text(NvmlTextQuery.VBIOS);
  }

  /**
   * The version of the image in the board's configuration memory.
   *
   * @return for example {@code G520.0280.00.05}
   * @wraps {@code nvmlDeviceGetInforomImageVersion}; nvml.h
   */
  public NvmlReading<String> inforomVersion() {
    return device.text(NvmlTextQuery.INFOROM);
  }

  /**
   * The version of the GPU system processor's firmware.
   *
   * @return the driver's version where they belong together
   * @wraps {@code nvmlDeviceGetGspFirmwareVersion}; nvml.h
   */
  public NvmlReading<String> gspFirmwareVersion() {
    return device.text(NvmlTextQuery.GSP_FIRMWARE);
  }

  /**
   * Whether the GPU system processor runs.
   *
   * @return true if it does
   * @wraps {@code nvmlDeviceGetGspFirmwareMode}; nvml.h
   */
  public NvmlReading<Boolean> isGspFirmwareEnabled() {
    return device.flag(NvmlQuery.GSP);
  }

  /**
   * NVML's index of the device.
   *
   * @return from 0; not CUDA's ordinal
   * @wraps {@code nvmlDeviceGetIndex}; nvml.h
   */
  public NvmlReading<Long> deviceIndex() {
    return device.number(NvmlQuery.INDEX, 0);
  }

  /**
   * The number N of {@code /dev/nvidiaN}.
   *
   * @return from 0
   * @wraps {@code nvmlDeviceGetMinorNumber}; nvml.h
   */
  public NvmlReading<Long> minorNumber() {
    return device.number(NvmlQuery.MINOR, 0);
  }

  /**
   * The PCI address as text.
   *
   * @return for example {@code 00000000:3B:00.0}
   * @wraps {@code nvmlDeviceGetPciInfo_v3}; nvml.h
   */
  public NvmlReading<String> pciBusId() {
    return device.text(NvmlTextQuery.PCI);
  }

  /**
   * The PCI address and ids as numbers.
   *
   * @return domain, bus, device and the two ids
   * @wraps {@code nvmlDeviceGetPciInfo_v3}; nvml.h
   */
  public NvmlReading<NvmlPci> pci() {
    return device
        .query(NvmlQuery.PCI, 0)
        .reading(
            answer ->
                new NvmlPci(
                    answer.value(0),
                    answer.value(1),
                    answer.value(2),
                    answer.value(3),
                    answer.value(4)));
  }

  /**
   * Which module of its baseboard this is.
   *
   * @return an id within the machine
   * @wraps {@code nvmlDeviceGetModuleId}; nvml.h
   */
  public NvmlReading<Long> moduleId() {
    return device.number(NvmlQuery.MODULE, 0);
  }

  /**
   * The NUMA node that the device's memory is.
   *
   * @return the node's number; absent where its memory is none
   * @wraps {@code nvmlDeviceGetNumaNodeId}; nvml.h
   */
  public NvmlReading<Long> numaNode() {
    return device.number(NvmlQuery.NUMA_NODE, 0);
  }

  /**
   * What code the device can run.
   *
   * @return major and minor number
   * @wraps {@code nvmlDeviceGetCudaComputeCapability}; nvml.h
   */
  public NvmlReading<NvmlComputeCapability> computeCapability() {
    return device
        .query(NvmlQuery.COMPUTE_CAPABILITY, 0)
        .reading(answer -> new NvmlComputeCapability((int) answer.value(0), (int) answer.value(1)));
  }

  /**
   * The architecture by NVML's number.
   *
   * @return for example 9 for Hopper, 10 for Blackwell
   * @wraps {@code nvmlDeviceGetArchitecture}; nvml.h
   */
  public NvmlReading<Long> architecture() {
    return device.number(NvmlQuery.ARCHITECTURE, 0);
  }

  /**
   * The brand by NVML's number.
   *
   * @return for example 14 for a data centre part
   * @wraps {@code nvmlDeviceGetBrand}; nvml.h
   */
  public NvmlReading<Long> brand() {
    return device.number(NvmlQuery.BRAND, 0);
  }

  /**
   * How many cores there are.
   *
   * @return the number of CUDA cores
   * @wraps {@code nvmlDeviceGetNumGpuCores}; nvml.h
   */
  public NvmlReading<Long> cores() {
    return device.number(NvmlQuery.CORES, 0);
  }

  /**
   * How wide the memory bus is.
   *
   * @return bits
   * @wraps {@code nvmlDeviceGetMemoryBusWidth}; nvml.h
   */
  public NvmlReading<Long> memoryBusBits() {
    return device.number(NvmlQuery.BUS_WIDTH, 0);
  }

  /**
   * How the device reaches the host's pageable memory.
   *
   * @return 0 not at all, 1 by HMM, 2 by ATS
   * @wraps {@code nvmlDeviceGetAddressingMode}; nvml.h
   */
  public NvmlReading<Long> addressingMode() {
    return device.number(NvmlQuery.ADDRESSING_MODE, 0);
  }

  /**
   * Whether NVLink-C2C joins the device to its CPU.
   *
   * @return true for GB10 and for the Grace parts
   * @wraps {@code nvmlDeviceGetC2cModeInfoV}, else the field of the link count; nvml.h
   */
  public NvmlReading<Boolean> isChipToChip() {
    return device.flag(NvmlQuery.C2C);
  }

  /**
   * Whether the driver stays loaded without users.
   *
   * @return true in persistence mode
   * @wraps {@code nvmlDeviceGetPersistenceMode}; nvml.h
   */
  public NvmlReading<Boolean> isPersistent() {
    return device.flag(NvmlQuery.PERSISTENCE);
  }

  /**
   * Who may use the device.
   *
   * @return 0 anybody, 2 nobody, 3 one process
   * @wraps {@code nvmlDeviceGetComputeMode}; nvml.h
   */
  public NvmlReading<Long> computeMode() {
    return device.number(NvmlQuery.COMPUTE_MODE, 0);
  }

  /**
   * Whether a display is set up on the device.
   *
   * @return true if one is
   * @wraps {@code nvmlDeviceGetDisplayActive}; nvml.h
   */
  public NvmlReading<Boolean> isDisplayActive() {
    return device.flag(NvmlQuery.DISPLAY);
  }
}
