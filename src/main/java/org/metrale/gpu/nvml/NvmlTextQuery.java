package org.metrale.gpu.nvml;

/**
 * What {@code metrale_nvml_text_query} asks; the ordinals are the header's numbers (a test
 * compares).
 */
enum NvmlTextQuery {
  NAME,
  UUID,
  SERIAL,
  VBIOS,
  PART_NUMBER,
  INFOROM,
  GSP_FIRMWARE,
  PCI,
  DRIVER,
  NVML,
  PROCESS,
  ERROR;

  /** The number in the header, which has the same order; a test compares the two. */
  @SuppressWarnings("EnumOrdinal")
  int number() {
    return ordinal();
  }
}
