package org.metrale.gpu.nvml;

/**
 * What {@code metrale_nvml_text_query} asks; the ordinals are the header's numbers (a test
 * compares).
 */
enum NvmlTextQuery {
  NAME("nvmlDeviceGetName"),
  UUID("nvmlDeviceGetUUID"),
  SERIAL("nvmlDeviceGetSerial"),
  VBIOS("nvmlDeviceGetVbiosVersion"),
  PART_NUMBER("nvmlDeviceGetBoardPartNumber"),
  INFOROM("nvmlDeviceGetInforomImageVersion"),
  GSP_FIRMWARE("nvmlDeviceGetGspFirmwareVersion"),
  PCI("nvmlDeviceGetPciInfo_v3"),
  DRIVER("nvmlSystemGetDriverVersion"),
  NVML("nvmlSystemGetNVMLVersion"),
  PROCESS("nvmlSystemGetProcessName"),
  ERROR("nvmlErrorString");

  private final String call;

  NvmlTextQuery(String call) {
    this.call = call;
  }

  /** The C function that answers. */
  String call() {
    return call;
  }

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
