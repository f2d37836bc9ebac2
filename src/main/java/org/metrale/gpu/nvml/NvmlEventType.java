package org.metrale.gpu.nvml;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** What can happen to a device. */
public enum NvmlEventType {
  /** A memory error was corrected. */
  SINGLE_BIT_ECC(0x1),

  /** A memory error could not be corrected. */
  DOUBLE_BIT_ECC(0x2),

  /** The performance state changed. */
  PERFORMANCE_STATE(0x4),

  /** The driver reported an Xid, its number for a serious problem. */
  XID(0x8),

  /** A clock changed. */
  CLOCK(0x10),

  /** The source of power changed. */
  POWER_SOURCE(0x80),

  /** The MIG configuration changed. */
  MIG_CONFIGURATION(0x100),

  /** Many memory errors were corrected in a short time. */
  ECC_STORM(0x200),

  /** Memory was taken out of use. */
  MEMORY_RETIREMENT(0x400),

  /** Memory could not be taken out of use. */
  MEMORY_RETIREMENT_FAILURE(0x800),

  /** Bad data was met, and contained. */
  POISON(0x1000),

  /** Bad data was met, and not contained. */
  FATAL_POISON(0x2000),

  /** The device cannot be used. */
  GPU_UNAVAILABLE(0x4000),

  /** What has to be done to make the device work again changed. */
  RECOVERY_ACTION(0x8000);

  private final long bit;

  NvmlEventType(long bit) {
    this.bit = bit;
  }

  /**
   * The type's bit.
   *
   * @return one bit of NVML's masks
   */
  public long bit() {
    return bit;
  }

  static long mask(Set<NvmlEventType> types) {
    long mask = 0;
    for (NvmlEventType type : types) {
      mask |= type.bit;
    }
    return mask;
  }

  static Set<NvmlEventType> of(long mask) {
    Set<NvmlEventType> out = EnumSet.noneOf(NvmlEventType.class);
    for (NvmlEventType type : values()) {
      if ((mask & type.bit) != 0) {
        out.add(type);
      }
    }
    return Collections.unmodifiableSet(out);
  }
}
