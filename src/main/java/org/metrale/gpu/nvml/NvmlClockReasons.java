package org.metrale.gpu.nvml;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * Why clocks are what they are.
 *
 * @param mask NVML's bits, known to this build or not
 */
public record NvmlClockReasons(long mask) {
  /** A reason that this build knows. */
  public enum Reason {
    /** Nothing runs. */
    IDLE(0x1),

    /** Applications' clocks are set. */
    CLOCKS_SETTING(0x2),

    /** The power limit. */
    POWER_CAP(0x4),

    /** The hardware slows down: temperature, power brake or a fast trigger. */
    HARDWARE_SLOWDOWN(0x8),

    /** A slower device of the same group. */
    SYNC_BOOST(0x10),

    /** The driver slows down because of the temperature. */
    SOFTWARE_THERMAL(0x20),

    /** The hardware slows down because of the temperature. */
    HARDWARE_THERMAL(0x40),

    /** The power supply asks for it. */
    POWER_BRAKE(0x80),

    /** The display's settings. */
    DISPLAY(0x100),

    /** A limit of the board. */
    BOARD_LIMIT(0x200),

    /** The voltage that the part may have for its life. */
    RELIABILITY(0x400);

    private final long bit;

    Reason(long bit) {
      this.bit = bit;
    }

    /**
     * The reason's bit.
     *
     * @return one bit of the mask
     */
    public long bit() {
      return bit;
    }
  }

  /**
   * The reasons that this build knows; {@link #mask()} may have more.
   *
   * @return the reasons, in the order of their bits
   */
  public Set<Reason> reasons() {
    Set<Reason> out = EnumSet.noneOf(Reason.class);
    for (Reason reason : Reason.values()) {
      if (has(reason)) {
        out.add(reason);
      }
    }
    return Collections.unmodifiableSet(out);
  }

  /**
   * Whether a reason holds.
   *
   * @param reason the reason
   * @return true if its bit is set
   */
  public boolean has(Reason reason) {
    return (mask & reason.bit) != 0;
  }

  @Override
  public String toString() {
    return "0x" + Long.toHexString(mask) + " " + reasons();
  }
}
